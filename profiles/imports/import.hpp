#pragma once
// Reads a measurement file, whatever it is: Kineto / Chrome traces (.json, .json.gz), Nsight Systems SQLite exports, nccl-tests output
// (text, JSON), Chakra execution traces (.et, also gzipped), and what our own collector writes. The content decides, not the file's
// name. Not here: topology files (topology/imports).

#include <filesystem>
#include <string>

#include "profiles/imports/traces/trace.hpp"

namespace imports {

// Returns what the file holds. Throws: base::InputError, naming the file and the reason, when it cannot be read, is empty, cut short,
// damaged, of no known form, or contradicts itself; nothing of such a file is used. A sound trace without device events is no error: a note
// says so. Cost: one pass over the text, which is read in parts (a JSON trace takes 50 to 100 MB/s) and not kept; about 150 B per device
// event and 80 B per host operation are kept. JSON whose form shows only at its end is read twice.
// Refused: a text of more than 4 GiB after inflating, more than 20 million events of a kind, nccl-tests of more than 64 MiB, and JSON
// documents that are no traces of more than 256 MiB.
[[nodiscard]] ImportedTrace import_trace(const std::filesystem::path& file);

}  // namespace imports
