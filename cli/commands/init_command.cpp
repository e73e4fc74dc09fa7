#include "cli/commands/command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

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
  write_text(f.file, filled("scenario", {{"@FILE@", f.file},
                                         {"@MODEL@", f.model},
                                         {"@CLUSTER@", f.cluster},
                                         {"@NODES@", std::to_string(f.nodes)},
                                         {"@BATCH@", std::to_string(16 * gpus)},
                                         {"@PRECISION@", trains_in_bf16(f.cluster) ? "bf16" : "fp16"}}));
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
