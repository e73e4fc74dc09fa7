#pragma once
// What Slurm's topology.conf or topology.yaml says, checked but not interpreted. Private to this folder.

#include <optional>
#include <string>
#include <vector>

#include "topology/imports/source_text.hpp"

namespace topology::imports {

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
  std::vector<std::string> notes;
};

// Returns: nullopt when no line begins with SwitchName=, BlockName=, BlockSizes= or "- topology:".
// Throws: base::InputError with every problem found.
[[nodiscard]] std::optional<SlurmTopology> read_slurm_lines(const SourceText& source);

}  // namespace topology::imports
