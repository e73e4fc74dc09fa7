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

// batch_per_gpu or global_batch is required; precision is fp32 and the optimizer adam unless said. The framework stays generic when it
// is not said: then a plan chooses. `gpus` > 0 turns batch_per_gpu into a global batch.
// Problems go to `sink`.
[[nodiscard]] Training read_training(const base::Yaml& section, const std::string& path, const std::filesystem::path& directory, int gpus,
                                     base::Diagnostics& sink);

}  // namespace scenarios
