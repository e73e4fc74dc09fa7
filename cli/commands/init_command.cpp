#include "cli/commands/command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/terminal/output.hpp"
#include "pcg/models/load.hpp"
#include "profiles/device_profile.hpp"
#include "topology/load.hpp"

namespace cli {
namespace {

struct InitFlags {
  std::string file = "scenario.yaml", model = "gpt3-1.3b", cluster = "dgx-a100-80gb";
  int nodes = 2;
  bool force = false;
};

// The scenario runs as it is. What is a comment needs its `#` removed alone.
constexpr const char* kScenario = R"(# yaml-language-server: $schema=scenario.schema.json
# Editors complete keys once that file is there: foreshard schema scenario > scenario.schema.json
# A question to Foreshard. Run it: foreshard run {file}
# Every key: docs/formats. What ships: foreshard show cluster | model | device | framework | planners
foreshard: 1
name: {model} on {nodes} x {cluster}

model: {{builtin: {model}}}
# Or your own:
# model: {{huggingface: path/to/config.json, sequence_length: 4096}}
# model: {{transformer: {{layers: 24, hidden: 2048, heads: 16, vocab: 50257, sequence_length: 2048}}}}

cluster:
  preset: {cluster}
  nodes: {nodes}
  # Any figure of the preset may differ, for example:
  # links.infiniband.bandwidth: 50 GB/s

training:
  global_batch: {batch}        # samples of an iteration, over all GPUs
  precision: {precision}         # fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4
  optimizer: adam
  framework: generic      # megatron-core, megatron, deepspeed, pytorch: whose practice the forecast has

plans:                    # each is an answer of its own; the table puts them side by side
  - data-parallel
  - {{megatron: search, name: best of the grid}}
  # - {{megatron: {{tensor: 2, pipeline: 2, micro_batch: 1}}, name: ours}}
  # - auto              # every planner there is, within one budget

what_if:                  # the same plans on another machine, and planned anew
  - {{name: twice the nodes, set: {{cluster.nodes: 2x}}}}
  # - {{name: another machine, set: {{cluster.preset: dgx-h100}}}}

# capacity:               # what a whole training takes and costs, on machines to rent or buy; prices are yours
#   train: {{tokens: 300e9}}
#   deadline: 30 days
#   candidates:
#     - {{cluster: {{preset: dgx-h100}}, nodes: [4, 8, 16], price: 2.50 USD/gpu/h, power: 10.2 kW/node}}
#   reliability: {{checkpoint: {{bandwidth: 2 GB/s/node}}}}
)";

bool trains_in_bf16(const std::string& preset) {
  const topology::Cluster cluster = topology::load_cluster_argument(preset);
  return !profiles::unsupported(profiles::device_profile(cluster.devices().front().type), pcg::Precision::bf16);
}

int init(const InitFlags& f) {
  if (topology::preset_section(f.cluster) == nullptr)
    base::refuse("--cluster", topology::unknown_preset(f.cluster), base::suggest(f.cluster, topology::preset_names()));
  if (const std::vector<std::string> models = pcg::models::builtin_names(); std::ranges::find(models, f.model) == models.end())
    base::refuse("--model", fmt::format("unknown model \"{}\"", f.model), base::suggest(f.model, models));
  if (f.file != "-" && !f.force && std::filesystem::exists(f.file))
    base::refuse(f.file, "the file is there already", "name another one, or add --force");
  const int gpus = f.nodes * topology::preset_gpus(f.cluster);
  const std::string text = fmt::format(kScenario, fmt::arg("file", f.file), fmt::arg("model", f.model), fmt::arg("cluster", f.cluster),
                                       fmt::arg("nodes", f.nodes), fmt::arg("batch", 16 * gpus),
                                       fmt::arg("precision", trains_in_bf16(f.cluster) ? "bf16" : "fp16"));
  write_text(f.file, text);
  if (f.file != "-") fmt::print("{} is written; run it: foreshard run {}\n", f.file, f.file);
  return kAnswered;
}

}  // namespace

void add_init(CLI::App& app, Action& action) {
  const auto f = std::make_shared<InitFlags>();
  CLI::App* c = app.add_subcommand("init", "Write a commented scenario to start from");
  c->add_option("file", f->file, "Where to; - is standard output")->capture_default_str();
  c->add_option("--model", f->model, "A builtin model")->capture_default_str();
  c->add_option("--cluster", f->cluster, "A preset")->capture_default_str();
  c->add_option("--nodes", f->nodes, "Nodes of the cluster")->check(CLI::Range(1, 100000))->capture_default_str();
  c->add_flag("--force", f->force, "Replace the file");
  set_action(*c, action, [f] { return init(*f); });
}

}  // namespace cli
