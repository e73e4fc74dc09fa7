#include "topology/imports/imports.hpp"

#include "topology/imports/source_text.hpp"

namespace topology {
std::optional<ImportedTopology> import_topology(std::string_view text, const std::string& file, const ImportConfig& config) {
  if (auto found = imports::import_nccl_xml(text, file, config)) return found;
  if (auto found = imports::import_slurm(text, file, config)) return found;
  return imports::import_nvidia_smi(text, file, config);
}

}  // namespace topology
