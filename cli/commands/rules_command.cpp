#include "cli/commands/command.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/yaml/parse.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/models/load.hpp"
#include "pcg/plan/plan_text.hpp"
#include "reports/rules_report.hpp"
#include "search/rules/matching/matcher.hpp"
#include "search/rules/proof/prove.hpp"
#include "search/rules/rule_files/builtin_rules.hpp"
#include "search/rules/rule_files/rule_file.hpp"
#include "search/rules/selection/selection.hpp"

namespace cli {
namespace {

struct RulesFlags {
  std::string file, name, model, plan, json, save;
  std::optional<int> operators;
  int processes = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::string> families;
  bool search = false;
  base::Verbosity verbosity = base::Verbosity::usual;
};
using Flags = std::shared_ptr<RulesFlags>;

// Text for people, unless standard output is for a program.
template <class Text>
void print_text(const RulesFlags& f, Text&& text) {
  if (f.json != "-" && f.save != "-" && f.verbosity == base::Verbosity::usual) print(text());
}
void write_json(const RulesFlags& f, const nlohmann::ordered_json& j) {
  if (!f.json.empty()) write_text(f.json, j.dump(1) + "\n");
}

void check_families(const std::vector<std::string>& families) {
  const std::vector<std::string> known = rules::family_names();
  base::Diagnostics sink;
  for (const std::string& f : families)
    if (std::ranges::find(known, f) == known.end())
      sink.add({}, "--families", fmt::format("\"{}\" is no family", f), base::suggest(f, known));
  sink.throw_if_any();
}

rules::Generated generated(const RulesFlags& f) {
  check_families(f.families);
  base::ProgressLine line(f.verbosity);
  return rules::generate({.operators = f.operators.value_or(rules::GenerateConfig{}.operators),
                          .processes = f.processes,
                          .families = f.families,
                          .progress = [&](const std::string& text) { line.show(text); }});
}

int generate(const RulesFlags& f) {
  const rules::Generated g = generated(f);
  if (!f.save.empty()) write_text(f.save, rules::to_text(g.rules, rules::axioms()));
  write_json(f, reports::to_json(g));
  print_text(f, [&] { return reports::to_text(g); });
  return kAnswered;
}

int verify(const RulesFlags& f) {
  const rules::RuleFile file = rules::read_rules(f.file);
  std::vector<rules::Proof> proofs;
  {
    base::ProgressLine line(f.verbosity);
    proofs = rules::verify(file, rules::axioms(), f.processes,
                           [&](std::size_t done) { line.show(fmt::format("{} of {} proofs", done, file.rules.size())); });
  }
  const std::string reason = rules::why_not_as_written(file, rules::axioms());
  write_json(f, reports::to_json(file, proofs, reason));
  print_text(f, [&] { return reports::to_text(file, proofs, reason); });
  return std::ranges::all_of(proofs, [](const auto& p) { return p.verdict == rules::Verdict::proved; }) ? kAnswered : kNo;
}

int show_axioms(const RulesFlags& f) {
  const rules::Axioms& axioms = rules::axioms();
  std::vector<std::string> redundant;
  {
    base::ProgressLine line(f.verbosity);
    line.show("axioms that follow from others");
    redundant = rules::redundant(axioms);
  }
  write_json(f, reports::to_json(axioms, redundant));
  print_text(f, [&] { return reports::to_text(axioms, redundant); });
  return kAnswered;
}

std::vector<rules::Rule> loaded(const RulesFlags& f) {
  rules::RuleFile file = rules::read_rules(f.file);
  const std::size_t count = file.rules.size();
  base::ProgressLine line(f.verbosity);
  return rules::load_rules(std::move(file), f.processes,
                           [&](std::size_t done) { line.show(fmt::format("{} of {} rules proved", done, count)); });
}

int show(const RulesFlags& f) {
  std::vector<rules::Rule> rules = loaded(f);
  std::vector<std::string> names;
  for (const rules::Rule& r : rules) names.push_back(r.name);
  if (!f.name.empty() && std::ranges::find(names, f.name) == names.end()) {
    const std::string nearest = base::nearest_name(f.name, names);
    base::refuse(f.file, fmt::format("there is no rule \"{}\"", f.name),
                 nearest.empty() ? "without a name all rules are shown" : fmt::format("did you mean \"{}\"?", nearest));
  }
  if (!f.name.empty()) std::erase_if(rules, [&](const auto& r) { return r.name != f.name; });
  write_json(f, reports::to_json(rules));
  const auto detail = f.name.empty() ? reports::AxiomDetail::names : reports::AxiomDetail::statements;
  print_text(f, [&] { return reports::to_text(rules, rules::axioms(), detail); });
  return kAnswered;
}

// One sample of a model, whole on one device, or what a plan made of its model.
pcg::Pcg graph_of(const RulesFlags& f) {
  if (!f.plan.empty()) return pcg::read_plan(base::read_yaml(f.plan)).pcg;
  if (f.model.empty()) base::refuse("rules match", "a model is missing", "a builtin's name, a model file, or --plan FILE");
  const pcg::Graph model = pcg::models::load_model_argument(f.model, 1);
  return pcg::parallelize(model, pcg::unsharded(model));
}

int match(const RulesFlags& f) {
  const pcg::Pcg graph = graph_of(f);
  std::vector<rules::Rule> made;  // where the built-in ones are not meant
  if (!f.file.empty()) {
    made = loaded(f);
  } else if (f.operators || !f.families.empty()) {
    made = generated(f).rules;
  }
  const bool builtin = f.file.empty() && !f.operators && f.families.empty();
  const std::vector<rules::Rule>& rules = builtin ? rules::builtin_rules() : made;
  const rules::Selection wanted = !f.search ? rules::Selection()
                                  : builtin ? rules::builtin_algebraic_rules()
                                            : select(rules, rules::Wanted::algebra);
  const std::vector<rules::Rule>& asked = f.search ? wanted.rules : rules;
  const rules::Census census = rules::census(asked, graph);
  if (!f.json.empty()) {
    nlohmann::ordered_json j = reports::to_json(census, asked, graph);
    if (f.search) j["left_out"] = reports::left_out_json(wanted);
    write_json(f, j);
  }
  print_text(f, [&] {
    const std::string chosen = f.search ? fmt::format("{} of {} rules asked; {}\n", asked.size(), rules.size(), left_out_text(wanted)) : "";
    return reports::to_text(census, asked, graph) + chosen;
  });
  return kAnswered;
}

CLI::App* add(CLI::App& rules, Action& action, const Flags& f, const char* name, const char* what, int (*act)(const RulesFlags&)) {
  CLI::App* c = rules.add_subcommand(name, what);
  c->add_option("--json", f->json, "Write the answer as JSON to this file; - is standard output");
  c->add_option("--processes", f->processes, "That prove and try at once; default: one per core")->check(CLI::Range(1, 256));
  add_quiet(*c, f->verbosity, "Neither text nor progress");
  set_action(*c, action, [f, act] {
    check_outputs({{"--json", f->json}, {"--save", f->save}});  // before any work
    return act(*f);
  });
  return c;
}

// Returns the options that say which rules are generated.
std::array<CLI::Option*, 2> add_generation(CLI::App& c, const Flags& f) {
  return {
      c.add_option("--operators", f->operators, "Of each side, at most; default 3, 4 is slow")->check(CLI::Range(1, 4)),
      c.add_option("--families", f->families, fmt::format("Only these families of operators: {}", fmt::join(rules::family_names(), ", ")))
          ->delimiter(',')};
}

}  // namespace

void add_rules(CLI::App& app, Action& action) {
  CLI::App* rules = app.add_subcommand("rules", "Substitutions of parallel computation graphs: generate, prove, check, find");
  rules->require_subcommand(1);
  const auto f = std::make_shared<RulesFlags>();
  CLI::App* g = add(*rules, action, f, "generate", "All rules of small graphs, each proved from the axioms", generate);
  add_generation(*g, f);
  g->add_option("--save", f->save, "Write the rules to this file; - is standard output");
  add(*rules, action, f, "verify", "Prove the rules of a file again", verify)->add_option("file", f->file, "A rule file")->required();
  add(*rules, action, f, "axioms", "What proofs are based on", show_axioms);
  CLI::App* s = add(*rules, action, f, "show", "The rules of a file", show);
  s->add_option("file", f->file, "A rule file")->required();
  s->add_option("name", f->name, "Of one rule");
  CLI::App* m = add(*rules, action, f, "match", "Which rules occur where in a model or a plan", match);
  CLI::Option* model = m->add_option("model", f->model, "A builtin's name or a file; whole, on one device");
  m->add_option("--plan", f->plan, "A saved plan, in the place of a model")->excludes(model);
  CLI::Option* file = m->add_option("--rules", f->file, "A rule file; without it, the rules that ship with the program");
  m->add_flag("--for-search", f->search, "Only rules of algebra that a search wants; says why the others are left out");
  for (CLI::Option* o : add_generation(*m, f)) file->excludes(o);
}

}  // namespace cli
