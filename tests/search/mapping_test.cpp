// Where operators run: branches of a graph, what they cost, and the best of all placements.
#include "search/solve/mapping/mapping.hpp"
#include "base/random.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "problem.hpp"
#include "search/solve/mapping/segments.hpp"
#include "search/solve/memory_constrained/constrained_operators.hpp"
#include "tests/about.hpp"

namespace {

using search::BranchShapes;
using search::OperatorEdge;

const search::Budget& whenever() {
  static const search::SearchContext kContext;  // has no clock
  static const search::Budget kNever(kContext, base::Seconds(1));
  return kNever;
}

// So many operators of one kind, joined by edges of one kind.
search::BranchTree tree_of(std::size_t operators, const std::vector<std::pair<int, int>>& edges, const std::vector<std::uint32_t>& ends,
                           BranchShapes& shapes) {
  std::vector<OperatorEdge> list;
  for (const auto& [from, to] : edges) list.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), {}});
  return search::branch_tree(std::vector<search::KindNumber>(operators, 0), list, ends, shapes);
}

std::size_t groups_of(const search::BranchTree& tree, search::Flow flow) {
  return static_cast<std::size_t>(std::ranges::count_if(
      tree.branches, [&](const search::Branch& b) { return b.form == search::Branch::Form::group && b.flow == flow; }));
}

// A few layers one after another and beside each other: every operator reads one or two tensors that are there, all of one shape.
pcg::Graph random_graph(const std::vector<int>& choices) {
  pcg::GraphBuilder g("random");
  std::vector<pcg::GraphTensorRef> there{g.input("x", {{8, 4}, pcg::Element::real})};
  std::vector<bool> is_read{true};
  const auto pick = [&](int c) { return static_cast<std::size_t>(c) % there.size(); };
  const auto add = [&](pcg::GraphTensorRef t) {
    there.push_back(t);
    is_read.push_back(false);
  };
  for (std::size_t i = 0; i + 1 < choices.size(); i += 2) {
    const std::size_t a = pick(choices[i]), b = pick(choices[i + 1]);
    const std::string name = fmt::format("o{}", i / 2);
    is_read[a] = true;
    if (choices[i] % 3 == 0) add(g.add(name, pcg::Linear{.out = 4}, {there[a]}));
    else if (choices[i] % 3 == 1 || a == b) add(g.add(name, pcg::Unary{pcg::Unary::Kind::relu}, {there[a]}));
    else {
      is_read[b] = true;
      add(g.add(name, pcg::Binary{pcg::Binary::Kind::add}, {there[a], there[b]}));
    }
  }
  return std::move(g).build();
}

// A layer on x and one on y, added.
pcg::Graph two_towers() {
  pcg::GraphBuilder g("towers");
  const auto x = g.input("x", {{8, 64}, pcg::Element::real}), y = g.input("y", {{8, 64}, pcg::Element::real});
  const auto a = g.add("a", pcg::Linear{.out = 128}, {x}), b = g.add("b", pcg::Linear{.out = 128}, {y});
  g.add("sum", pcg::Binary{pcg::Binary::Kind::add}, {a, b});
  return std::move(g).build();
}

struct Placing {
  const search::Problem problem;
  search::OperatorCatalog catalog;
  BranchShapes shapes;
  search::Objective objective{0.7, 0};

  explicit Placing(const test::Question& q) : problem(q.problem()), catalog(problem, 2) {}

