#pragma once
// Seconds that it takes to bring a tensor from one layout to another, alone on the cluster.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "search/problem/problem.hpp"
#include "search/solve/operators/strategies.hpp"
#include "sim/dataflow/layout.hpp"
#include "sim/dataflow/movement.hpp"

namespace search {

using LayoutNumber = std::uint32_t;

// Remembers what it was asked: degrees and devices of both layouts say who sends to whom, and the tensor's size how much, so that tensors
// of many sizes share what is found out. Collectives take what their busiest links need (sim/oracle.hpp). Not for several threads at once.
class MovementCosts {
 public:
  // The problem outlives the object.
  explicit MovementCosts(const Problem& problem);

  // Equal layouts have one number.
  [[nodiscard]] LayoutNumber number(const sim::Layout& layout);
  // Requires: what sim::reshard() does.
  // Cost: reshard() and the oracle's rounds for each pair of patterns, once.
  [[nodiscard]] double seconds(LayoutNumber from, LayoutNumber to);
  // A bound of it from the bytes that a device or a domain does not have and needs, and what its links let in.
  // Cost: O(devices x devices of a domain) for each pair of patterns, once.
  [[nodiscard]] double at_least(LayoutNumber from, LayoutNumber to);
  // Seconds of rounds one after another, each as long as its transfers need or the busiest host to launch them, whichever is longer.
  // Movements that differ in size alone are planned once.
  [[nodiscard]] double seconds(const sim::Movement& movement);
  // Seconds of adding up partial sums where they lie, this many bytes of each.
  [[nodiscard]] double all_reduce_seconds(LayoutNumber sums, base::Bytes bytes);

  static constexpr std::size_t kMostDims = 5;  // of more, the last ones count as whole: bounds are the lower
  // A part of a tensor, as shares of its dims: where it begins and ends in each, and which summand it is of.
  struct Box {
    int sum = 0;
    std::size_t dims = 0;
    std::array<double, kMostDims> begin{}, end{};
    bool operator==(const Box&) const = default;
  };

 private:
  // The parts of a tensor on each device and in each domain, ascending.
  struct Spread {
    std::vector<std::pair<std::uint32_t, std::vector<Box>>> on_device;
    std::vector<std::pair<int, std::vector<Box>>> in_domain;
  };
  struct Numbered {
    std::uint32_t pattern;
    double bytes;  // of the whole tensor
  };
  // Seconds of a movement of any size, whose rounds follow each other.
  struct Curve {
    struct Round {
      sim::RoundCost cost;
      double launch_s;  // of the busiest host
    };
    std::vector<Round> rounds;
    bool is_infeasible = false;
    [[nodiscard]] double at(double factor) const;
  };
  struct Bound {
    double latency = 0, seconds_per_byte = 0;
  };
  [[nodiscard]] Bound bound(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] Spread spread_of(const sim::Layout& layout) const;
  // Of a tensor of kUnit bytes.
  [[nodiscard]] const Curve& curve(std::uint32_t from, std::uint32_t to);
  [[nodiscard]] Curve curve(const sim::Movement& movement) const;

  const Problem& problem_;
  sim::Oracle oracle_;  // which bounds collectives by their busiest links: they are many
  double launch_ = problem_.oracle.framework(problem_.training).host.collective.value();  // host time of a collective or a message
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> patterns_;                // by a hash of degrees and devices
  std::vector<sim::Layout> example_;                                                      // per pattern
  std::vector<Spread> spreads_;                                                           // per pattern
  std::map<std::pair<std::uint32_t, double>, LayoutNumber> numbers_;
  std::vector<Numbered> layouts_;
  std::unordered_map<std::uint64_t, Curve> curves_;  // by both patterns
  std::unordered_map<std::uint32_t, Curve> sums_;    // all-reduces, by pattern
  std::map<std::vector<sim::Round>, Curve> inside_;  // by rounds whose largest transfer has kUnit bytes
  std::unordered_map<std::uint64_t, Bound> bounds_;  // by both patterns
  double latency_inside_ = 0, latency_between_ = 0;  // of a message inside a domain, and between two
  std::vector<double> into_device_, into_domain_;    // bytes per second
};

// An operator in an iteration of one micro-batch.
struct StrategyCost {
  double kernels = 0;          // seconds of its forward and backward kernels, or of the host that launches them, if that is longer
  double inside = 0;           // seconds of the collectives inside it
  double forward = 0;          // seconds of these two that are its forward pass
  double synchronisation = 0;  // seconds of adding up its weights' gradients
  double update = 0;           // seconds of the optimizer
  double buffering = 0;        // seconds of adding the weights' gradients to those of micro-batches before, where there are several
  // Weights, gradients and optimizer state on a device, by the stage of ZeRO that shares them out among those with copies.
  std::array<double, 4> state_bytes{};
  double kept_bytes = 0;  // of its outputs on a device
};

// The weights of the parts of a cost. Adding up gradients overlaps with the backward pass: a plan that has much to compute
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

// Values that searches try: the share of the time of adding up gradients that counts, from all of it to none; and the cost of memory, in
// times the seconds of the cheapest plan for the whole memory of a device.
inline constexpr std::array kSynchronisationShares = {1.0, 0.5, 0.25, 0.0};
inline constexpr std::array kMemoryCosts = {0.0, 0.01, 0.1, 1.0, 10.0};

[[nodiscard]] double seconds_of(const StrategyCost& cost, const Objective& objective);
// The bytes that seconds_per_byte counts.
[[nodiscard]] double bytes_of(const StrategyCost& cost, const Objective& objective);

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

// Every strategy of operators of a kind on a block: parallel arrays.
struct StrategyTable {
  struct Layouts {
    std::vector<LayoutNumber> inputs, outputs, input_gradients, output_gradients;
  };
  std::vector<Strategy> strategies;
  std::vector<StrategyCost> costs;
  std::vector<Layouts> layouts;
  // One loop is cut by all devices, or one by the machines and one by the devices of each: what operators next to each other have in
  // common, so that nothing moves between them.
  std::vector<bool> is_plain;
};

// Costs of the operators of graphs in each of their strategies on a block of devices, and of bringing tensors
// from one to the next: the one table that planners of single operators search (FlexFlow's MCMC, Unity's machine mapping, Alpa's and
// UniAP's choices inside a stage). Layers repeat, and rewritten graphs differ in a few places, so that operators are costed by kind, once.
// All times are the simulator's own: kernels from its cost table, movements as it reshards. Collectives take what their busiest links need
// (sim/oracle.hpp, with no flows simulated), so that they are comparable and many can be asked about; whole plans are simulated later.
class OperatorCatalog {
 public:
  // The problem outlives the object.
  OperatorCatalog(const Problem& problem, int most_cut);

