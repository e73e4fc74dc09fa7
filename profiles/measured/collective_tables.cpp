// Each public table says on which machine it was measured; which preset describes that machine is decided here, in one place per table.
// Rows of machines without a preset, and rows that show something else than the network (a forced algorithm, a host that could not launch
// faster), are left out with a note.
#include "profiles/measured/tables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/numbers.hpp"

namespace measured {
namespace {

constexpr std::string_view kCollectiveHeader = "cluster,nodes,gpus,kind,bytes,seconds";

// Adds the rows of one table to the measurements, or counts why not.
class CollectiveRows : public TableRows {
 public:
  using TableRows::TableRows;

  // Calls use(row, preset, kind) for each row whose machine has a preset and whose collective is one of ours; the other rows are counted.
  // machine(row) is the machine's name in the table; `collective` is the column of the collective's.
  template <class Machine, class Use>
  void each(const Names& presets, Machine machine, Use use, std::string_view collective = "op") {
    for (const CsvRow& row : t_.rows()) {
      const auto preset = ours(presets, machine(row), "no cluster preset for");
      const auto k = preset ? kind(t_.cell(row, collective)) : std::nullopt;
      if (k) use(row, *preset, *k);
    }
  }
  // Counts are refused where they cannot be true, times that are missing are noted.
  void add(const CsvRow& row, const std::string& cluster, double nodes, double gpus, profiles::CollectiveKind kind, double bytes,
           std::optional<double> seconds) {
    constexpr double kMost = 1e6;
    const auto whole = [](double x) { return x >= 1 && x <= kMost && x == static_cast<double>(static_cast<int>(x)); };
    if (!whole(nodes) || !whole(gpus) || gpus < nodes || static_cast<int>(gpus) % static_cast<int>(nodes) != 0)
      t_.complain(row, fmt::format("{} GPUs on {} nodes", gpus, nodes), "whole numbers, as many GPUs on each node");
    if (!(bytes > 0)) return leave_out("no bytes");
    if (gpus < 2) return leave_out("one GPU alone");
    if (!seconds || !(*seconds > 0)) return leave_out("no time");
    into_.collectives.push_back(
        {cluster, static_cast<int>(nodes), static_cast<int>(gpus), kind, base::Bytes(bytes), base::Seconds(*seconds), t_.source(row)});
  }
  [[nodiscard]] double required(const CsvRow& row, std::string_view column) const {
    const auto value = t_.number(row, column);
    if (!value) t_.complain(row, fmt::format("{} is empty", column));
    return *value;
  }