  // The graph in segments of so many operators, mapped to all devices; branches go side by side on the first `blocks` that they come to.
  search::PlacedChain place(const pcg::Graph& graph, std::size_t segment, bool side_by_side, std::size_t most = 1000,
                            std::size_t blocks = SIZE_MAX) {
    const auto kinds = catalog.kinds_of(graph);
    std::vector<search::Mapping::Part> parts;
    for (const search::Segment& s :
         search::segments_of(graph, search::bottlenecks(graph), segment, std::vector<std::size_t>(graph.nodes().size(), 0)))
      parts.push_back(search::part_of(graph, s, kinds, catalog, shapes));
    std::vector<search::Link> links;
    for (const search::Mapping::Part& p : parts) links.push_back({&p});
    search::Shortlists lists(catalog, objective, most);
    search::Mapping mapping(lists, shapes, {.side_by_side = side_by_side, .has_time = [&] { return blocks > 0 && blocks-- > 0; }});
    return search::place_chain(mapping, links, {0, problem.cluster.device_count()}, whenever()).value();
  }
};

}  // namespace

TEST_CASE("a fork and a join hold their branches") {
  BranchShapes shapes;
  // 0 forks into 1 - 2, 3 and 4, which 5 joins.
  const search::BranchTree tree = tree_of(6, {{0, 1}, {1, 2}, {2, 5}, {0, 3}, {3, 5}, {0, 4}, {4, 5}}, {0, 5}, shapes);
  CHECK(std::ranges::equal(tree.core, std::vector<std::uint32_t>{0, 5}));
  REQUIRE(tree.between.size() == 1);
  const search::Branch& group = tree.branches[tree.between.begin()->second.branch];
  REQUIRE(group.form == search::Branch::Form::group);
  CHECK(group.flow == search::Flow::forward);
  REQUIRE(group.parts.size() == 3);
  std::vector<std::uint32_t> part_shapes;
  for (const search::BranchRef r : group.parts) part_shapes.push_back(tree.branches[r.branch].shape);
  std::ranges::sort(part_shapes);
  CHECK(std::ranges::unique(part_shapes).size() == 1);  // two of three branches are alike
}

TEST_CASE("towers hang on what joins them") {
  BranchShapes shapes;
  const search::BranchTree tree = tree_of(5, {{0, 1}, {1, 4}, {2, 3}, {3, 4}}, {4}, shapes);
  CHECK(std::ranges::equal(tree.core, std::vector<std::uint32_t>{4}));
  REQUIRE(tree.hanging[4].size() == 1);
  const std::vector<search::BranchRef>& towers = tree.branches[tree.hanging[4][0].branch].parts;
  REQUIRE(towers.size() == 2);
  CHECK(tree.branches[towers[0].branch].shape == tree.branches[towers[1].branch].shape);
}

TEST_CASE("what is not series-parallel stays as the core") {
  BranchShapes shapes;
  // A bridge between two branches: 1 - 2.
  const search::BranchTree tree = tree_of(4, {{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}}, {0, 3}, shapes);
  CHECK(tree.core.size() == 4);
  CHECK(groups_of(tree, search::Flow::forward) == 0);
}

TEST_CASE("the dynamic program finds what elimination finds, and so what trying all would") {
  const test::Question q(test::kSmallGpt, 2, 2, 8);
  Placing placing(q);
  CHECK(rc::check([&](std::uint64_t seed) {
    base::Random random(seed);
    std::vector<int> choices(12);  // six operators
    for (int& c : choices) c = static_cast<int>(random.below(12));
    const pcg::Graph graph = random_graph(choices);
    search::Shortlists lists(placing.catalog, placing.objective, 1000, search::Shortlists::kAnyCuts, {}, true);
    search::ConstrainedOperators operators(lists, {0, 4}, placing.objective);
    operators.add(graph, placing.catalog.kinds_of(graph));
    const search::ConstrainedChoice wanted = operators.cheapest(1e30, whenever());
    RC_ASSERT(!wanted.choice.empty());
    const double whole = placing.place(graph, 0, false).seconds, split = placing.place(graph, 1, false).seconds;
    RC_ASSERT(std::abs(whole - wanted.seconds) <= 1e-9 * wanted.seconds);
    RC_ASSERT(std::abs(split - wanted.seconds) <= 1e-9 * wanted.seconds);
    // Side by side is one choice more.
    const double beside = placing.place(graph, 0, true).seconds;
    RC_ASSERT(beside <= wanted.seconds * (1 + 1e-9));
    // With time for some blocks alone, something between the two.
    const double some = placing.place(graph, 0, true, 1000, random.below(4)).seconds;
    RC_ASSERT(some >= beside * (1 - 1e-9));
    RC_ASSERT(some <= wanted.seconds * (1 + 1e-9));
  }));
}

