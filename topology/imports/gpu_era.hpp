#pragma once
// The machine around a GPU as its generation suggests, where the imported file is silent. Private to this folder.

#include <optional>
#include <string>
#include <string_view>

#include "topology/imports/node_sketch.hpp"

namespace topology::imports {

// Figures are one way, per link, as the data sheets have them; the same as in topology/presets, which name the sources. By default those of
// a GPU of which nothing is known: 25 GB/s per NVLink (V100 to H200), PCIe 3.0, EDR.
struct GpuEra {
  std::string_view name;       // "A100": begins the names of its device profiles, in small letters
  int sm = 0;                  // compute capability x 10; 0: unknown
  double nvlink_gb_s = 25;     // of one NVLink
  int nvlinks = 18;            // of one GPU, at most
  double pcie_gb_s = 16;       // its PCIe generation, 16 lanes
  double xbus_gb_s = 10;       // socket to socket in machines of its time
  double nic_gb_s = 12.5;      // adapters of its time
  bool nvls = false;           // its NVSwitches reduce and multicast
  std::string_view sxm, pcie;  // device profiles: with NVLink, without; the one with least memory; empty: there is none
  // Presets of such machines: GPUs wired to each other, and through NVSwitches; empty: none ships.
  std::string_view direct_preset, switched_preset;
};

// Returns: the era of a compute capability x 10 (90), or nullopt.
[[nodiscard]] std::optional<GpuEra> era_of_sm(int sm);
// Returns: the era whose GPUs use this number of NVLinks when all are in use: 6 are a V100's, 12 an A100's, 18 an H100's (H200 and B200
// have 18 too).
// Returns: nullopt for any other number.
[[nodiscard]] std::optional<GpuEra> era_of_nvlinks(int links);

// The GPU that the description will name, and what is assumed of its time; both are noted.
struct GpuChoice {
  GpuEra era;
  std::string type;
};
// The links that join the GPUs of a node.
enum class PeerLinks { pcie, nvlink };

// `asked`: a device profile's name or empty. `found`: what the file lets one conclude, `by` from what ("18 NVLinks per GPU").
[[nodiscard]] GpuChoice choose_gpu(const std::string& asked, const std::optional<GpuEra>& found, const std::string& by, PeerLinks links,
                                   NodeSketch& sketch);

}  // namespace topology::imports
