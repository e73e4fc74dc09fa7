#pragma once
// The matrix that `nvidia-smi topo -m` prints, checked but not interpreted. Private to this folder.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/imports/source_text.hpp"

namespace topology::imports {

// How far apart two devices are on the PCIe tree; `unknown`: NVLink joins them, and the matrix shows only that.
enum class Distance { self, pix, pxb, phb, node, sys, unknown };
[[nodiscard]] std::string_view to_text(Distance d);  // "PIX"

struct SmiCell {
  Distance distance = Distance::self;
  int nvlinks = 0;  // bonded; above 0 if and only if the distance is unknown
};

struct SmiDevice {
  std::string name;    // "GPU0", "NIC1", "mlx5_0"
  std::string legend;  // what the NIC legend calls it; may be empty
  bool gpu = false;
  bool coherent = false;    // a GPU whose memory is a NUMA node: its CPU is a Grace
  std::optional<int> numa;  // of a GPU, where the matrix has it
  int line = 0;             // of its row
};

struct SmiMatrix {
  std::vector<SmiDevice> devices;  // in the order of the columns
  std::vector<SmiCell> cells;      // [row * devices + column], symmetric
  std::string peers = "nvlink";    // the type of the links that SmiCell::nvlinks counts
  bool peer_access = true;         // false: another matrix says that no GPU reaches another's memory over PCIe
  std::vector<std::string> notes;

  [[nodiscard]] const SmiCell& at(std::size_t row, std::size_t column) const { return cells[row * devices.size() + column]; }
};

// Returns: nullopt when there is no such matrix in the text.
// Throws: base::InputError with every problem found.
[[nodiscard]] std::optional<SmiMatrix> read_smi_matrix(const SourceText& source);

// Returns: the node that a matrix shows.
// Throws: base::InputError: places or links that no machine has.
[[nodiscard]] ImportedTopology node_of_matrix(const SmiMatrix& matrix, const SourceText& source, const char* format,
                                              const std::string& file, const ImportConfig& config);

// The words of each line of a text that has any.
struct SmiRow {
  int line = 0;
  std::vector<std::string> words;
};
[[nodiscard]] std::vector<SmiRow> smi_rows(std::string_view text);
[[nodiscard]] bool is_smi_gpu(std::string_view word);  // "GPU12"

// One entry per device: a number that devices of one group share. Each level's groups lie within those of the next.
struct SmiPlaces {
  std::vector<int> pix;               // one PCIe switch
  std::vector<int> pxb;               // several PCIe switches
  std::vector<int> cpu;               // one NUMA node; numbered from 0 by first device
  std::vector<std::string> problems;  // pairs that cannot be as far apart as the matrix says
  std::vector<std::string> notes;     // what was assumed
};

// The matrix gives for each pair how high on the tree they meet, so "at most this far apart" is an equivalence for each distance. Where
// NVLink hides it, NUMA affinity decides whether two GPUs are on one CPU.
[[nodiscard]] SmiPlaces place_devices(const SmiMatrix& matrix);  // O(devices^3)

}  // namespace topology::imports
