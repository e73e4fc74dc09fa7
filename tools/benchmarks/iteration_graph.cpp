#include "tools/benchmarks/iteration_graph.hpp"

#include <span>
#include <utility>

namespace benchmarks {
namespace {

constexpr int kGpusPerNode = 6;
constexpr double kForwardSeconds = 1e-3, kBackwardSeconds = 2e-3, kLatencySeconds = 1.5e-6;
constexpr double kLayerBytes = 50e6;

// One route per edge of the ring over all GPUs in order.
void add_ring(sim::TaskGraph& g, int gpus) {
  for (int gpu = 0; gpu < gpus; ++gpu) g.links.emplace_back(50e9);
  const auto nic = [&](int node, int direction) { return static_cast<std::uint32_t>(gpus + 2 * node + direction); };
  for (int node = 0; node * kGpusPerNode < gpus; ++node) g.links.insert(g.links.end(), 2, base::BytesPerSecond(12.5e9));
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const int from = gpu / kGpusPerNode, to = (gpu + 1) % gpus / kGpusPerNode;
    g.routes.push_back({{static_cast<std::uint32_t>(gpu)}});
    if (from != to) g.routes.back().insert(g.routes.back().end(), {{nic(from, 0)}, {nic(to, 1)}});
  }
}

}  // namespace

sim::TaskGraph iteration_graph(int gpus, int layers) {
  sim::TaskGraph g;
  add_ring(g, gpus);
  sim::Phase ring{base::Seconds(2.0 * (gpus - 1) * kLatencySeconds), {}};
  for (std::uint32_t r = 0; r < g.routes.size(); ++r) ring.flows.push_back({r, base::Bytes(2.0 * (gpus - 1) / gpus * kLayerBytes)});
  g.steps = {{{{base::Seconds(kForwardSeconds), {}}}, sim::StepKind::kernels},
             {{{base::Seconds(kBackwardSeconds), {}}}, sim::StepKind::kernels},
             {{std::move(ring)}, sim::StepKind::transfer}};
  std::vector<std::uint32_t> compute, communication;  // streams, per GPU
  for (std::uint32_t gpu = 0; gpu < static_cast<std::uint32_t>(gpus); ++gpu) {
    g.streams.insert(g.streams.end(), 2, {gpu});
    compute.push_back(2 * gpu);
    communication.push_back(2 * gpu + 1);
  }
  g.slowdown.assign(static_cast<std::size_t>(gpus), 1);
  for (int layer = 0; layer < layers; ++layer)
    for (std::uint32_t gpu = 0; gpu < static_cast<std::uint32_t>(gpus); ++gpu) g.add(0, std::span(&compute[gpu], 1), {});
  for (int layer = 0; layer < layers; ++layer) {
    std::vector<std::uint32_t> backward;
    for (std::uint32_t gpu = 0; gpu < static_cast<std::uint32_t>(gpus); ++gpu) {
      backward.push_back(g.add(1, std::span(&compute[gpu], 1), {}));
    }
    g.add(2, communication, backward);
  }
  return g;
}

}  // namespace benchmarks
