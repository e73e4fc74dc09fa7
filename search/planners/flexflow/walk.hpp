#pragma once
// A simulated schedule of an iteration whose operators have places: FlexFlow's execution simulator (Jia et al., MLSys'19, section 5) with
// the streams that devices have here. It knows seconds and devices, and nothing of what operators compute.

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/random.hpp"
#include "search/problem/budget.hpp"
#include "search/solve/operators/operator_catalog.hpp"
#include "topology/cluster.hpp"

namespace search {

// An operator on devices `start` to `start + devices - 1`, in seconds.
struct ScheduledOperator {
  int start = 0, devices = 1;
  double forward = 0, backward = 0;
  double synchronisation = 0;  // of adding up gradients, after its part of the backward pass
  double update = 0;
};

// A tensor on its way to a reader, and its gradient on its way back, in seconds; 0: nothing moves.
struct MovementTimes {
  double forward = 0, backward = 0;
};

// Each device has three streams, which take their work in the order of the graph, and in the backward pass in reverse:
// - kernels: an operator begins when its inputs have come and all of its devices have come to it;
// - movements, in which the devices of both operators take part; they begin when the tensor is made;
// - gradients, whose sums overlap with the backward pass; where they and movements meet, they share the network.
// The backward pass begins when all operators have ended their forward pass, a device's updates when it has ended all else.
class Schedule {
 public:
  struct Edge {
    std::uint32_t from = 0, to = 0;  // operators
  };
  struct Segments {  // `end` is after the last
    std::size_t begin = 0, end = 0;
  };
  // Requires: `from` < `to`: operators are numbered as a graph has them, inputs first.
  Schedule(int devices, std::size_t operators, std::vector<Edge> edges);

  // Returns: the seconds from the first kernel to the last update. `movements`: per edge.
  // Requires: blocks end at the last device or before.
  // Cost: O(devices + (operators + edges) x s), where blocks cut the devices into s segments.
  [[nodiscard]] double seconds(std::span<const ScheduledOperator> operators, std::span<const MovementTimes> movements);
  // Returns, of amounts per operator, the largest sum over what one device runs.
  // Cost: as above.
  [[nodiscard]] double most_on_a_device(std::span<const ScheduledOperator> operators, std::span<const double> amounts);

 private:
  using Stream = std::vector<double>;  // per segment: when its work so far ends
  void find_segments(std::span<const ScheduledOperator> operators);
  [[nodiscard]] double move(std::uint32_t from, std::uint32_t to, double ready, double seconds);
  void synchronise(std::uint32_t who, double ready, double seconds);
  void go_forward(std::span<const ScheduledOperator> operators, std::span<const MovementTimes> movements);
  void go_backward(std::span<const ScheduledOperator> operators, std::span<const MovementTimes> movements);

  int devices_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::uint32_t>> read_by_, reads_;  // per operator: edges that begin there, and that end there
  // Kept between calls for their memory.
  std::vector<std::uint32_t> segment_of_;  // per device, and one after the last
  std::size_t segments_ = 0;
  std::vector<Segments> places_;  // per operator
  Stream kernels_, movements_, gradients_, sums_;
  std::vector<double> ready_;  // per operator: when what it waits for has come
};

// Where operators of a kind can run and how, numbered, and what moves between two of them: the configurations of FlexFlow (Jia et al.,
// MLSys'19, section 4) on blocks of devices.
struct Placement {
  DeviceBlock block;
  std::uint32_t strategy = 0;  // of the kind's strategies on the block, in the order of strategies_of()
  bool operator==(const Placement&) const = default;
};

// A movement, as far as it is known.
struct KnownMovement {
  MovementTimes times;
  bool is_exact = false;  // else these are no more than what it takes
};

// Kinds are costed on a block, and movements asked about, when they first come up. Where all machines are alike, a block costs what it
// costs in the first machines, and what moves between two blocks depends on their sizes, on where they lie in their machines and on
// whether they have devices in common: then few are costed and asked about. Not for several threads at once.
class Placements {
 public:
  // Both outlive the object.
  Placements(const topology::Cluster& cluster, OperatorCatalog& catalog);

  // Any placement of the kind. All devices come up as often as all smaller blocks together, and of these each size as often as others.
  [[nodiscard]] Placement any(KindNumber kind, base::Random& random);
  // A placement. Devices: the first ones of the block, which do the work.
  [[nodiscard]] const StrategyCost& cost(KindNumber kind, const Placement& p);
  [[nodiscard]] int devices(KindNumber kind, const Placement& p);

  // Bounds, until it is found out.
  [[nodiscard]] const KnownMovement& between(const EdgeKind& edge, const Placement& from, const Placement& to);
  const KnownMovement& resolve(const EdgeKind& edge, const Placement& from, const Placement& to);
  [[nodiscard]] std::size_t found_out() const { return found_out_; }