  // Returns: the kind of every node of a graph, whose batch is the micro-batch. `with_gradient`: inputs of the graph in place of tensors
  // which have a gradient.
  // Cost: O(nodes x kinds of the same operator).
  [[nodiscard]] std::vector<KindNumber> kinds_of(const pcg::Graph& graph, const std::vector<pcg::GraphNodeId>& with_gradient = {});
  [[nodiscard]] const OperatorKind& kind(KindNumber k) const { return kinds_[k]; }
  [[nodiscard]] std::size_t size() const { return kinds_.size(); }
  // The edge that ends at an input; nullopt: it begins at a source. `kinds`: kinds_of(graph).
  [[nodiscard]] std::optional<EdgeKind> edge_at(const pcg::Graph& graph, const std::vector<KindNumber>& kinds, std::uint32_t node,
                                                std::uint32_t input) const;

  [[nodiscard]] int devices() const { return problem_.cluster.device_count(); }
  // As Budget::spend().
  void spend(base::Seconds effort) const { problem_.oracle.spend(effort); }
  [[nodiscard]] int machine_size() const { return static_cast<int>(problem_.cluster.domain_devices(0).size()); }  // devices
  [[nodiscard]] bool machines_are_alike() const { return machines_are_alike_; }
  // The block that costs what this one does: where all machines are alike, the one at the same place in the first machines.
  [[nodiscard]] DeviceBlock alike(DeviceBlock b) const { return {machines_are_alike_ ? b.start % machine_size() : b.start, b.size}; }
  // Throws: base::InputError when a device does not support the precision.
  // Cost: O(strategies) costs and layouts, once.
  [[nodiscard]] const StrategyTable& table(KindNumber k, DeviceBlock block);
  // These strategies alone, of a planner that has rules for them; not remembered. Those of one sharding that follow each other are on the
  // same devices, each at a point.
  // Throws: as strategies() does.
  // Cost: O(strategies) costs and layouts.
  [[nodiscard]] StrategyTable table_of(KindNumber k, std::vector<Strategy> strategies, int devices);
  // One of table(k, alike(block)), on this block.
  [[nodiscard]] Strategy strategy(KindNumber k, DeviceBlock block, std::uint32_t number);
  // Seconds of the quickest plain strategy on all of `devices`; of all strategies where none is plain.
  // Cost: O(plain strategies) costs, once.
  [[nodiscard]] double plain_seconds(KindNumber k, int devices, const Objective& objective);
  // Seconds of the kernels of a device that has its share of the samples, or of all the work where samples cannot be shared.
  [[nodiscard]] double alone_seconds(KindNumber k, int devices);
  // Whether some strategy gives each device of a block of this size work of its own.
  [[nodiscard]] bool can_use(KindNumber k, int devices);

  // Forward, and the gradient back, between a strategy of the first kind and one of the second.
  [[nodiscard]] double movement_at_least(const EdgeKind& edge, const StrategyTable::Layouts& from, const StrategyTable::Layouts& to);
  [[nodiscard]] double movement(const EdgeKind& edge, const StrategyTable::Layouts& from, const StrategyTable::Layouts& to);
  // A bound of bringing an operator's output from one of its strategies to where another one would have it, and the gradient back.
  [[nodiscard]] double transfer_at_least(KindNumber k, const StrategyTable::Layouts& from, const StrategyTable::Layouts& to);

 private:
  [[nodiscard]] const StrategyTable& plain_table(KindNumber k, int devices);

  const Problem& problem_;
  int most_cut_;
  bool machines_are_alike_;
  MovementCosts movements_;
  std::vector<OperatorKind> kinds_;
  std::map<std::size_t, std::vector<KindNumber>> by_operator_;  // kinds by which operator they are
  std::map<std::pair<KindNumber, DeviceBlock>, StrategyTable> tables_;
  std::map<std::pair<KindNumber, int>, StrategyTable> plain_tables_;
  std::map<std::pair<KindNumber, int>, bool> can_use_;
};

}  // namespace search
