#include "search/solve/mapping/segments.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace search {
namespace {

// The cheapest variant for each choice of a link's two ends.
struct LinkCosts : PairCosts {
  std::vector<std::uint32_t> variant;
};

LinkCosts costs_of(Mapping& mapping, const Link& link, DeviceBlock block) {
  LinkCosts costs{mapping.costs(*link[0], block), {}};
  costs.variant.assign(costs.seconds.size(), 0);
  for (std::uint32_t v = 1; v < link.size(); ++v) {
    const BranchCosts c = mapping.costs(*link[v], block);
    for (std::size_t i = 0; i < c.seconds.size(); ++i)
      if (c.seconds[i] < costs.seconds[i]) {
        costs.seconds[i] = c.seconds[i];
        costs.variant[i] = v;
      }
  }
  return costs;
}

// One round, with the movements that are known.
PlacedChain placed_now(Mapping& mapping, const std::vector<Link>& links, DeviceBlock block) {
  std::map<Link, LinkCosts> known;
  std::vector<const LinkCosts*> costs;
  std::vector<ChainStep> steps{ChainStep{{0.0}}};
  for (const Link& link : links) {
    const auto [at, is_new] = known.try_emplace(link);
    if (is_new) at->second = costs_of(mapping, link, block);
    steps.push_back(chain_step(steps.back().seconds, *costs.emplace_back(&at->second)));
  }
  const std::vector<double>& whole = steps.back().seconds;
  PlacedChain chain{std::vector<PlacedLink>(links.size()), *std::ranges::min_element(whole)};
  auto last = static_cast<std::uint32_t>(std::ranges::min_element(whole) - whole.begin());
  for (std::size_t l = links.size(); l-- > 0;) {
    const std::uint32_t first = steps[l + 1].came_from[last];
    PlacedLink& link = chain.links[l];
    link.variant = costs[l]->variant[first * costs[l]->columns + last];
    link.placed = mapping.place(*links[l][link.variant], block, first, last);
    last = first;
  }
  return chain;
}

constexpr int kFewOthers = 2;  // operators after a bottleneck that do not depend on it

// The farthest operator that reads any output, by node; 0: none does.
std::vector<std::uint32_t> farthest_readers(const pcg::Graph& graph) {
  std::vector<std::uint32_t> farthest(graph.nodes().size(), 0);
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n)
    for (const pcg::GraphTensorRef t : graph.nodes()[n].inputs) farthest[t.node.value] = std::max(farthest[t.node.value], n);
  return farthest;
}

std::vector<std::uint32_t> operators_of(const pcg::Graph& graph) {
  std::vector<std::uint32_t> operators;
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n)
    if (!is_source(graph.nodes()[n])) operators.push_back(n);
  return operators;
}

int operators_that_do_not_need(const pcg::Graph& graph, std::uint32_t bottleneck) {
  std::vector<bool> needs(graph.nodes().size(), false);
  needs[bottleneck] = true;
  int others = 0;
  for (std::uint32_t n = bottleneck + 1; n < needs.size(); ++n) {
    if (is_source(graph.nodes()[n])) continue;
    needs[n] = std::ranges::any_of(graph.nodes()[n].inputs, [&](pcg::GraphTensorRef t) { return needs[t.node.value]; });
    others += needs[n] ? 0 : 1;
  }
  return others;
}

}  // namespace

ChainStep chain_step(const std::vector<double>& before, const PairCosts& costs) {
  ChainStep s{std::vector<double>(costs.columns, std::numeric_limits<double>::infinity()), std::vector<std::uint32_t>(costs.columns, 0)};
  for (std::uint32_t r = 0; r < costs.rows; ++r)
    for (std::size_t c = 0; c < costs.columns; ++c) {
      const double sum = before[r] + costs.at(r, c);
      if (sum >= s.seconds[c]) continue;
      s.seconds[c] = sum;
      s.came_from[c] = r;
    }
  return s;
}

std::optional<PlacedChain> place_chain(Mapping& mapping, const std::vector<Link>& links, DeviceBlock block, const Budget& budget) {
  while (!budget.time_is_up()) {
    PlacedChain chain = placed_now(mapping, links, block);
    bool is_new = false;
    for (std::size_t l = 0; l < links.size(); ++l)
      is_new = mapping.resolve(*links[l][chain.links[l].variant], chain.links[l].placed) || is_new;
    if (!is_new) return chain;
  }
  return std::nullopt;
}

