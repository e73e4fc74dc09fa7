// The commonest questions without a file: `ask` makes the scenario of its arguments, and answers it as `run` does.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>

#include "base/diagnostics.hpp"
#include "base/numbers.hpp"
#include "base/yaml/parse.hpp"
#include "cli/commands/answering.hpp"
#include "cli/commands/command.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "pcg/models/load.hpp"
#include "topology/load.hpp"

namespace cli {
namespace {

using base::Yaml;

struct AskFlags {
  RunFlags run;
  std::string model, on, tokens, precision, framework;
  std::vector<std::string> plans, what_ifs;
  std::int64_t nodes = 0, batch = 0, sequence_length = 0;
  bool show = false;
};

Yaml scalar(std::string text) { return Yaml::make_scalar(std::move(text)); }

std::string trimmed(std::string text) {
  while (!text.empty() && text.front() == ' ') text.erase(text.begin());
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// {builtin: NAME}, or the key that a file's name asks for.
Yaml model_section(const AskFlags& f) {
  Yaml model = Yaml::make_map();
  const std::vector<std::string> names = pcg::models::builtin_names();
  if (std::ranges::find(names, f.model) != names.end()) model.set("builtin", scalar(f.model));
  else if (f.model.ends_with(".onnx")) model.set("onnx", scalar(f.model));
  else if (f.model.ends_with(".json") || std::filesystem::is_directory(f.model)) model.set("huggingface", scalar(f.model));
  else if (f.model.ends_with(".yaml")) model.set("graph", scalar(f.model));
  else
    base::refuse("MODEL", fmt::format("unknown model \"{}\"", f.model),
                 f.model.find('/') == std::string::npos
                     ? base::suggest(f.model, names)
                     : "nothing is downloaded: write the path of its config.json, or a builtin (show model)");
  if (f.sequence_length > 0) model.set("sequence_length", scalar(fmt::format("{}", f.sequence_length)));
  return model;
}

Yaml cluster_section(const AskFlags& f) {
  const bool is_file = f.on.ends_with(".yaml");
  if (!is_file && topology::preset_section(f.on) == nullptr)
    base::refuse("--on", topology::unknown_preset(f.on), base::suggest(f.on, topology::preset_names()));
  Yaml cluster = base::map_of({{is_file ? "file" : "preset", scalar(f.on)}});
  if (f.nodes > 0) cluster.set("nodes", scalar(fmt::format("{}", f.nodes)));
  return cluster;
}

// "tensor 4, pipeline 2" is {megatron: {tensor: 4, pipeline: 2}}; a planner's name, with options or without, is itself.
Yaml plan_entry(const std::string& text) {
  const std::string kind = text.substr(0, text.find_first_of(" :,"));
  const bool is_map = text.find(':') != std::string::npos;
  if (is_map || search::find_planner(kind) != nullptr)
    return base::parse_yaml(is_map && !text.starts_with('{') ? "{" + text + "}" : text, "--plan");
  Yaml options = Yaml::make_map();
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    part = trimmed(part);
    const std::size_t blank = part.find(' ');
    if (blank == std::string::npos || trimmed(part.substr(blank)).find(' ') != std::string::npos)
      base::refuse("--plan", fmt::format("\"{}\" is neither a planner nor an option with its value", part),
                   "write e.g. \"tensor 4, pipeline 2\", \"fsdp\", or \"megatron: search\"");
    options.set(part.substr(0, blank), scalar(trimmed(part.substr(blank))));
  }
  if (options.entries.empty())
    base::refuse("--plan", "it is empty", "write e.g. \"tensor 4, pipeline 2\", \"fsdp\", or \"megatron: search\"");
  return base::map_of({{"megatron", std::move(options)}, {"name", scalar(text)}});
}

constexpr const char* kChangeForms = "write e.g. \"4x infiniband\", \"2x nodes\", \"fp8\", or another preset";

// "4x infiniband", "800 Gbit/s infiniband": the bandwidth of a type of link; "2x nodes"; "fp8"; the name of another preset.
std::pair<std::string, std::string> change_of(const std::string& text, const Yaml& cluster) {
  const std::size_t blank = text.rfind(' ');
  const std::string first = trimmed(text.substr(0, blank)), second = blank == std::string::npos ? "" : trimmed(text.substr(blank));
  const bool is_amount = first.find(',') == std::string::npos && first.find_first_of("0123456789") < 2;  // "4x", "+10%", "800 Gbit/s"
  if (second == "nodes" && is_amount) return {"cluster.nodes", first};
  if (!second.empty()) {
    std::vector<std::string> links;
    if (const Yaml* all = cluster.find("links"))
      for (const Yaml::Entry& e : all->entries) links.push_back(e.key);
    if (!is_amount) base::refuse("--what-if", fmt::format("\"{}\" names no change", text), kChangeForms);
    if (std::ranges::find(links, second) == links.end())
      base::refuse("--what-if", fmt::format("the cluster has no links called \"{}\"", second), base::suggest(second, links));
    return {fmt::format("cluster.links.{}.bandwidth", second), first};
  }
  const std::vector<std::string>& precisions = pcg::names<pcg::Precision>();
  if (std::ranges::find(precisions, first) != precisions.end()) return {"training.precision", first};
  if (topology::preset_section(first) != nullptr) return {"cluster.preset", first};
  base::refuse("--what-if", fmt::format("\"{}\" names no change", text), kChangeForms);
}

Yaml what_if(const std::string& text, const Yaml& cluster) {
  const auto [key, value] = change_of(text, cluster);
  return base::map_of({{"name", scalar(text)}, {"set", base::map_of({{key, scalar(value)}})}});
}

// How long and, as no price is known, nothing of money.
Yaml capacity_section(const AskFlags& f, const Yaml& cluster) {
  Yaml candidates = Yaml::make_sequence();
  candidates.items.push_back(base::map_of({{"cluster", cluster}}));
  return base::map_of({{"train", base::map_of({{"tokens", scalar(f.tokens)}})}, {"candidates", std::move(candidates)}});
}

Yaml scenario_of(const AskFlags& f) {
  const Yaml cluster = cluster_section(f);
  const Yaml expanded = topology::expand_cluster(cluster, "--on");
  const int gpus = topology::load_cluster(expanded, "--on").device_count();
  Yaml document = base::map_of({{"foreshard", scalar("1")},
                                {"name", scalar(fmt::format("{} on {}", f.model, f.on))},
                                {"model", model_section(f)},
                                {"cluster", cluster}});
  constexpr std::int64_t kSamplesPerGpu = 4;  // small models fill a GPU with it, and large ones accumulate gradients
  Yaml training = base::map_of({{"global_batch", scalar(fmt::format("{}", f.batch > 0 ? f.batch : kSamplesPerGpu * gpus))}});
  if (!f.precision.empty()) training.set("precision", scalar(f.precision));
  if (!f.framework.empty()) training.set("framework", scalar(f.framework));
  document.set("training", std::move(training));
  Yaml plans = Yaml::make_sequence();
  for (const std::string& p : f.plans.empty() ? std::vector<std::string>{"megatron: search"} : f.plans)
    plans.items.push_back(plan_entry(p));
  document.set("plans", std::move(plans));
  if (!f.what_ifs.empty()) {
    Yaml list = Yaml::make_sequence();
    for (const std::string& w : f.what_ifs) list.items.push_back(what_if(w, expanded));
    document.set("what_if", std::move(list));
  }
  if (!f.tokens.empty()) document.set("capacity", capacity_section(f, cluster));
  return document;
}

}  // namespace

void add_ask(CLI::App& app, Action& action) {
  const auto f = std::make_shared<AskFlags>();
  CLI::App* c =
      app.add_subcommand("ask", "Answer a question without a file: how long a model takes on a cluster, by the best or a given plan");
  c->add_option("model", f->model, "A builtin model, or the file of one (config.json, .onnx, a graph)")->required();
  c->add_option("--on", f->on, "The cluster: a preset, or a file")->required();
  c->add_option("--nodes", f->nodes, "Its nodes; as many as the preset has unless said")->check(CLI::Range(1, 100000));
  c->add_option("--batch", f->batch, "Samples of an iteration, over all GPUs; 4 for each GPU unless said")->check(CLI::PositiveNumber);
  c->add_option("--sequence-length", f->sequence_length, "Tokens of a sample")->check(CLI::PositiveNumber);
  c->add_option("--precision", f->precision, "fp32, tf32, fp16, bf16, fp8, mxfp8 or nvfp4");
  c->add_option("--framework", f->framework, "Whose practice the forecast has: generic, megatron-core, pytorch, ...");
  c->add_option("--tokens", f->tokens, "Tokens of a whole training, e.g. 2T: says how long it takes");
  c->add_option("--plan", f->plans, "\"tensor 4, pipeline 2\", \"fsdp\", \"megatron: search\" (the default); may be repeated");
  c->add_option("--what-if", f->what_ifs, "\"4x infiniband\", \"2x nodes\", \"fp8\", or another preset; may be repeated");
  c->add_flag("--show", f->show, "Print the scenario in place of its answer");
  add_answer_options(*c, f->run);
  c->footer("Example: foreshard ask llama3-70b --on dgx-h100 --nodes 32 --batch 512 --what-if \"4x infiniband\"");
  set_action(*c, action, [f]() -> int {
    const std::string scenario = base::emit_yaml(scenario_of(*f));
    if (f->show) {
      print(scenario);
      return kAnswered;
    }
    return answer_all(f->run, [&] {
      std::vector<scenarios::Scenario> one;
      one.push_back(scenarios::load_scenario(base::parse_yaml(scenario, "<question>"), {}));
      return one;
    });
  });
}

}  // namespace cli