TEST_CASE("two towers run side by side where the longer one ends before both would in sequence: all placements tried") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  Placing placing(q);
  const pcg::Graph graph = two_towers();
  const auto kinds = placing.catalog.kinds_of(graph);
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t n = 0; n < kinds.size(); ++n)
    if (kinds[n] != search::kSource) nodes.push_back(n);
  REQUIRE(nodes.size() == 3);
  const std::uint32_t sum = nodes[2];
  const auto tower = [&](int which, search::DeviceBlock block, std::uint32_t way_of_sum) {
    const std::uint32_t n = nodes[static_cast<std::size_t>(which)];
    const search::StrategyTable &mine = placing.catalog.table(kinds[n], block), &to = placing.catalog.table(kinds[sum], {0, 4});
    const auto edge = placing.catalog.edge_at(graph, kinds, sum, static_cast<std::uint32_t>(which)).value();
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t w = 0; w < mine.costs.size(); ++w)
      best = std::min(best, search::seconds_of(mine.costs[w], placing.objective) +
                                placing.catalog.movement(edge, mine.layouts[w], to.layouts[way_of_sum]));
    return best;
  };
  double sequence = std::numeric_limits<double>::infinity(), beside = sequence;
  const search::StrategyTable& table = placing.catalog.table(kinds[sum], {0, 4});
  for (std::uint32_t w = 0; w < table.costs.size(); ++w) {
    const double last = search::seconds_of(table.costs[w], placing.objective);
    sequence = std::min(sequence, last + tower(0, {0, 4}, w) + tower(1, {0, 4}, w));
    for (int cut = 1; cut < 4; ++cut) beside = std::min(beside, last + std::max(tower(0, {0, cut}, w), tower(1, {cut, 4 - cut}, w)));
  }
  CHECK(beside < sequence);
  CHECK(placing.place(graph, 0, false).seconds == test::about(sequence));
  CHECK(placing.place(graph, 0, true).seconds == test::about(std::min(sequence, beside)));
}

TEST_CASE("a graph is cut where every path goes through, not in front of a second tower") {
  pcg::GraphBuilder g("chain and towers");
  const auto x = g.input("x", {{8, 4}, pcg::Element::real}), y = g.input("y", {{8, 4}, pcg::Element::real});
  auto a = x, b = y;
  for (int i = 0; i < 3; ++i) a = g.add(fmt::format("a{}", i), pcg::Linear{.out = 4}, {a});
  for (int i = 0; i < 3; ++i) b = g.add(fmt::format("b{}", i), pcg::Linear{.out = 4}, {b});
  auto c = g.add("sum", pcg::Binary{pcg::Binary::Kind::add}, {a, b});
  for (int i = 0; i < 3; ++i) c = g.add(fmt::format("c{}", i), pcg::Linear{.out = 4}, {c});
  const pcg::Graph graph = std::move(g).build();
  std::vector<std::string> names;
  for (const std::uint32_t n : search::bottlenecks(graph)) names.push_back(graph.nodes()[n].name);
  CHECK(std::ranges::find(names, "a0") == names.end());
  CHECK(std::ranges::find(names, "sum") != names.end());
  CHECK(std::ranges::find(names, "c1") != names.end());
  const auto segments = search::segments_of(graph, search::bottlenecks(graph), 3, std::vector<std::size_t>(graph.nodes().size(), 0));
  std::size_t operators = 0;
  for (const search::Segment& s : segments) operators += s.operators.size();
  CHECK(operators == 10);
  CHECK(segments.size() > 1);
}
