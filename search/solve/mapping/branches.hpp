#pragma once
// The series-parallel structure of a part of a graph: which operators follow each other, and which branches of it are independent, so that
// they may run side by side (Unity, OSDI'22, section 5.2; Valdes, Tarjan and Lawler, SIAM J. Comput. 11, 1982, for the reductions).
// An operator with one neighbour hangs on it, one with two joins them; what lies between the same two operators is a group. What no
// reduction reaches stays as the core: any graph has a structure, and a series-parallel one has no core.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "search/solve/operators/operator_catalog.hpp"

namespace search {

// An edge between operators, which are numbered by whoever cuts a graph into parts.
struct OperatorEdge {
  std::uint32_t from = 0, to = 0;
  EdgeKind kind;
};

// Which way the tensors go, from the first end of a branch to the second.
enum class Flow : std::uint8_t { forward, backward, mixed };

struct BranchRef {
  std::uint32_t branch = 0;
  bool reversed = false;  // its first end is our second
  auto operator<=>(const BranchRef&) const = default;
};

// What lies between two operators, its ends, or hangs on one, its second end. The ends are no part of it.
struct Branch {
  enum class Form : std::uint8_t { edge, series, group };
  Form form = Form::edge;
  Flow flow = Flow::forward;
  std::uint32_t shape = 0;  // equal where all kinds of operators and edges in it are equal
  bool has_operators = false;
  OperatorEdge edge;                 // of Form::edge; from the first end to the second
  std::uint32_t centre = 0;          // of Form::series: an operator,
  std::optional<BranchRef> before;   //   what lies between the first end and it; nullopt: there is no first end,
  BranchRef after;                   //   what lies between it and the second end,
  std::vector<BranchRef> hanging{};  //   and what hangs on it
  std::vector<BranchRef> parts{};    // of Form::group: between the same ends, at least two
};

// Numbers for shapes, which all trees of a search share.
class BranchShapes {
 public:
  [[nodiscard]] std::uint32_t number(const std::vector<std::uint64_t>& shape);

 private:
  std::map<std::vector<std::uint64_t>, std::uint32_t> numbers_;
};

struct BranchTree {
  std::vector<KindNumber> kinds;  // per operator
  std::vector<Branch> branches;
  std::vector<std::uint32_t> core;                                       // operators that are no centres, the ends of the part among them
  std::map<std::pair<std::uint32_t, std::uint32_t>, BranchRef> between;  // of the core; the first end is the lower number
  std::vector<std::vector<BranchRef>> hanging;                           // per operator of the core; one at most
};

// `ends`: operators that stay in the core. Cost: O(operators^2 + edges log edges).
[[nodiscard]] BranchTree branch_tree(std::vector<KindNumber> kinds, const std::vector<OperatorEdge>& edges,
                                     const std::vector<std::uint32_t>& ends, BranchShapes& shapes);

// The shape of a group of these branches.
[[nodiscard]] std::uint32_t shape_of_group(const BranchTree& tree, const std::vector<BranchRef>& parts, BranchShapes& shapes);

}  // namespace search
