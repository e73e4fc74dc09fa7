#pragma once
// Topologies that other tools write, as a cluster description of ours: `nvidia-smi topo -m`, NCCL's topology XML
// (NCCL_TOPO_DUMP_FILE), `rocm-smi --showtopo`, Slurm's topology.conf and topology.yaml. What such a file does not say (how fast a PCIe
// link is, which GPU it is) is assumed, and every assumption is a note. Latencies are those of the presets: no file has them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace topology {

// The GPU type of a description whose file does not name the GPU. It loads as a cluster, but no device profile has this name, so a
// scenario refuses it with the list of those there are.
inline constexpr std::string_view kChooseGpu = "choose-a-gpu";

struct ImportedTopology {
  std::string format;              // "nvidia-smi topo -m", "NCCL topology XML", "Slurm topology.conf"
  std::string yaml;                // a cluster file (docs/formats/cluster.md) that load_cluster takes; the notes are its first comments
  std::vector<std::string> notes;  // what was assumed, merged or cannot be expressed, a sentence each
  int nodes = 1;
  int gpus = 0, cpus = 0, switches = 0, nics = 0, wires = 0;  // of one node; of a placeholder or preset node: 0
};

struct ImportConfig {
  std::string gpu;     // a device profile's name; empty: what the file lets one conclude, else kChooseGpu
  std::string preset;  // topology.conf only, which says nothing of nodes: what a node is; empty: a placeholder of one GPU
  const ImportedTopology* node = nullptr;  // or the node of another file; lives as long as the call
};

// Returns: nullopt when the text is of none of these formats. `file` is its name in messages.
// Throws: base::InputError when it is one and is broken: cut off, asymmetric, contradictory, duplicate or unknown names.
// Cost: O(text + devices^3), devices at most 256; at most 100,000 names of nodes.
[[nodiscard]] std::optional<ImportedTopology> import_topology(std::string_view text, const std::string& file,
                                                              const ImportConfig& config = {});

}  // namespace topology
