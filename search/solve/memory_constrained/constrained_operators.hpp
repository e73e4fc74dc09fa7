#pragma once
// Operators of a block of devices in their strategies, together within a limit of memory.

#include <algorithm>
#include <limits>
#include <vector>

#include "search/solve/memory_constrained/cheapest_within.hpp"
#include "search/solve/operators/shortlists.hpp"

namespace search {

class ConstrainedOperators {
 public:
  // The lists outlive the object; bytes cost nothing in them, and they have low-memory strategies. `objective`: like theirs, but for the
  // copies that are kept.
  ConstrainedOperators(Shortlists& lists, DeviceBlock block, const Objective& objective)
      : lists_(lists), block_(block), objective_(objective) {}

  // Returns its number. `arrival`: not empty for an operator of the stage before, whose output comes to this block as each of the
  // strategies of its shortlist would have it, at this cost.
  std::uint32_t add(KindNumber kind, const std::vector<double>& arrival = {});
  void join(std::uint32_t from, std::uint32_t to, const EdgeKind& edge);
  // All operators of a graph, in its order, and their edges. `kinds`: of its nodes.
  // Requires: nothing was added before.
  void add(const pcg::Graph& graph, const std::vector<KindNumber>& kinds);

  // The cheapest strategies within `limit`, by operator, as ConstrainedChoice::choice; of those from outside, any.
  [[nodiscard]] ConstrainedChoice cheapest(double limit, const Budget& budget);
  // Costs of strategies by operator, whether or not they are listed; those from outside count as is best, whatever is given. Neither is
  // from the tables that cheapest() searches.
  [[nodiscard]] double seconds(const std::vector<std::uint32_t>& strategies) const;
  [[nodiscard]] double bytes(const std::vector<std::uint32_t>& strategies) const;

 private:
  struct Operator {
    KindNumber kind = 0;
    std::vector<double> arrival;  // not empty: from outside
  };
  struct Edge {
    std::uint32_t from = 0, to = 0;
    EdgeCosts& costs;
  };

  Shortlists& lists_;
  DeviceBlock block_;
  Objective objective_;
  std::vector<Operator> operators_;
  std::vector<Edge> edges_;
  ConstrainedProblem problem_;
};

// The limit of a sum of bytes that matches the memory of a device. The simulator's count is no sum over operators: tensors that two of them
// keep count once, and the backward pass needs temporaries. So choices are made within a limit, the simulator says how much
// room they leave, and the limit becomes what would have left none.

class MemoryRoom {
 public:
  explicit MemoryRoom(double limit) : limit_(limit) {}
  [[nodiscard]] double limit() const { return limit_; }

  // Choices within the limit sum up to these bytes and leave this room, which is negative where they do not fit.
  // Returns: whether another limit, which is the limit now, is worth a try.
  bool tell(double bytes, double room) {
    if (room < 0) least_too_many_ = std::min(least_too_many_, bytes);
    const double next = std::min(bytes + room, least_too_many_ * (1 - kSameBytes));
    const bool is_other = room < 0 || next > limit_ * (1 + kWorthATry);
    if (!is_other || ++rounds_ >= kMostRounds) return false;
    limit_ = next;
    return true;
  }

 private:
  static constexpr double kSameBytes = 1e-6, kWorthATry = 5e-3;  // shares
  static constexpr int kMostRounds = 4;
  double limit_;
  double least_too_many_ = std::numeric_limits<double>::infinity();
  int rounds_ = 0;
};

}  // namespace search
