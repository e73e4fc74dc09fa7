#pragma once
// The operators of one graph, each of which runs on all devices in one of its strategies, one operator after another.

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "search/problem/budget.hpp"
#include "search/problem/problem.hpp"
#include "search/solve/operators/operator_catalog.hpp"

namespace search {

class OperatorSpace {
 public:
  // `graph` is a micro-batch, which is the whole batch; devices 0 to `devices` - 1 run it. Graph and catalog outlive the object.
  OperatorSpace(OperatorCatalog& catalog, const pcg::Graph& graph, int devices);

  // The operators of the graph, in its order, without sources, and their strategies.
  [[nodiscard]] const std::vector<std::uint32_t>& operators() const { return operators_; }
  [[nodiscard]] const StrategyTable& table(std::size_t of_operator) const {
    return catalog_.table(kinds_[operators_[of_operator]], block_);
  }
  // How many kinds there are, and how many ways of them all.
  [[nodiscard]] std::size_t kinds() const { return distinct_.size(); }
  [[nodiscard]] std::size_t strategies_of_kinds() const;
  // The cheapest strategies together.
  struct Answer {
    std::vector<std::uint32_t> strategy;  // numbered as operators()
    double seconds = 0;
    bool is_optimal = true;  // no others of those that were compared cost less
  };
  // The `most` strategies of each kind that cost least by themselves are compared; nullopt: the time was up first.
  [[nodiscard]] std::optional<Answer> cheapest(const Objective& objective, std::size_t most, const Budget& budget);
  // The cost of strategies together. Numbered as operators().
  [[nodiscard]] double seconds(const std::vector<std::uint32_t>& strategy, const Objective& objective);
  // The plan that they make, numbered as operators(), without name and summary.
  [[nodiscard]] pcg::Plan plan(const Problem& problem, const std::vector<std::uint32_t>& strategy) const;

 private:
  OperatorCatalog& catalog_;
  const pcg::Graph& graph_;
  DeviceBlock block_;
  std::vector<KindNumber> kinds_;  // per node
  std::set<KindNumber> distinct_;  // of the operators
  std::vector<std::uint32_t> operators_;
};

}  // namespace search