 private:
  std::optional<profiles::CollectiveKind> kind(const std::string& name) {
    const auto k = name == "alltoall"    ? profiles::CollectiveKind::all_to_all
                   : name == "send_recv" ? profiles::CollectiveKind::send
                                         : profiles::collective_kind(name);
    if (!k) leave_out(fmt::format("no such collective here: {}", name));
    return k;
  }
};

// Machines that one column names.
auto in_column(const CsvTable& t, std::string_view column) {
  return [&t, column](const CsvRow& row) { return t.cell(row, column); };
}

void read_own_collectives(const CsvTable& t, CollectiveRows& c) {
  for (const CsvRow& row : t.rows()) {
    const auto kind = profiles::collective_kind(t.cell(row, "kind"));
    if (!kind) t.complain(row, fmt::format("kind: \"{}\" is no collective", t.cell(row, "kind")));
    if (t.cell(row, "cluster").empty()) t.complain(row, "cluster is empty", "a preset's name");
    c.add(row, t.cell(row, "cluster"), c.required(row, "nodes"), c.required(row, "gpus"), *kind, c.required(row, "bytes"),
          t.number(row, "seconds"));
  }
}

// NVIDIA aiconfigurator: one node, nccl-tests through CUDA graphs. Its sizes are those of the whole buffer for every collective. How
// its eight L40S are wired is not published: two of them have a path of PCIe alone, four reach a quarter of its rate and eight a fifteenth.
void read_aiconfigurator(const CsvTable& t, CollectiveRows& c) {
  static const Names kPresets = {{"a100_sxm", "dgx-a100-80gb"}, {"h100_sxm", "dgx-h100"}, {"h200_sxm", "dgx-h200"},
                                 {"b200_sxm", "dgx-b200"},      {"b300_sxm", "dgx-b300"}, {"gb200", "gb200-nvl72"},
                                 {"l40s", "pcie-l40s-4"}};
  c.each(kPresets, in_column(t, "system"), [&](const CsvRow& row, const std::string& preset, profiles::CollectiveKind kind) {
    if (preset.starts_with("pcie") && c.required(row, "n_gpus") > 2)
      return c.leave_out("its wires between more than two GPUs are not known");
    c.add(row, preset, 1, c.required(row, "n_gpus"), kind, c.required(row, "bytes"), t.number(row, "latency_ms", 1e-3));
  });
}

// vTrain: one node. Its V100 machine reaches 22.5 GB/s between GPUs 0 and 1 and 134 GB/s among eight: the hybrid cube mesh of a DGX-1V.
void read_vtrain(const CsvTable& t, CollectiveRows& c) {
  static const Names kPresets = {{"a100", "dgx-a100-80gb"}, {"v100", "dgx-1v"}};
  c.each(kPresets, in_column(t, "gpu"), [&](const CsvRow& row, const std::string& preset, profiles::CollectiveKind kind) {
    c.add(row, preset, 1, c.required(row, "n_gpus"), kind, c.required(row, "bytes"), t.number(row, "out_of_place_us", 1e-6));
  });
}

bool is_single_process(const CsvTable& t, const CsvRow& row) { return t.cell(row, "notes").find("single process") != std::string::npos; }

// A host that launches for all GPUs one after another, or from Python: up to a quarter above its least time, a row has measured the host.
constexpr double kLaunchBound = 1.25;

// Least time of each collective over the rows that may have measured a host; time(row): nullopt for the others.
std::map<std::string, double> least_times(const CsvTable& t, const std::function<std::optional<double>(const CsvRow&)>& time) {
  std::map<std::string, double> least;
  for (const CsvRow& row : t.rows())
    if (const auto seconds = time(row); seconds && *seconds > 0) {
      const auto [at, is_new] = least.try_emplace(t.cell(row, "op"), *seconds);
      if (!is_new) at->second = std::min(at->second, *seconds);
    }
  return least;
}

// The time of a collective whose bus bandwidth a table gives: bytes of the whole buffer over it, times the share that a wire carries.
std::optional<double> seconds_of_bus(profiles::CollectiveKind kind, double gpus, double bytes, std::optional<double> gb_per_s) {
  if (!gb_per_s || !(*gb_per_s > 0)) return std::nullopt;
  return (kind == profiles::CollectiveKind::all_reduce ? 2 : 1) * (gpus - 1) / gpus * bytes / (*gb_per_s * 1e9);
}

// nccl-tests runs that were published. A machine is known by its GPU and network columns together.
void read_nccl_tests(const CsvTable& t, CollectiveRows& c) {
  static const Names kPresets = {
      {"A100-SXM4-40GB, NVLink3+NVSwitch", "dgx-a100-40gb"},
      {"A100 (DGX A100), 8x ConnectX-6 HDR200 IB per node", "dgx-a100-40gb"},
      {"A100-SXM4-40GB (BM.GPU4.8), 16x100Gb RoCE per node", "oci-bm.gpu4.8"},
      {"A100-80GB (p4de.24xlarge), 4x100Gb EFA per node", "aws-p4de.24xlarge"},
      {"H100 (p5.48xlarge), 32x100Gb EFA per node (3200Gb/s)", "aws-p5.48xlarge"},
      {"H100 (p5.48xlarge), 3200Gb/s EFA; EKS", "aws-p5.48xlarge"},
      {"H100 (p5.48xlarge), NVLink4+NVSwitch (NVLS)", "aws-p5.48xlarge"},
      {"H100 (GCP A3 Mega), 8x200Gb GPUDirect-TCPXO", "gcp-a3-megagpu-8g"},
      {"H100 SXM (CoreWeave HGX), 8x400Gb NDR IB", "dgx-h100"},
      {"GB200 NVL72, NVLink5 NVL72", "gb200-nvl72"},
      {"GB200 NVL72, 2 racks NVL72 + IB", "gb200-nvl72"},
      {"GB200 NVL72, 20 racks NVL72 + IB", "gb200-nvl72"},
  };
  const auto launched = [&](const CsvRow& row) { return is_single_process(t, row) ? t.number(row, "oop_time_us", 1e-6) : std::nullopt; };
  const std::map<std::string, double> least = least_times(t, launched);
  const auto machine = [&](const CsvRow& row) { return t.cell(row, "gpu") + ", " + t.cell(row, "network"); };
  c.each(kPresets, machine, [&](const CsvRow& row, const std::string& preset, profiles::CollectiveKind kind) {
    if (const auto s = launched(row); s && *s < kLaunchBound * least.at(t.cell(row, "op")))
      return c.leave_out("as quick as one process launches");
    c.add(row, preset, c.required(row, "n_nodes"), c.required(row, "n_gpus"), kind, c.required(row, "bytes"),
          t.number(row, "oop_time_us", 1e-6));
  });
}

// vidur: within one node, and its H100 sends between two. The second node of its A100s hangs on a fabric that is not named (8 GB/s).
void read_vidur(const CsvTable& t, CollectiveRows& c) {
  static const Names kPresets = {{"a100_dgx", "dgx-a100-80gb"}, {"h100_dgx", "dgx-h100"}};
  c.each(kPresets, in_column(t, "network_device"), [&](const CsvRow& row, const std::string& preset, profiles::CollectiveKind kind) {
    const double gpus = c.required(row, "num_workers"), nodes = gpus / c.required(row, "devices_per_node");
    if (nodes > 1 && preset == "dgx-a100-80gb") c.leave_out("between nodes, over a fabric that is not named");
    else c.add(row, preset, nodes, gpus, kind, c.required(row, "bytes"), t.number(row, "median_ms", 1e-3));
  });
}

// ml-engineering: bus bandwidths of all-reduce. Runs with an algorithm switched off do not show what the library would choose. P6 was
// measured from Python.
void read_ml_engineering(const CsvTable& t, CollectiveRows& c) {
  static const Names kPresets = {{"H200", "dgx-h200"}, {"B200", "dgx-b200"}, {"B200 (AWS P6-B200)", "aws-p6-b200.48xlarge"}};
  const auto seconds = [&](const CsvRow& row, profiles::CollectiveKind kind) {
    return seconds_of_bus(kind, c.required(row, "n_gpus"), c.required(row, "bytes"), t.number(row, "busbw_GBps"));
  };
  const auto launched = [&](const CsvRow& row) {
    const bool may_be = t.cell(row, "gpu") == "B200 (AWS P6-B200)" && t.cell(row, "n_nodes") == "1";
    return may_be ? seconds(row, profiles::CollectiveKind::all_reduce) : std::nullopt;
  };
  const std::map<std::string, double> least = least_times(t, launched);
  c.each(kPresets, in_column(t, "gpu"), [&](const CsvRow& row, const std::string& preset, profiles::CollectiveKind kind) {
    if (t.cell(row, "network").find("NVLS off") != std::string::npos) return c.leave_out("the algorithm was forced");
    if (const auto s = launched(row); s && *s < kLaunchBound * least.at(t.cell(row, "op")))
      return c.leave_out("as quick as Python launches");
    c.add(row, preset, c.required(row, "n_nodes"), c.required(row, "n_gpus"), kind, c.required(row, "bytes"), seconds(row, kind));
  });
}

// Rows of many authors, most of several nodes. Of P6 they are ml-engineering's, of exchanges among experts they tell no bytes.
void read_many_authors(const CsvTable& t, CollectiveRows& c) {
  static const Names kPresets = {
      {"H100 GCP A3 Mega (8 x 200 Gb/s GPUDirect-TCPXO per node)", "gcp-a3-megagpu-8g"},
      {"H100 Nebius HGX (8 x 400 Gb/s IB)", "dgx-h100"},
      {"H100 HGX", "oci-bm.gpu.h100.8"},  // eight adapters of 400 Gb/s of RoCE (NVIDIA/nccl issue 1221)
      {"H200 HGX", "dgx-h200"},
      {"GB200 one tray (ND GB200 v6)", "gb200-nvl72"},
  };
  c.each(
      kPresets, in_column(t, "system"),
      [&](const CsvRow& row, const std::string& preset, profiles::CollectiveKind kind) {
        if (t.cell(row, "notes").find("NVLS off") != std::string::npos) return c.leave_out("the algorithm was forced");
        if (!base::parse_number(t.cell(row, "bytes"))) return c.leave_out("no bytes");
        const double gpus = c.required(row, "n_gpus"), bytes = c.required(row, "bytes");
        const auto measured = t.number(row, "time_us", 1e-6);
        c.add(row, preset, c.required(row, "n_nodes"), gpus, kind, bytes,
              measured ? measured : seconds_of_bus(kind, gpus, bytes, t.number(row, "busbw_GBps")));
      },
      "collective");
}

}  // namespace

bool read_collective_table(const CsvTable& t, Measurements& into) {
  static const KnownTables<CollectiveRows> kTables = {
      {{"cluster", "nodes", "gpus", "kind", "bytes", "seconds"}, read_own_collectives},
      {{"system", "op", "n_gpus", "bytes", "latency_ms"}, read_aiconfigurator},
      {{"gpu", "n_gpus", "bytes", "out_of_place_us", "op"}, read_vtrain},
      {{"op", "gpu", "n_gpus", "n_nodes", "network", "bytes", "oop_time_us", "notes"}, read_nccl_tests},
      {{"network_device", "op", "num_workers", "devices_per_node", "bytes", "median_ms"}, read_vidur},
      {{"op", "gpu", "n_gpus", "n_nodes", "network", "bytes", "busbw_GBps"}, read_ml_engineering},
      {{"system", "n_nodes", "n_gpus", "collective", "bytes", "busbw_GBps", "time_us", "notes"}, read_many_authors},
  };
  return read_known(kTables, t, into);
}

std::string to_csv(const std::vector<CollectiveMeasurement>& collectives) {
  std::string text = std::string(kCollectiveHeader) + "\n";
  for (const CollectiveMeasurement& m : collectives)
    text += fmt::format("{},{},{},{},{},{}\n", m.cluster, m.nodes, m.gpus, to_text(m.kind), m.bytes.value(), m.time.value());
  return text;
}

}  // namespace measured
