#pragma once
// Operators of a block of devices in their ways, together within a limit of memory.

#include <vector>

#include "search/solve/memory_constrained/cheapest_within.hpp"
#include "search/solve/operators/shortlists.hpp"

namespace search {

class ConstrainedOperators {
 public:
  // The lists outlive the object; they have no price of bytes, and lean ways. `objective`: like theirs, but for the copies that are kept.
  ConstrainedOperators(Shortlists& lists, DeviceBlock block, const Objective& objective)
      : lists_(lists), block_(block), objective_(objective) {}

  // Both return its number.
  std::uint32_t add(KindNumber kind);
  // An operator of a stage before, whose output comes to this block as each of these ways of its shortlist would have it, at this cost.
  std::uint32_t add_from_outside(KindNumber kind, std::vector<double> seconds);
  void join(std::uint32_t from, std::uint32_t to, const EdgeKind& edge);

  // The cheapest ways that sum up to so many bytes, by operator, as ConstrainedChoice::choice; of those from outside, any.
  [[nodiscard]] ConstrainedChoice cheapest(double limit, const Budget& budget, const ConstrainedEffort& effort = {});
  // Of ways by operator, whether or not they are listed; those from outside count as is best, whatever stands there. Neither is from the
  // tables that cheapest() searches.
  [[nodiscard]] double seconds(const std::vector<std::uint32_t>& ways) const;
  [[nodiscard]] double bytes(const std::vector<std::uint32_t>& ways) const;

 private:
  struct Operator {
    KindNumber kind = 0;
    std::vector<double> arrival{};  // not empty: from outside
  };
  struct Edge {
    std::uint32_t from = 0, to = 0;
    EdgeKind kind;
    EdgeCosts* costs = nullptr;
  };
  std::uint32_t add(Operator o);

  Shortlists& lists_;
  DeviceBlock block_;
  Objective objective_;
  std::vector<Operator> operators_;
  std::vector<Edge> edges_;
  ConstrainedProblem problem_;
};

}  // namespace search
