#pragma once
// The `training:` section, and the framework under which plans are timed: its name, or a map that takes a profile (the one that ships under
// `name`, or the one in `file`) and changes some of its keys. All plans of a scenario have the same, unless an entry names its own.

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/yaml/tree.hpp"
#include "pcg/plan/plan.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/results/simulation_result.hpp"
#include "topology/cluster.hpp"

namespace scenarios {

struct Framework {
  profiles::FrameworkProfile profile = profiles::framework_profile(pcg::Framework::generic);
  base::Yaml
      section;       // as a map with every key of the profile, `file` in place of `name` where there is one; null: the scenario names none
  std::string file;  // as the scenario names it; empty: what ships
  enum class NamedBy { none, scenario, entry };
  NamedBy named_by = NamedBy::none;
  std::vector<std::string> changed;  // "host.forward_kernel": keys that are not as the profile taken has them, in its order

  // Whether runs differ from what ships under this name.
  [[nodiscard]] bool differs() const;
  [[nodiscard]] const std::string& name() const;
  // Which framework, by whom it is named, what differs from what ships. Requires: it is named.
  [[nodiscard]] base::Note note() const;
};

// Returns the framework that the scenario names. `path` is the key's place ("training.framework"), relative file names start from
// `directory`. Problems go to `sink`.
[[nodiscard]] Framework read_framework(const base::Yaml& value, const std::string& path, const std::filesystem::path& directory,
                                       base::Diagnostics& sink);

struct Training {
  pcg::TrainingConfig config;
  double memory_margin = sim::kMemoryMargin;  // a share of each GPU's memory, which searches leave free where they can
  Framework framework;
};

// batch_per_gpu or global_batch is required. Unless said, for every plan alike, the optimizer is adam, the framework generic, and the
// precision bf16 where every GPU multiplies in it more quickly than in fp32, else fp16 likewise, else fp32. The GPUs of the cluster turn
// batch_per_gpu into a global batch; null: it has problems.
// Problems go to `sink`.
[[nodiscard]] Training read_training(const base::Yaml& section, const std::string& path, const std::filesystem::path& directory,
                                     const topology::Cluster* cluster, base::Diagnostics& sink);

[[nodiscard]] std::set<std::string> device_types(std::span<const topology::Device> devices);

// Changes what follows from the framework: its name, and whether gradients are kept in fp32 where the section does not say.
void run_under(const Framework& framework, const base::Yaml& section, pcg::TrainingConfig& config);

}  // namespace scenarios
