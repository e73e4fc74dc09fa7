#pragma once
// The words for what simulations and searches state: sim and search give facts, and each kind of fact has its sentence here.

#include "base/diagnostics.hpp"
#include "base/fact.hpp"

namespace scenarios {

// Returns: the note of a fact, under the same code.
// Requires: its code is in the table of sentences.yaml, with the values that its sentence names.
[[nodiscard]] base::Note note_of(const base::Fact& fact);

}  // namespace scenarios
