// Included by the sources in which tools/mutants/mutants.py puts mutants: `mutants::is(n)` in a copy of the tree, never in the tree itself.
#pragma once

#include <cstdint>
#include <cstdlib>

// Either branch of a mutant may convert implicitly, which the sources themselves must not.
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-compare"

namespace mutants {

// Whether this run is of mutant `number`, which the environment variable FORESHARD_MUTANT chooses.
inline bool is(std::uint32_t number) {
  static const unsigned long chosen = [] {
    const char* text = std::getenv("FORESHARD_MUTANT");
    return text != nullptr ? std::strtoul(text, nullptr, 10) : 0UL;
  }();
  return chosen == number;
}

}  // namespace mutants
