#include "profiles/imports/sources/refuse.hpp"

#include <memory>

#include "base/diagnostics.hpp"

namespace imports {

void refuse(const std::string& file, std::string message, std::string hint, int line) {
  const auto source = std::make_shared<const base::Source>(base::Source{file, {}});
  // The first line of an empty text would be quoted as an empty line, so line 1 is said in words.
  if (line == 1) message = "line 1: " + message;
  const base::Mark mark{source, line == 1 ? 0 : line, 1};
  throw base::InputError({base::Diagnostic{mark, {}, std::move(message), std::move(hint)}});
}

}  // namespace imports
