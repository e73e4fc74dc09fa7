#pragma once
// A foreign text that an importer reads, and how it refuses one. Private to this folder.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostics.hpp"
#include "topology/imports/imports.hpp"

namespace topology::imports {

// The text, and marks of places in it.
class SourceText {
 public:
  SourceText(std::string_view text, const std::string& file)
      : source_(std::make_shared<const base::Source>(base::Source{file, std::string(text)})) {}
  [[nodiscard]] std::string_view text() const { return source_->text; }
  [[nodiscard]] base::Mark at(int line, int column = 1) const { return {source_, line, column}; }
  [[nodiscard]] base::Mark at_offset(std::size_t offset) const;  // O(offset)

 private:
  std::shared_ptr<const base::Source> source_;
};

// Returns: a text's number where it is a whole number and nothing else, 0 to 2,000,000,000; else nullopt.
[[nodiscard]] std::optional<int> parse_count(std::string_view text);
// Throws: base::InputError with this one problem.
[[noreturn]] void refuse(base::Mark mark, std::string message, std::string hint = {});

// One function per format.
// Returns: nullopt when the text is of another format.
[[nodiscard]] std::optional<ImportedTopology> import_nvidia_smi(std::string_view text, const std::string& file, const ImportConfig& config);
[[nodiscard]] std::optional<ImportedTopology> import_rocm_smi(std::string_view text, const std::string& file, const ImportConfig& config);
[[nodiscard]] std::optional<ImportedTopology> import_nccl_xml(std::string_view text, const std::string& file, const ImportConfig& config);
[[nodiscard]] std::optional<ImportedTopology> import_slurm(std::string_view text, const std::string& file, const ImportConfig& config);

}  // namespace topology::imports
