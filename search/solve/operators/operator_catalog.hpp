#pragma once
// What the operators of graphs cost in each of the ways in which they can run on a block of devices, and what it costs to bring tensors
// from one to the next: the one table that planners of single operators search (FlexFlow's MCMC, Unity's machine mapping, Alpa's and
// UniAP's choices inside a stage). Layers repeat, and rewritten graphs differ in a few places, so that operators are priced by kind, once.
// All times are the simulator's own: kernels from its cost table, movements as it reshards. Collectives take what their busiest links need
// (sim/oracle.hpp, with no flows simulated), so that they are comparable and many can be asked about; whole plans are simulated later.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "search/problem/problem.hpp"
#include "search/solve/operators/movement_costs.hpp"
#include "search/solve/operators/strategies.hpp"

namespace search {

// Of an operator in an iteration of one micro-batch.
struct StrategyCost {
  double kernels = 0;          // seconds of its forward and backward kernels, or of the host that launches them, if that is longer
  double inside = 0;           // seconds of the collectives inside it
  double forward = 0;          // seconds of these two that are its forward pass
  double synchronisation = 0;  // seconds of adding up its weights' gradients
  double update = 0;           // seconds of the optimizer
  double buffering = 0;        // seconds of adding the weights' gradients to those of micro-batches before, where there are several
  // Of its weights, gradients and optimizer state on a device, by the stage of ZeRO that shares them out among those with copies.
  std::array<double, 4> state_bytes{};
  double kept_bytes = 0;  // of its outputs on a device
};

// How the parts of a cost are weighed against each other. Gradients are added up beside the backward pass: a plan that has much to compute
// hides them, so that they count in part.
struct Objective {
  double synchronisation = 1;
  double seconds_per_byte = 0;  // of memory
  // Where graphs are micro-batches: the share of an iteration that is one of them, in which gradients are added up and weights updated;
  double per_micro_batch = 1;
  double kept_copies = 1;   // how many micro-batches are kept for their backward passes at once;
  bool recomputes = false;  // and whether forward passes run again before them.
  int zero = 0;             // stage
};

// What searches try: how much of the time of adding up gradients counts, from all of it to none; and what memory costs, in so many times
// the seconds of the cheapest plan for the whole memory of a device.
inline constexpr std::array kSynchronisationShares = {1.0, 0.5, 0.25, 0.0};
inline constexpr std::array kMemoryPrices = {0.0, 0.01, 0.1, 1.0, 10.0};

[[nodiscard]] double seconds_of(const StrategyCost& cost, const Objective& objective);
// What seconds_per_byte would be paid for.
[[nodiscard]] double bytes_of(const StrategyCost& cost, const Objective& objective);

// Whether a node is a weight or an input.
[[nodiscard]] bool is_source(const pcg::GraphNode& node);

// Equal for operators that cost the same however they are cut.
struct OperatorKind {
  pcg::GraphNode node;                   // one of them
  std::vector<pcg::TensorShape> inputs;  // whole
  std::vector<bool> is_weight;           // per input: a weight, frozen if no gradient is made
  std::vector<bool> has_gradient;        // per input: the backward pass makes its gradient
};
using KindNumber = std::uint32_t;
inline constexpr KindNumber kSource = UINT32_MAX;  // of weights and inputs, which are no operators

// An edge between operators of these kinds.
struct EdgeKind {
  KindNumber from = 0;
  std::uint32_t output = 0;
  KindNumber to = 0;
  std::uint32_t input = 0;
  bool has_gradient = false;
  auto operator<=>(const EdgeKind&) const = default;
};

// Every way in which operators of a kind can run on a block: parallel arrays.
struct Ways {
  struct Layouts {
    std::vector<LayoutNumber> inputs, outputs, input_gradients, output_gradients;
    bool operator==(const Layouts&) const = default;
  };
  std::vector<Strategy> strategies;
  std::vector<StrategyCost> costs;
  std::vector<Layouts> layouts;
  // One loop is cut by all devices, or one by the machines and one by the devices of each: what operators next to each other have in
  // common, so that nothing moves between them.
  std::vector<bool> is_plain;
};

class OperatorCatalog {
 public:
  // The problem outlives the object.
  OperatorCatalog(const Problem& problem, int most_cut);

