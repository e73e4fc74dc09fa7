#pragma once
// The results of a measurement, and the file that holds them (README.md, "The file"). One part of that file comes from a script of its own:
// `iterations`, `operations`, `sustained` and `decoders` are written empty here and filled by merge.py.

#include <string>
#include <utility>
#include <vector>

#include "tools/collector/case.hpp"
#include "tools/collector/device.hpp"
#include "tools/collector/statistics.hpp"

namespace collector {

struct KernelResult {
  Case what;
  Summary time;  // of one launch
};
struct CopyResult {
  std::string direction;  // h2d, d2h, d2d, p2p
  std::string memory;     // of the host's side: pinned, pageable; "device" where there is none
  double bytes = 0;
  Summary time;
};
struct LaunchResult {
  double host_s = 0;          // host time of one asynchronous launch of an empty kernel
  double back_to_back_s = 0;  // device time per empty kernel, launched one by one
  double graph_kernel_s = 0;  // device time per empty kernel inside a graph: the shortest a kernel can be
  double graph_launch_s = 0;  // host time of launching a graph of `graph_kernels` kernels
  int graph_kernels = 0;
  double round_trip_s = 0;  // launch and wait, host time
};
struct OverlapResult {
  Case kernel;
  std::string copy;  // direction of the copies on a second stream
  double copy_bytes = 0;
  double alone_s = 0, beside_s = 0;            // of the kernel
  double copy_alone_s = 0, copy_beside_s = 0;  // of one copy
};
struct CollectiveResult {
  std::string collective;  // all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send
  int gpus = 0;
  double bytes = 0;  // the full buffer: of an all-gather what each rank has afterwards
  Summary time;
};

struct Results {
  Device device;
  std::vector<std::pair<std::string, std::string>> environment;  // "cuda": "13.0", in the order in which they are written
  std::vector<KernelResult> kernels;
  std::vector<CopyResult> copies;
  LaunchResult launch;
  std::vector<OverlapResult> overlap;
  std::vector<CollectiveResult> collectives;
  std::vector<std::string> left_out;
};

// The text in quotes, escaped; bytes that are no UTF-8 text become "?".
[[nodiscard]] std::string json_text(const std::string& text);
// 9 significant digits, whole numbers in full; null for what is not finite, which JSON cannot say.
[[nodiscard]] std::string json_number(double value);
// The whole file, one result a line. Same results, same bytes.
[[nodiscard]] std::string to_json(const Results& r);

}  // namespace collector
