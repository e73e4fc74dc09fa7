#include "cli/commands/command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/yaml/parse.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/models/load.hpp"
#include "pcg/plan/plan_text.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/framework_profile.hpp"
#include "profiles/network_profile.hpp"
#include "reports/rules_report.hpp"
#include "reports/show/show.hpp"
#include "search/explanation/explanation.hpp"
#include "search/rules/rule_files/rule_file.hpp"
#include "topology/drawing.hpp"
#include "topology/load.hpp"

namespace cli {
namespace {

struct ShowFlags {
  std::string word, other;  // what to show; another plan to compare with, or empty
  bool json = false, yaml = false, dot = false;
};

// One sample: what depends on the batch is shown per sample.
std::string show_model(const ShowFlags& f) {
  const pcg::Graph g = pcg::models::load_model_argument(f.word, 1);
  const std::vector<std::string> notes = pcg::models::model_argument_notes(f.word);
  if (f.json) return reports::model_json(g, notes);
  if (f.yaml) return pcg::models::write_graph(g);
  if (f.dot) return pcg::to_dot(g);
  return reports::model_text(g, notes);
}

// The tree that the loader builds from, with the preset's keys written out: a start for a file of one's own.
std::string cluster_yaml(const std::string& word) {
  base::Yaml section = base::map_of({{"preset", base::Yaml::make_scalar(word)}});
  if (topology::preset_section(word) == nullptr) section = *base::read_yaml(word).find("cluster");
  base::Yaml document =
      base::map_of({{"foreshard", base::Yaml::make_scalar("1")},
                    {"cluster", topology::expand_cluster(section, "cluster", std::filesystem::path(word).parent_path())}});
  document.find("cluster")->erase("preset");  // it is spelled out now
  return base::emit_yaml(document);
}

std::string show_cluster(const ShowFlags& f) {
  const topology::Cluster c = topology::load_cluster_argument(f.word);
  if (f.json) return reports::cluster_json(c);
  if (f.yaml) return cluster_yaml(f.word);
  if (f.dot) return topology::to_dot(c);
  return reports::cluster_text(c);
}

std::string compare_plans(const ShowFlags& f, const pcg::Plan& first) {
  if (f.yaml || f.dot) base::refuse("", "two plans are compared as text or as JSON", "leave --yaml or --dot out");
  const pcg::Plan second = pcg::read_plan(base::read_yaml(f.other));
  if (!search::are_of_one_model(first, second))
    base::refuse("",
                 fmt::format("{} and {} are plans of different models, {} and {}: only plans of one `model:` are compared", f.word, f.other,
                             first.pcg.name(), second.pcg.name()),
                 "save both from one scenario");
  return f.json ? reports::plan_comparison_json(first, second) : reports::plan_comparison_text(first, second, wanted_width());
}

std::string show_plan(const ShowFlags& f) {
  const pcg::Plan p = pcg::read_plan(base::read_yaml(f.word));
  if (!f.other.empty()) return compare_plans(f, p);
  const std::filesystem::path directory = std::filesystem::path(f.word).parent_path();
  if (f.json) return reports::plan_json(p, directory);
  if (f.yaml) return pcg::write_plan(p);
  if (f.dot) return pcg::to_dot(p.pcg);
  return reports::plan_text(p, directory, wanted_width());
}

std::string show_rules(const ShowFlags& f) {
  if (f.dot) base::refuse("--dot", "rules are not drawn", "without it they are text");
  const std::vector<rules::Rule> rules = rules::load_rules(f.word, static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  if (f.json) return reports::to_json(rules).dump(1) + "\n";
  if (f.yaml) return rules::to_text(rules, rules::axioms());
  return reports::to_text(rules, rules::axioms(), reports::AxiomDetail::names);
}

// The list of a kind that ships, where the argument is left out.
std::string show_shipped(const ShowFlags& f, std::vector<reports::Shipped> (*shipped)()) {
  if (f.yaml || f.dot) base::refuse("", "a list has no such form", "name one of what ships, or ask for --json");
  return f.json ? reports::shipped_json(shipped()) : reports::shipped_text(shipped(), wanted_width());
}

std::string_view framework_text(std::string_view name) {
  const auto named = pcg::named<pcg::Framework>(name);
  if (!named) base::refuse("", fmt::format("no framework is called \"{}\"", name), base::suggest(name, pcg::names<pcg::Framework>()));
  return profiles::framework_text(*named);
}

std::string show_profile(const ShowFlags& f, const char* kind, std::string_view (*text)(std::string_view name)) {
  if (f.json || f.dot) base::refuse("", fmt::format("a {} profile is shown as its file", kind), "leave the option out");
  return std::string(text(f.word));
}

struct Kind {
  const char* name;
  const char* help;
  const char* argument_help;
  std::string (*text)(const ShowFlags&);
  std::vector<reports::Shipped> (*shipped)() = nullptr;  // what is shown without an argument; null: it is needed
  const char* other = nullptr;                           // help of a second argument, which may be left out; null: there is none
};

constexpr const char *kNameOrFile = "A builtin's name or a file; without it what ships", *kName = "Its name; without it what ships";
constexpr Kind kKinds[] = {
    {"model", "A model, or the builtin ones", kNameOrFile, show_model, reports::shipped_models},
    {"cluster", "A cluster, or the presets", "A preset's name or a file; without it what ships", show_cluster, reports::shipped_clusters},
    {"device", "A GPU's profile, or those that ship", kName,
     [](const ShowFlags& f) { return show_profile(f, "device", profiles::device_text); }, reports::shipped_devices},
    {"network", "A network's profile, or those that ship", kName,
     [](const ShowFlags& f) { return show_profile(f, "network", profiles::network_text); }, reports::shipped_networks},
    {"framework", "A framework's profile, or those that ship", kName,
     [](const ShowFlags& f) { return show_profile(f, "framework", framework_text); }, reports::shipped_frameworks},
    {"plan", "A saved plan, or what two of them do otherwise", "A plan file", show_plan, nullptr,
     "Another plan of the same model, to compare with"},
    {"rules", "A rule file; foreshard rules show has one rule with its proof", "A rule file", show_rules}};

// One subcommand with its own flags, of which at most one chooses the form.
void add_kind(CLI::App& show, Action& action, const Kind& kind) {
  const auto f = std::make_shared<ShowFlags>();
  CLI::App* c = show.add_subcommand(kind.name, kind.help);
  CLI::Option* word = c->add_option(kind.name, f->word, kind.argument_help);
  if (kind.shipped == nullptr) word->required();
  if (kind.other != nullptr) c->add_option("other", f->other, kind.other);
  CLI::Option* json = c->add_flag("--json", f->json, "As JSON");
  CLI::Option* yaml = c->add_flag("--yaml", f->yaml, "As our own file format");
  CLI::Option* dot = c->add_flag("--dot", f->dot, "As a DOT graph");
  json->excludes(yaml)->excludes(dot);
  yaml->excludes(dot);
  set_action(*c, action, [f, kind] {
    print(f->word.empty() && kind.shipped != nullptr ? show_shipped(*f, kind.shipped) : kind.text(*f));
    return kAnswered;
  });
}

// Planners are no files: they are shown as text or JSON, all of them or one kind.
void add_planners(CLI::App& show, Action& action) {
  const auto f = std::make_shared<ShowFlags>();
  CLI::App* c = show.add_subcommand("planners", "Planners that a scenario's plans may name, and their options");
  c->add_option("kind", f->word, "One kind, as megatron; all without it");
  c->add_flag("--json", f->json, "As JSON");
  set_action(*c, action, [f] {
    print(f->json ? reports::planners_json(f->word) : reports::planners_text(f->word, wanted_width()));
    return kAnswered;
  });
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  CLI::App* show = app.add_subcommand("show", "Print what was understood of a model, a cluster, a plan or rules, or what ships");
  show->require_subcommand(1);
  for (const Kind& kind : kKinds) add_kind(*show, action, kind);
  add_planners(*show, action);
}

}  // namespace cli
