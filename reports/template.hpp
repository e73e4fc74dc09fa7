#pragma once
// The templates of pages and pictures that ship, in the language of mustache (mustache.github.io): {{name}} is escaped, {{{name}}} is not,
// {{#list}} repeats. Private to this folder and those below it.

#include <kainjow/mustache.hpp>
#include <string>
#include <string_view>

namespace reports {

using TemplateData = kainjow::mustache::data;

// Returns a template of reports (its file's name without the extension) filled with values.
[[nodiscard]] std::string filled(std::string_view name, const TemplateData& values);

}  // namespace reports
