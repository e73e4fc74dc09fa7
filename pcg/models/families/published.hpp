#pragma once
// Published transformers. Private to pcg/models.

#include <functional>
#include <map>
#include <string>

#include "pcg/models/families/model_config.hpp"

namespace pcg::models {

// By name; sequences as long as in the publication.
[[nodiscard]] std::map<std::string, ModelConfig, std::less<>> published_transformers();

}  // namespace pcg::models
