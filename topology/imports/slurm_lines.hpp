#pragma once
// The lines of Slurm's topology.conf, checked but not interpreted. Private to this folder.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/imports/source_text.hpp"

namespace topology::imports {

inline constexpr std::size_t kMostHosts = 100'000;  // of one expression, and of a whole file

// Slurm's hostlist expressions: "tux[0-11,15],login1", "rack[0-1]n[01-18]".
struct Hostlist {
  std::vector<std::string> names;  // in the order written, "n01" keeps its zeros; may hold duplicates
  std::string problem;             // empty if the expression is sound; else names are void
};

// Returns: the names of an expression, or what is wrong with it.
[[nodiscard]] Hostlist expand_hostlist(std::string_view expression);  // O(names)

struct SlurmSwitch {
  std::string name;
  std::vector<std::string> nodes;     // of a leaf
  std::vector<std::string> switches;  // of any other
  std::string link_speed;             // as written: Slurm defines no unit
  int line = 0;
};

struct SlurmTopology {
  std::vector<SlurmSwitch> switches;  // SwitchName=
  std::vector<SlurmSwitch> blocks;    // BlockName=, with nodes
  std::vector<int> block_sizes;       // BlockSizes=
};

// Returns: nullopt when no line begins with SwitchName=, BlockName= or BlockSizes=.
// Throws: base::InputError with every problem found.
[[nodiscard]] std::optional<SlurmTopology> read_slurm_lines(const SourceText& source);

}  // namespace topology::imports
