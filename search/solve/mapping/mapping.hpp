#pragma once
// Machine mapping (Unity, OSDI'22, section 5.2): which devices run each operator of a part of a graph, and how it is cut over them.
// Start here:
//   mapping.hpp   Mapping: the cheapest strategies and blocks of a part whose branches may run side by side
//   segments.hpp  place_chain(): a chain of parts, each in one of several variants; segments_of(): segments of a graph
// The series-parallel structure of a part (BranchTree) says which operators follow each other, and which branches are independent (Valdes,
// Tarjan and Lawler, SIAM J. Comput. 11, 1982, for the reductions). An operator with one neighbour hangs on it, one with two joins them;
// operators between the same two are a group. The rest, which no reduction reaches, is the core: a series-parallel graph has none.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "search/solve/operators/operator_catalog.hpp"
#include "search/solve/operators/shortlists.hpp"

namespace search {

// An edge between operators, which are numbered by whoever cuts a graph into parts.
struct OperatorEdge {
  std::uint32_t from = 0, to = 0;
  EdgeKind kind;
  bool operator==(const OperatorEdge&) const = default;
};

// Which way the tensors go, from the first end of a branch to the second.
enum class Flow : std::uint8_t { forward, backward, mixed };

struct BranchRef {
  std::uint32_t branch = 0;
  bool reversed = false;  // its first end is our second
  auto operator<=>(const BranchRef&) const = default;
};

// Operators between two operators, its ends, or that hang on one, its second end. The ends are no part of it.
struct Branch {
  enum class Form : std::uint8_t { edge, series, group };
  Form form = Form::edge;
  Flow flow = Flow::forward;
  std::uint32_t shape = 0;  // equal where all kinds of operators and edges in it are equal
  bool has_operators = false;
  OperatorEdge edge;                 // of Form::edge; from the first end to the second
  std::uint32_t centre = 0;          // of Form::series: an operator,
  std::optional<BranchRef> before;   //   the branch between the first end and it; nullopt: there is no first end,
  BranchRef after;                   //   the branch between it and the second end,
  std::vector<BranchRef> hanging{};  //   and the branches that hang on it
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

// `ends`: operators that stay in the core.
// Cost: O(operators^2 + edges log edges).
[[nodiscard]] BranchTree branch_tree(std::vector<KindNumber> kinds, const std::vector<OperatorEdge>& edges,
                                     const std::vector<std::uint32_t>& ends, BranchShapes& shapes);

// The shape of a group of these branches.
[[nodiscard]] std::uint32_t shape_of_group(const BranchTree& tree, const std::vector<BranchRef>& parts, BranchShapes& shapes);

// Where an operator runs.
struct Placed {
  DeviceBlock block;
  std::uint32_t choice = 0;  // on the shortlist of its kind on the block, where that begins in the first machine
};

// By the choices of the two ends; of what hangs on one end there is one row.
struct BranchCosts : PairCosts {
  std::vector<std::uint32_t> edges;  // EdgeCosts::number of all that count in it, ascending
};

struct MappingConfig {
  bool side_by_side = true;
  bool remember = true;  // costs of branches of one shape
  // Blocks of these sizes are asked about, and that of all devices: on them any operators may follow each other, even those that have no
  // work for all of them. On parts of them only operators that do.
  std::vector<int> wholes{};
  // Whether blocks that were not met before may be tried for branches side by side: each takes tables of its operators. Empty: all may.
  std::function<bool()> has_time{};
};

// Operators follow each other on a block of devices, or branches that are independent run side by side on blocks that share no device. A
// part costs the sum of operators that follow each other and the longest of branches that run side by side.
// Remembers costs by the shape of a branch and the blocks of it and its ends, which it compares in full. Where all machines are alike,
// blocks of whole machines are taken as equal wherever they begin, and blocks inside a machine in whichever machine they lie: what differs
// is which share of a tensor a device already has.
// Cost of a branch: O(operators x c^3) for shortlists of c, for each block that it is asked on; of a group of b branches on m machines,
// O(b^2 x m) tables of c^2.
class Mapping {
 public:
  // All outlive the object.
  Mapping(Shortlists& lists, BranchShapes& shapes, MappingConfig config);

