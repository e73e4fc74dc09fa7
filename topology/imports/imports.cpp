#include "topology/imports/imports.hpp"

#include <algorithm>

#include "base/numbers.hpp"
#include "topology/imports/source_text.hpp"

std::optional<topology::ImportedTopology> topology::import_topology(std::string_view text, const std::string& file,
                                                                    const ImportConfig& config) {
  if (config.node != nullptr) return imports::import_slurm(text, file, config);
  if (auto found = imports::import_nccl_xml(text, file, config)) return found;
  if (auto found = imports::import_slurm(text, file, config)) return found;
  if (auto found = imports::import_rocm_smi(text, file, config)) return found;
  return imports::import_nvidia_smi(text, file, config);
}

namespace topology::imports {

base::Mark SourceText::at_offset(std::size_t offset) const {
  const auto before = text().substr(0, std::min(offset, text().size()));
  const auto line_start = before.rfind('\n') + 1;  // npos + 1 == 0
  return at(static_cast<int>(std::ranges::count(before, '\n')) + 1, static_cast<int>(before.size() - line_start) + 1);
}

std::optional<int> parse_count(std::string_view text) {
  const auto value = base::parse_integer(text);
  return value && *value >= 0 && *value <= 2'000'000'000 ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

void refuse(base::Mark mark, std::string message, std::string hint) {
  base::refuse(std::move(mark), "", std::move(message), std::move(hint));
}

}  // namespace topology::imports
