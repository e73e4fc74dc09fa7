#pragma once
// The `training:` section. Private to this folder.

#include <filesystem>

#include "base/yaml/tree.hpp"
#include "pcg/plan/plan.hpp"
#include "scenarios/question/framework.hpp"

namespace scenarios {

struct Training {
  pcg::TrainingConfig config;
  Framework framework;
};

// batch_per_gpu or global_batch is required; precision is fp32 and the optimizer adam unless said. The framework is generic when it
// is not said, for every plan alike. `gpus` > 0 turns batch_per_gpu into a global batch.
// Problems go to `sink`.
[[nodiscard]] Training read_training(const base::Yaml& section, const std::string& path, const std::filesystem::path& directory, int gpus,
                                     base::Diagnostics& sink);

// Changes what follows from the framework: its name, and whether gradients are kept in fp32 where the section does not say.
void run_under(const Framework& framework, const base::Yaml& section, pcg::TrainingConfig& config);

}  // namespace scenarios
