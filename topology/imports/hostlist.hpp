#pragma once
// Slurm's hostlist expressions: "tux[0-11,15],login1", "rack[0-1]n[01-18]". Private to this folder.

#include <string>
#include <string_view>
#include <vector>

namespace topology::imports {

inline constexpr std::size_t kMostHosts = 100'000;  // of one expression, and of a whole file

struct Hostlist {
  std::vector<std::string> names;  // in the order written, "n01" keeps its zeros; may hold duplicates
  std::string problem;             // empty if the expression is sound; else names are void
};

// Returns the names of an expression, or what is wrong with it.
[[nodiscard]] Hostlist expand_hostlist(std::string_view expression);  // O(names)

}  // namespace topology::imports
