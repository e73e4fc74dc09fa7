#pragma once
// A random walk over placements of a graph's operators: the Metropolis algorithm (FlexFlow, MLSys'19, section 6). A proposal gives one
// operator another placement. One that makes the iteration longer is accepted with the probability exp(-alpha x), where x is by how much,
// in times of an operator's mean share of the iteration: then the same alpha fits graphs of few and of many operators.

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "search/planners/flexflow/placements.hpp"
#include "search/planners/flexflow/schedule.hpp"
#include "search/problem/budget.hpp"

namespace search {

// The operators of a graph, numbered as they stand in it, without sources, and the edges between them.
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

class Walk {
 public:
  // All but the number of devices outlive the object.
  Walk(const OperatorGraph& graph, Placements& placements, int devices, Budget& budget);

  // Bytes of a device for weights, their states and outputs. Each byte more costs time (kSecondsPerByte), so that plans that fit are found.
  void set_room(double bytes) { room_ = bytes; }
  // What a position costs. Cost: asks about all of its movements.
  [[nodiscard]] Position position(std::vector<Placement> at);
  // Walks from a position and returns the cheapest one on the way; ends early when the budget is spent, of which each proposal is a
  // candidate. Movements of a proposal count with bounds first: only of what would be accepted they are asked about.
  [[nodiscard]] Position run(const Position& start, std::size_t proposals, double alpha, base::Random& random);

  [[nodiscard]] std::size_t proposals() const { return proposals_; }
  [[nodiscard]] std::size_t accepted() const { return accepted_; }

 private:
  void start_at(const Position& p);
  void put(std::uint32_t who, const Placement& where);
  [[nodiscard]] double seconds();
  [[nodiscard]] bool is_accepted(std::uint32_t who, double limit);

  const OperatorGraph& graph_;
  Placements& placements_;
  Budget& budget_;
  Schedule schedule_;
  std::vector<std::vector<std::uint32_t>> edges_of_;  // per operator
  double room_ = 0;
  std::size_t proposals_ = 0, accepted_ = 0;

  Position now_;
  std::vector<ScheduledOperator> operators_;
  std::vector<MovementTimes> movements_;
  std::vector<double> bytes_;   // per operator
  std::vector<bool> is_exact_;  // per edge
};

}  // namespace search