  // Returns the kind of every node of a graph, whose batch is the micro-batch. `with_gradient`: inputs of the graph that stand for tensors
  // which have a gradient. Cost: O(nodes x kinds of the same operator).
  [[nodiscard]] std::vector<KindNumber> kinds_of(const pcg::Graph& graph, const std::vector<pcg::GraphNodeId>& with_gradient = {});
  [[nodiscard]] const OperatorKind& kind(KindNumber k) const { return kinds_[k]; }
  [[nodiscard]] std::size_t size() const { return kinds_.size(); }
  // The edge that ends at an input; nullopt: it begins at a source. `kinds`: kinds_of(graph).
  [[nodiscard]] std::optional<EdgeKind> edge_at(const pcg::Graph& graph, const std::vector<KindNumber>& kinds, std::uint32_t node,
                                                std::uint32_t input) const;

  [[nodiscard]] bool machines_are_alike() const { return machines_are_alike_; }
  // The block that costs what this one does: where all machines are alike, the one at the same place in the first machines.
  [[nodiscard]] DeviceBlock alike(DeviceBlock b) const;
  // Throws: base::InputError when a device does not support the precision. Cost: O(strategies) prices and layouts, once.
  [[nodiscard]] const Ways& ways(KindNumber k, DeviceBlock block);
  // These ways alone, of a planner that has rules for them; not remembered. Throws: as ways() does. Cost: O(strategies) prices and layouts.
  [[nodiscard]] Ways priced(KindNumber k, std::vector<Strategy> strategies, int devices) {
    return priced(kinds_[k], std::move(strategies), devices);
  }
  // One of ways(k, alike(block)), on this block.
  [[nodiscard]] Strategy strategy(KindNumber k, DeviceBlock block, std::uint32_t way);
  // Seconds of the quickest plain way on all of so many devices; of all ways where none is plain. Cost: O(plain ways) prices, once.
  [[nodiscard]] double plain_seconds(KindNumber k, int devices, const Objective& objective);
  // Seconds of the kernels of a device that has its share of the samples, or of all the work where samples cannot be shared.
  [[nodiscard]] double alone_seconds(KindNumber k, int devices);
  // Whether some strategy gives each device of a block of this size work of its own.
  [[nodiscard]] bool can_use(KindNumber k, int devices);

  // Forward, and the gradient's way back, between a way of the first kind and one of the second.
  [[nodiscard]] double movement_at_least(const EdgeKind& edge, const Ways::Layouts& from, const Ways::Layouts& to);
  [[nodiscard]] double movement(const EdgeKind& edge, const Ways::Layouts& from, const Ways::Layouts& to);
  // A bound of bringing an operator's output from one of its ways to where another one would have it, and the gradient back.
  [[nodiscard]] double transfer_at_least(KindNumber k, const Ways::Layouts& from, const Ways::Layouts& to);

 private:
  [[nodiscard]] Ways priced(const OperatorKind& kind, DeviceBlock block);
  [[nodiscard]] Ways priced(const OperatorKind& kind, std::vector<Strategy> strategies, int devices);
  [[nodiscard]] const Ways& plain_ways(KindNumber k, int devices);
  [[nodiscard]] int machine_size() const;
  [[nodiscard]] std::vector<LayoutNumber> numbers(const std::vector<sim::Layout>& layouts);

  const Problem& problem_;
  int most_cut_;
  bool machines_are_alike_;
  MovementCosts movements_;
  std::vector<OperatorKind> kinds_;
  std::map<std::size_t, std::vector<KindNumber>> by_operator_;  // kinds by which operator they are
  std::map<std::pair<KindNumber, DeviceBlock>, Ways> ways_;
  std::map<std::pair<KindNumber, int>, Ways> plain_ways_;
  std::map<std::pair<KindNumber, int>, bool> can_use_;
};

}  // namespace search
