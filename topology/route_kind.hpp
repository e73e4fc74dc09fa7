#pragma once
// Kinds of routes inside a node, nearest first. Communication libraries choose between routes by what they pass and not by how wide they
// are (NCCL, src/graph/topo.h: NVL before PIX and PXB before PHB before SYS), so a faster PCIe link draws no traffic away from NVLink.

#include <cstdint>

namespace topology {

enum class RouteKind : std::uint8_t {
  fabric,      // a wire between the two, or switches that join GPUs alone: NVLink, NVSwitch
  switches,    // other switches: PCIe
  one_socket,  // a CPU
  sockets,     // a wire between CPUs
  gpus,        // through other GPUs: only where nothing else leads there
  network,     // to another node
};

}  // namespace topology
