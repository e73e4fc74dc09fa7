#pragma once
// The strategies of operators that a search compares under one objective, and what moves between them.

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "search/solve/operators/elimination.hpp"
#include "search/solve/operators/operator_catalog.hpp"

namespace search {

// The dimensions of parallelism: what operators may be cut along.
struct Cuts {
  bool samples = true;        // data parallelism
  bool features = true;       // all that the others are not: output features, positions, experts, ...
  bool reduction = true;      // what a product sums over: partial sums
  bool heads = true;          // of attention
  bool only_largest = false;  // the loop with the most iterations of those that can be shared out among all devices, and no other
  [[nodiscard]] bool all() const { return samples && features && reduction && heads && !only_largest; }
};

// Strategies of a kind on a block: those that cost least by themselves, and the plain ones (StrategyTable::is_plain).
struct Shortlist {
  std::vector<std::uint32_t> strategies;
  std::vector<double> seconds;  // of each
};

// Movements between the strategies on two shortlists: those that were asked about, and bounds of the others.
struct EdgeCosts {
  EdgeKind kind;
  DeviceBlock from, to;
  std::uint32_t number = 0;  // of all edges that were asked for
  std::shared_ptr<PairCosts> costs;
  std::vector<bool> is_known;
};

// Movements count with a bound of their time until they are part of a cheapest answer, so that few have to be asked about.
class Shortlists {
 public:
  // The catalog outlives the object. `most_cut`: of strategies that cut more loops none is listed. Where none of an operator's strategies
  // is as `cuts` says, all are. `has_low_memory`: strategies that take less memory than all cheaper ones are listed, too.
  Shortlists(OperatorCatalog& catalog, const Objective& objective, std::size_t most, int most_cut = kAnyCuts, Cuts cuts = {},
             bool has_low_memory = false)
      : catalog_(catalog), objective_(objective), most_(most), most_cut_(most_cut), cuts_(cuts), has_low_memory_(has_low_memory) {}
  static constexpr int kAnyCuts = 1000;

  [[nodiscard]] const Shortlist& of(KindNumber kind, DeviceBlock block);
  // Cost: O(entries) bounds, once.
  [[nodiscard]] EdgeCosts& edge(const EdgeKind& kind, DeviceBlock from, DeviceBlock to);
  // Resolves the cost of the movement, and of those that would seem quicker in its place: the next answer would want them.
  // Returns: whether it was not known before.
  bool resolve_around(EdgeCosts& edge, std::uint32_t row, std::uint32_t column);
  [[nodiscard]] OperatorCatalog& catalog() { return catalog_; }

 private:
  [[nodiscard]] bool is_allowed(const pcg::Loop& loop) const;
  [[nodiscard]] bool is_allowed(KindNumber kind, const Strategy& s) const;
  [[nodiscard]] bool cuts_largest(KindNumber kind, const std::vector<Strategy>& all, const Strategy& s, int devices) const;
  bool resolve(EdgeCosts& edge, std::uint32_t row, std::uint32_t column);

  OperatorCatalog& catalog_;
  Objective objective_;
  std::size_t most_;
  int most_cut_;
  Cuts cuts_;
  bool has_low_memory_;
  std::map<std::pair<KindNumber, DeviceBlock>, Shortlist> lists_;
  std::map<std::tuple<EdgeKind, DeviceBlock, DeviceBlock>, EdgeCosts> edges_;
};

}  // namespace search
