#pragma once
// A sentence that stands beside an answer, and what it is about.

#include <string>

namespace base {

// The most important first: reports show them in this order, and leave out the last where room is scarce.
enum class NoteKind {
  problem,     // the answer is not the one that was asked for
  caution,     // figures may be further off than their kind usually is
  assumption,  // a figure that nobody gave and nothing measured says
  search,      // how a plan was found
  detail       // a fact that changes no figure
};

struct Note {
  NoteKind kind = NoteKind::detail;
  std::string text;  // a sentence without its full stop

  bool operator==(const Note&) const = default;
};

}  // namespace base
