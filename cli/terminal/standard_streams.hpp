#pragma once
// Standard output and standard error. That one of them takes no more never keeps a command from writing its files: it is told at the end.

#include <string_view>

namespace cli {

// To be called first: what was closed by whoever started the program stays so, instead of becoming the next file that is opened; writing
// to a pipe that nobody reads any more, or beyond the size that a file may have, becomes an error instead of the program's end.
void prepare_standard_streams();
// Prints to standard output.
void print(std::string_view text);
// Writes out what is printed, before something else goes to the same place. That it fails is told at the end.
void flush_standard_output();
// Prints to standard error: notes, and why a command failed. Nothing is done about failing.
void tell(std::string_view text);
// Writes out what standard output still holds. Throws: base::InputError when it, or something before it, could not be written. Where
// nobody reads it any more (| head), the program ends by SIGPIPE, without a word, as other programs do.
void finish_standard_output();

}  // namespace cli
