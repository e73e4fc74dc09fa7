#pragma once
// The one way in which an importer refuses a file. Private to this folder.

#include <string>

namespace imports {

// Throws: base::InputError "FILE: MESSAGE", or "FILE:LINE:1: MESSAGE" when line > 1 ("FILE: line 1: MESSAGE" for the first), and the hint
// below it.
[[noreturn]] void refuse(const std::string& file, std::string message, std::string hint = {}, int line = 0);

}  // namespace imports