  // Blocks that give an operator of the kind work on all of their devices, by size, the largest first, which is all devices: inside a
  // machine those that lie at a multiple of their size or at its end, beyond it a half, a third, ... of all machines.
  [[nodiscard]] const std::vector<std::vector<DeviceBlock>>& blocks(KindNumber kind);
  // The pair of blocks that represents all that are like this one.
  [[nodiscard]] std::pair<DeviceBlock, DeviceBlock> standing_for(DeviceBlock a, DeviceBlock b) const;

 private:
  struct Costed {
    const StrategyTable* table = nullptr;
    std::uint32_t first = 0;  // numbers of a kind's strategies on a block follow each other
  };
  struct Movement {
    const StrategyTable::Layouts *from, *to;
    KnownMovement* known;
    bool is_new;
  };
  [[nodiscard]] const Costed& costed(KindNumber kind, DeviceBlock block);
  [[nodiscard]] std::vector<DeviceBlock> blocks_of(int size) const;
  [[nodiscard]] Movement movement(const EdgeKind& edge, const Placement& from, const Placement& to);

  OperatorCatalog& catalog_;
  int devices_, machine_;  // of the cluster, of a machine
  std::map<std::pair<KindNumber, DeviceBlock>, Costed> costed_;
  std::uint32_t next_ = 0;
  std::map<KindNumber, std::vector<std::vector<DeviceBlock>>> blocks_;
  std::map<EdgeKind, std::unordered_map<std::uint64_t, KnownMovement>> movements_;  // by the numbers of both strategies
  std::size_t found_out_ = 0;
};

// The operators of a graph, numbered in its order, without sources, and the edges between them.
struct OperatorGraph {
  std::vector<std::uint32_t> nodes;  // per operator
  std::vector<KindNumber> kinds;     // per operator
  std::vector<Schedule::Edge> edges;
  std::vector<EdgeKind> edge_kinds;  // per edge
};
// `kinds`: catalog.kinds_of(graph).
[[nodiscard]] OperatorGraph operator_graph(const pcg::Graph& graph, const std::vector<KindNumber>& kinds, const OperatorCatalog& catalog);

// Where every operator runs, and what that costs.
struct Position {
  std::vector<Placement> at;  // per operator
  double seconds = 0;         // of the schedule, and for memory that is not there
  double most_bytes = 0;      // of weights, their states and outputs on a device
};

// A random walk over placements of a graph's operators: the Metropolis algorithm (FlexFlow, MLSys'19, section 6). A proposal gives one
// operator another placement, or two that an edge joins, which leave a place together where each alone would have to move its tensors. One
// that makes the iteration longer is accepted with the probability exp(-alpha x), where x is by how much, in times of an operator's mean
// share of the iteration: then the same alpha fits graphs of few and of many operators. A walk begins at alpha 1 and cools down.
class Walk {
 public:
  // All but the number of devices outlive the object.
  Walk(const OperatorGraph& graph, Placements& placements, int devices, Budget& budget);

  // Bytes of a device for weights, their states and outputs. Each byte more costs time (kSecondsPerByte), so that plans that fit are found.
  void set_room(double bytes) { room_ = bytes; }
  // The cost of a position.
  // Cost: asks about all of its movements.
  [[nodiscard]] Position position(std::vector<Placement> at);
  // Walks from a position and returns the cheapest one on the way; ends early when this share of the budget is spent, of which each
  // proposal is a candidate. `alpha`: at the end. Movements of a proposal count with bounds until it would be accepted.
  [[nodiscard]] Position run(const Position& start, std::size_t proposals, double share, double alpha, base::Random& random);

  [[nodiscard]] std::size_t proposals() const { return proposals_; }
  [[nodiscard]] std::size_t accepted() const { return accepted_; }

 private:
  void start_at(const Position& p);
  void put(std::uint32_t who, const Placement& where);
  [[nodiscard]] double seconds();
  void propose(base::Random& random);
  [[nodiscard]] bool is_accepted(double limit);

  const OperatorGraph& graph_;
  Placements& placements_;
  Budget& budget_;
  int devices_;
  Schedule schedule_;
  std::vector<std::vector<std::uint32_t>> edges_of_;  // per operator
  double room_ = 0;
  std::size_t proposals_ = 0, accepted_ = 0;

  Position now_;
  std::vector<std::pair<std::uint32_t, Placement>> moved_;  // operators of the last proposal, and where they were
  std::vector<ScheduledOperator> operators_;
  std::vector<MovementTimes> movements_;
  std::vector<double> bytes_;   // per operator
  std::vector<bool> is_exact_;  // per edge
};

}  // namespace search
