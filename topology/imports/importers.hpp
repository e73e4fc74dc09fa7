#pragma once
// One function per format. Each returns nullopt when the text is of another format. Private to this folder.

#include <optional>
#include <string>
#include <string_view>

#include "topology/imports/imports.hpp"

namespace topology::imports {

[[nodiscard]] std::optional<ImportedTopology> import_nvidia_smi(std::string_view text, const std::string& file, const ImportConfig& config);
[[nodiscard]] std::optional<ImportedTopology> import_nccl_xml(std::string_view text, const std::string& file, const ImportConfig& config);
[[nodiscard]] std::optional<ImportedTopology> import_slurm(std::string_view text, const std::string& file, const ImportConfig& config);

}  // namespace topology::imports