  // A part of a graph: what is between two of its operators, or before one, with that last one. Its other operators of the core may be
  // joined in any way.
  struct Part {
    BranchTree tree;
    std::vector<OperatorEdge> edges;
    std::optional<std::uint32_t> first;  // an operator; it is no part of the costs
    std::uint32_t last = 0;
  };
  [[nodiscard]] BranchCosts costs(const Part& part, DeviceBlock block);
  // Where the operators of the part run when its ends run as these choices say. By number; also of the ends.
  [[nodiscard]] std::vector<Placed> place(const Part& part, DeviceBlock block, std::uint32_t first_choice, std::uint32_t last_choice);
  // Asks about the movements between placed operators.
  // Returns: whether any was not known before; costs are then to be asked again.
  bool resolve(const Part& part, const std::vector<Placed>& placed);
  // The number of a placed operator's strategy among all of its kind on the block.
  [[nodiscard]] std::uint32_t strategy(KindNumber kind, const Placed& placed) {
    return shortlist(kind, placed.block).strategies[placed.choice];
  }
  [[nodiscard]] bool runs_side_by_side() const { return config_.side_by_side; }
  [[nodiscard]] const Shortlist& shortlist(KindNumber kind, DeviceBlock block) { return lists_.of(kind, alike(block)); }

 private:
  struct End {
    KindNumber kind = kSource;  // kSource: there is none
    DeviceBlock block;
  };
  struct Ends {
    End first, second;
  };
  using Key = std::tuple<std::uint32_t, DeviceBlock, DeviceBlock, DeviceBlock>;  // a shape; the blocks of a branch and of its ends
  using Costs = std::shared_ptr<const BranchCosts>;
  // Branches that follow each other on a block, or run side by side on its two parts.
  struct Option {
    Costs first, second;
    bool is_side_by_side = false;
    DeviceBlock first_block, second_block;
    std::size_t cut = 1;  // how many branches are the first
  };

  [[nodiscard]] DeviceBlock alike(DeviceBlock b) const { return lists_.catalog().alike(b); }
  [[nodiscard]] std::size_t choices(const End& end) { return end.kind == kSource ? 1 : shortlist(end.kind, end.block).strategies.size(); }
  [[nodiscard]] Costs branch(const BranchTree& tree, BranchRef r, DeviceBlock block, const Ends& ends);
  [[nodiscard]] BranchCosts computed(const BranchTree& tree, const Branch& b, DeviceBlock block, const Ends& ends);
  [[nodiscard]] BranchCosts series(const BranchTree& tree, const Branch& b, DeviceBlock block, const Ends& ends);
  [[nodiscard]] Costs side_by_side(const BranchTree& tree, const std::vector<BranchRef>& parts, DeviceBlock block, const Ends& ends);
  void for_each_option(const BranchTree& tree, const std::vector<BranchRef>& parts, DeviceBlock block, const Ends& ends,
                       const std::function<void(const Option&)>& look);
  [[nodiscard]] std::vector<int> cuts(const BranchTree& tree, const std::vector<BranchRef>& first, const std::vector<BranchRef>& second,
                                      DeviceBlock block);
  [[nodiscard]] bool can_use(const BranchTree& tree, const std::vector<BranchRef>& parts, int devices);
  // A block that was admitted stays so, so that whoever assigns finds all that was costed.
  [[nodiscard]] bool is_admitted(DeviceBlock block);
  // Operators of a branch that have work for this many devices.
  struct Use {
    int weighty = 0, weighty_that_can = 0, others_that_can = 0;
  };
  [[nodiscard]] Use use_of(const BranchTree& tree, BranchRef r, int devices);
  [[nodiscard]] std::vector<double> own(const BranchTree& tree, std::uint32_t centre, const std::vector<BranchRef>& hanging,
                                        DeviceBlock block, std::vector<std::uint32_t>& edges);

  // `at`: where the ends run. Fills in `placed`.
  struct Cell {
    std::uint32_t row = 0, column = 0;
  };
  void assign(const BranchTree& tree, BranchRef r, DeviceBlock block, const Ends& ends, Cell at, std::vector<Placed>& placed);
  void assign_series(const BranchTree& tree, const Branch& b, DeviceBlock block, const Ends& ends, Cell at, std::vector<Placed>& placed);
  void assign_side_by_side(const BranchTree& tree, const std::vector<BranchRef>& parts, DeviceBlock block, const Ends& ends, Cell at,
                           std::vector<Placed>& placed);

  [[nodiscard]] ChoiceProblem core_problem(const Part& part, DeviceBlock block, std::vector<std::uint32_t>& edges);

  Shortlists& lists_;
  BranchShapes& shapes_;
  MappingConfig config_;
  int machine_;  // devices of a machine
  std::map<Key, Costs> known_;
  std::map<std::pair<std::uint32_t, int>, Use> uses_;  // by shape
  std::set<DeviceBlock> admitted_;
};

}  // namespace search
