#pragma once
// The content of an NCCL topology XML, checked but not interpreted. Private to this folder.
//
// Attributes as NCCL writes and reads them (its src/graph/xml.cc and topo.cc): PCIe speed and width are of the link to the parent, an empty
// speed or a width of 0 means PCIe 3.0 and 16 lanes; a net's speed is in Mb/s, 0 or -1 mean 10,000.

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "topology/imports/source_text.hpp"

namespace topology::imports {

struct NcclNvlink {
  std::string kind;    // "nvlink", "xgmi"
  std::string target;  // bus id
  enum class To { gpu, cpu, nvswitch } to = To::gpu;
  int count = 1;
  base::Mark mark;
};

struct NcclGpu {
  int dev = 0;  // as CUDA numbers it
  std::optional<int> sm;
  std::string gcn;  // "gfx942"
  std::vector<NcclNvlink> nvlinks;
  double c2c_gb_s = 0;  // to its CPU, one way; 0: none
  base::Mark mark;
};

struct NcclNet {
  int dev = 0;
  std::string name;
  base::BytesPerSecond speed;
  base::Mark mark;
};

struct NcclPci {
  std::string bus_id;
  std::string device_class;                       // "0x060400"; empty for a NIC without a place on PCIe
  std::string id;                                 // "10de:2330"; empty: not in the file
  std::optional<base::BytesPerSecond> bandwidth;  // to the parent, before coding; nullopt: not known
  std::optional<NcclGpu> gpu;
  std::vector<NcclNet> nets;
  std::vector<NcclPci> children;
  base::Mark mark;

  [[nodiscard]] bool serves() const;  // a GPU or a port is here or below
  [[nodiscard]] bool has_gpu() const;
};

struct NcclCpu {
  int numa = 0;
  std::string arch, vendor;  // "x86_64", "GenuineIntel"
  int family = 0, model = 0;
  std::vector<NcclPci> devices;
};

struct NcclTree {
  std::vector<NcclCpu> cpus;
  std::vector<std::string> notes;  // what was left out
};

// Returns: nullopt when the text is no XML.
// Throws: base::InputError: XML that is broken or not of this sort.
[[nodiscard]] std::optional<NcclTree> read_nccl_tree(const SourceText& source);

}  // namespace topology::imports
