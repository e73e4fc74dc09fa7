#pragma once
// Signals that ask for an end: what takes long looks now and then whether one came, and ends with what it has.

namespace base {

// From now on the first SIGINT, SIGTERM or SIGHUP is only noted, here and in child processes that are made later, whoever of them it is
// sent to first; the next one ends the program at once. A SIGHUP that is ignored already (nohup) stays so.
void note_interruptions();
[[nodiscard]] bool interrupted();
// Returns the signal, 0 where none came.
[[nodiscard]] int interruption();
// In a child process: leaves these signals to the parent, which tells by interrupted(). A terminal sends them to both.
void leave_interruptions_to_parent();

}  // namespace base
