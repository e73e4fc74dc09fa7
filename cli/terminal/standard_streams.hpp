#pragma once
// Standard output and standard error. A stream that takes no more never keeps a command from writing its files: the failure comes last.

#include <string_view>

namespace cli {

// Requires: called first. A stream that was closed at the start stays so, instead of becoming the next file that is opened; writing to a
// pipe without a reader, or beyond the size that a file may have, becomes an error instead of the program's end.
void prepare_standard_streams();
// Prints to standard output.
void print(std::string_view text);
// Writes out what is printed, before something else goes to the same place. A failure is reported at the end.
void flush_standard_output();
// Prints to standard error: notes, and why a command failed. Failures are ignored.
void tell(std::string_view text);
// Writes out what standard output still holds. Throws: base::InputError when it, or something before it, could not be written. Where
// its reader is gone (| head), the program ends by SIGPIPE, without a word, as other programs do.
void finish_standard_output();

}  // namespace cli
