#include "base/embedded/embedded_files.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/yaml/parse.hpp"

namespace base {

std::vector<std::string> EmbeddedFiles::names() const {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : files_) names.emplace_back(file.name);
  return names;
}

std::optional<std::string_view> EmbeddedFiles::find(std::string_view name) const {
  const auto at = std::ranges::find(files_, name, &EmbeddedFile::name);
  return at == files_.end() ? std::nullopt : std::optional(at->text);
}

std::string_view EmbeddedFiles::text(std::string_view name) const {
  const std::optional<std::string_view> found = find(name);
  if (!found) refuse(name);
  return *found;
}

Yaml EmbeddedFiles::parse(const EmbeddedFile& file) const {
  return parse_yaml(std::string(file.text), fmt::format("<{} {}>", kind_.substr(0, kind_.find(' ')), file.name));
}

std::string EmbeddedFiles::unknown(std::string_view name) const { return fmt::format("no {} is called \"{}\"", kind_, name); }

void EmbeddedFiles::refuse(std::string_view name) const { base::refuse("", unknown(name), suggest(name, names())); }

}  // namespace base
