#pragma once
// What topology/machines.yaml knows of GPUs and of the machines around them, where the imported file is silent. Private to this folder.

#include <string>
#include <string_view>

#include "topology/imports/node_sketch.hpp"

namespace topology::imports {

// A row of the table, whose top says what its keys are. By default: a GPU of which nothing is known, with figures that are usual.
struct MachineFacts {
  std::string name, gpu, ids, gcn;
  std::string peers = "nvlink";  // the type of links between GPUs
  int sm = 0, links = 0, rack = 0;
  double each = 25, pcie = 16, xbus = 10, nic = 12.5, c2c = 0;  // GB/s
  bool nvls = false, by_links = false, peerless = false, peer_access = true;
  std::string direct, switched;
};

// What a file says of its GPUs; each empty or 0 where it says nothing.
struct GpuClues {
  std::string id;         // PCI vendor and device: "10de:2330"
  int sm = 0;             // compute capability x 10
  std::string gcn;        // AMD's name of the chip: "gfx942"
  int links = 0;          // of one GPU in use, where no other clue is
  bool coherent = false;  // a CPU of its own: Grace
  bool switched = false;  // the links lead to switches
  std::string peers;      // the type of links between GPUs; empty: none
};

// The GPU that the description will name, and what is known of machines with it. `figures`: whether the GPU is known for sure, so that its
// data sheet's figures are.
struct GpuChoice {
  MachineFacts facts;
  std::string type;
  NodeSketch::Figures figures = NodeSketch::Figures::assumed;
};

// `asked`: a device profile's name or empty. What is concluded is noted, and the sketch resembles such machines.
[[nodiscard]] GpuChoice choose_gpu(const std::string& asked, const GpuClues& clues, NodeSketch& sketch);

// Returns: GB/s of GPU traffic between two such CPUs.
[[nodiscard]] double xbus_gb_s(std::string_view arch, std::string_view vendor, int family, int model);

}  // namespace topology::imports