std::vector<std::uint32_t> bottlenecks(const pcg::Graph& graph) {
  // A bottleneck is read last by operators of its own, and none before it reaches beyond it.
  const std::vector<std::uint32_t> farthest = farthest_readers(graph), operators = operators_of(graph);
  std::vector<std::uint32_t> found;
  std::uint32_t reach = 0;
  const std::uint32_t last = operators.empty() ? 0 : operators.back();
  for (const std::uint32_t n : operators) {
    if (n == last) break;
    const pcg::GraphNode& node = graph.nodes()[n];
    if (reach <= n && farthest[n] > n && node.outputs.size() == 1 && operators_that_do_not_need(graph, n) <= kFewOthers) found.push_back(n);
    // A tensor without reader is a result: it ends after all others.
    reach = std::max(reach, farthest[n] > n ? farthest[n] : last + 1);
  }
  return found;
}

std::vector<std::uint32_t> ends_of_blocks(const pcg::Graph& graph) {
  const std::vector<std::uint32_t> farthest = farthest_readers(graph), operators = operators_of(graph);
  std::vector<std::uint32_t> found;
  for (std::size_t o = 0; o + 1 < operators.size(); ++o) {
    const pcg::GraphNode& node = graph.nodes()[operators[o]];
    if (node.block != graph.nodes()[operators[o + 1]].block && node.outputs.size() == 1 && farthest[operators[o]] > operators[o])
      found.push_back(operators[o]);
  }
  return found;
}

std::vector<Segment> segments_of(const pcg::Graph& graph, const std::vector<std::uint32_t>& cuts, std::size_t fewest,
                                 const std::vector<std::size_t>& disturbance) {
  const std::vector<std::uint32_t> operators = operators_of(graph);
  std::vector<Segment> segments;
  std::size_t begin = 0;
  const auto finish = [&](std::size_t end) {  // position after the last operator
    Segment s{{operators.begin() + static_cast<std::ptrdiff_t>(begin), operators.begin() + static_cast<std::ptrdiff_t>(end)},
              {},
              operators[end - 1]};
    if (!segments.empty()) s.first = segments.back().last;
    segments.push_back(std::move(s));
    begin = end;
  };
  while (fewest > 0) {
    std::optional<std::size_t> best;
    for (std::size_t p = begin + fewest - 1; p + fewest < operators.size(); ++p) {
      if (best && p >= begin + 2 * fewest) break;
      if (!std::ranges::binary_search(cuts, operators[p])) continue;
      if (!best || disturbance[operators[p]] < disturbance[operators[*best]]) best = p;
    }
    if (!best) break;
    finish(*best + 1);
  }
  finish(operators.size());
  return segments;
}

Mapping::Part part_of(const pcg::Graph& graph, const Segment& segment, const std::vector<KindNumber>& kinds, const OperatorCatalog& catalog,
                      BranchShapes& shapes) {
  Mapping::Part part;
  std::map<std::uint32_t, std::uint32_t> number;
  std::vector<KindNumber> of_operator;
  const auto add = [&](std::uint32_t node) {
    number[node] = static_cast<std::uint32_t>(of_operator.size());
    of_operator.push_back(kinds[node]);
  };
  for (const std::uint32_t n : segment.operators) add(n);
  part.last = number.at(segment.last);
  std::vector<std::uint32_t> ends{part.last};
  if (segment.first) {
    add(*segment.first);
    part.first = number.at(*segment.first);
    ends.push_back(*part.first);
  }
  for (const std::uint32_t n : segment.operators)
    for (std::uint32_t i = 0; i < graph.nodes()[n].inputs.size(); ++i)
      if (const auto from = number.find(graph.nodes()[n].inputs[i].node.value); from != number.end())
        if (const auto edge = catalog.edge_at(graph, kinds, n, i)) part.edges.push_back({from->second, number.at(n), *edge});
  part.tree = branch_tree(std::move(of_operator), part.edges, ends, shapes);
  return part;
}

}  // namespace search
