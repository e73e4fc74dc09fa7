#pragma once
// The `transformer:` section of a model. Private to pcg/models.

#include <optional>
#include <string>

#include "base/yaml/reader.hpp"
#include "pcg/models/families/transformer.hpp"

namespace pcg::models {

// nullopt: what is wrong is in `sink`. Keys: docs/formats.md.
[[nodiscard]] std::optional<TransformerConfig> read_transformer(const base::Yaml& section, const std::string& path,
                                                                base::Diagnostics& sink);

// sequence_length, attention and dropout, which may stand beside any model that is described by numbers.
void read_overrides(base::MapReader& reader, TransformerConfig& config);

}  // namespace pcg::models
