#pragma once
// Which devices of an `nvidia-smi topo -m` matrix hang together on the PCIe tree. Private to this folder.
//
// The matrix gives for each pair how high on the tree they meet, so "at most this far apart" is an equivalence for each distance. Where
// NVLink hides it, NUMA affinity decides whether two GPUs are on one CPU.

#include <string>
#include <vector>

#include "topology/imports/smi_matrix.hpp"

namespace topology::imports {

// One entry per device: a number that devices of one group share. Each level's groups lie within those of the next.
struct SmiPlaces {
  std::vector<int> pix;               // one PCIe switch
  std::vector<int> pxb;               // several PCIe switches
  std::vector<int> cpu;               // one NUMA node; numbered from 0 by first device
  std::vector<std::string> problems;  // pairs that cannot be as far apart as the matrix says
  std::vector<std::string> notes;     // what was assumed
};

[[nodiscard]] SmiPlaces place_devices(const SmiMatrix& matrix);  // O(devices^3)

}  // namespace topology::imports
