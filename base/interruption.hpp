#pragma once
// Ctrl-C: what takes long looks now and then whether it was pressed, and ends with what it has.

namespace base {

// From now on the first SIGINT is only noted; the second one ends the program as usual. Of worker processes, too.
void note_interruptions();
[[nodiscard]] bool interrupted();

}  // namespace base
