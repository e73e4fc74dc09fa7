#pragma once
// What every operator of a graph costs in each of the ways in which it can run, and what it costs to bring tensors from one to the next:
// the one table that planners of single operators search (FlexFlow's MCMC, Unity's machine mapping, Alpa's and UniAP's choices inside a
// stage). All times are the simulator's own: kernels from its price list, movements as it reshards, collectives from the oracle.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "search/operators/elimination.hpp"
#include "search/operators/movement_costs.hpp"
#include "search/operators/operator_kinds.hpp"
#include "search/operators/strategies.hpp"
#include "search/problem/deadline.hpp"
#include "search/problem/problem.hpp"

namespace search {

// Of an operator in an iteration of one micro-batch.
struct StrategyCost {
  double kernels = 0;          // seconds of its forward and backward kernels, or of the host that launches them, if that is longer
  double inside = 0;           // seconds of the collectives inside it
  double synchronisation = 0;  // seconds of adding up its weights' gradients
  double update = 0;           // seconds of the optimizer
  double state_bytes = 0;      // of its weights, gradients and optimizer state on a device
  double kept_bytes = 0;       // of its outputs on a device
};

// How the parts of a cost are weighed against each other. Gradients are added up beside the backward pass: a plan that has much to compute
// hides them, so that they count in part.
struct Weighing {
  double synchronisation = 1;
  double seconds_per_byte = 0;  // of memory
};

[[nodiscard]] double seconds_of(const StrategyCost& cost, const Weighing& weighing);

// The plan of one stage in which node n of `graph`, which holds the whole batch, runs as choice[n] says, without name and summary. Sources
// have none: nullptr.
[[nodiscard]] pcg::Plan plan_of_strategies(const Problem& problem, const pcg::Graph& graph, int devices,
                                           const std::vector<const Strategy*>& choice);

class OperatorSpace {
 public:
  // `graph` is a micro-batch, which is the whole batch; devices 0 to `devices` - 1 run it. Graph and problem outlive the object.
  // Throws: base::InputError when a device does not support the precision.
  // Cost: O(kinds x strategies) prices and layouts.
  OperatorSpace(const Problem& problem, const pcg::Graph& graph, int devices, int most_cut);

  [[nodiscard]] const OperatorKinds& kinds() const { return kinds_; }
  [[nodiscard]] const std::vector<Strategy>& strategies(std::uint32_t kind) const { return tables_[kind].strategies; }
  [[nodiscard]] const StrategyCost& cost(std::uint32_t kind, std::uint32_t strategy) const { return tables_[kind].costs[strategy]; }
  // The operators of the graph, in its order, without sources.
  [[nodiscard]] const std::vector<std::uint32_t>& operators() const { return operators_; }
  // The cheapest strategies together.
  struct Answer {
    std::vector<std::uint32_t> strategy;  // numbered as operators()
    double seconds = 0;
    bool is_optimal = true;  // no others of those that were looked at cost less
  };
  // Of the strategies of each kind the `most` that cost least by themselves are looked at; nullopt: the time was up first. Movements count
  // with a bound of their time until they are part of a cheapest answer, so that few have to be asked about.
  [[nodiscard]] std::optional<Answer> cheapest(const Weighing& weighing, std::size_t most, const Deadline& deadline);
  // What strategies cost together. Numbered as operators().
  [[nodiscard]] double seconds(const std::vector<std::uint32_t>& strategy, const Weighing& weighing);
  // The plan that strategies make, numbered as operators(), without name and summary.
  [[nodiscard]] pcg::Plan plan(const std::vector<std::uint32_t>& strategy) const;

 private:
  // The layouts of a strategy, by number.
  struct Layouts {
    std::vector<LayoutNumber> inputs, outputs, input_gradients, output_gradients;
    bool operator==(const Layouts&) const = default;
  };
  struct Table {
    std::vector<Strategy> strategies;
    std::vector<StrategyCost> costs;
    std::vector<Layouts> layouts;
  };
  // An edge between operators of these kinds.
  struct EdgeKind {
    std::uint32_t from, output, to, input;
    bool has_gradient;
    auto operator<=>(const EdgeKind&) const = default;
  };

  void price(const Specimens& specimens, std::size_t round);
  // Forward, and the gradient's way back.
  [[nodiscard]] double movement_seconds(const EdgeKind& kind, std::uint32_t from, std::uint32_t to);
  // The edge that ends at an input; nullopt: it begins at a source.
  [[nodiscard]] std::optional<EdgeKind> edge_at(std::uint32_t node, std::uint32_t input) const;
  // Movements between strategies of two kinds, those that were asked about and bounds of the others.
  struct Edge {
    EdgeKind kind;
    std::shared_ptr<PairCosts> costs;
    std::vector<bool> is_known;
  };
  // The strategies of a kind that are looked at, and the edges between kinds.
  struct Scope {
    std::vector<std::vector<std::uint32_t>> strategies;  // per kind
    std::map<EdgeKind, Edge> edges;
  };
  [[nodiscard]] Edge bounded_edge(const EdgeKind& kind, const Scope& scope);
  // Returns: whether the movement was not known before.
  bool find_out(Edge& edge, const Scope& scope, std::uint32_t row, std::uint32_t column);
  // Those besides that would seem quicker in its place: the next answer would want them.
  bool find_out_around(Edge& edge, const Scope& scope, std::uint32_t row, std::uint32_t column);

  const Problem& problem_;
  const pcg::Graph& graph_;
  int devices_;
  OperatorKinds kinds_;
  MovementCosts movements_;
  std::vector<Table> tables_;  // per kind
  std::vector<std::uint32_t> operators_;
};

}  // namespace search
