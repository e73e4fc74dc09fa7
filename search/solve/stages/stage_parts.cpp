#include "search/solve/stages/stage_parts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <set>

#include "pcg/work/work.hpp"
#include "search/solve/operators/operator_catalog.hpp"

namespace search {
namespace {

constexpr double kNoLayers = std::numeric_limits<double>::infinity();
constexpr double kSumRounding = 1 + 1e-12;  // sums of FLOPs in another order
constexpr auto larger_of = [](double a, double b) { return std::max(a, b); };

struct Clustered {
  double cost = kNoLayers;
  std::vector<std::size_t> ends;
};

// The partition into exactly this many layers whose joined cost is the least. `cost` is of layers begin .. end - 1; kNoLayers: they are
// none.
template <class Cost, class Join>
Clustered least_clusters(std::size_t count, std::size_t layers, const Cost& cost, const Join& join) {
  std::vector<std::vector<double>> best(layers + 1, std::vector<double>(count + 1, kNoLayers));
  std::vector<std::vector<std::size_t>> begins(layers + 1, std::vector<std::size_t>(count + 1, 0));
  best[0][0] = 0;
  for (std::size_t l = 1; l <= layers; ++l)
    for (std::size_t end = l; end <= count; ++end)
      for (std::size_t begin = l - 1; begin < end; ++begin) {
        if (best[l - 1][begin] == kNoLayers) continue;
        const double all = join(best[l - 1][begin], cost(begin, end));
        if (all >= best[l][end]) continue;
        best[l][end] = all;
        begins[l][end] = begin;
      }
  Clustered p{best[layers][count], {}};
  if (p.cost == kNoLayers) return p;
  for (std::size_t l = layers, end = count; l > 0; end = begins[l][end], --l) p.ends.push_back(end);
  std::ranges::reverse(p.ends);
  return p;
}

constexpr std::size_t kMostParts = 64;

std::vector<Segment> segments(const pcg::Graph& graph, PartEnds ends, std::size_t fewest) {
  std::vector<std::uint32_t> cuts = bottlenecks(graph);
  if (ends == PartEnds::blocks) {
    std::vector<std::uint32_t> both;
    std::ranges::set_union(cuts, ends_of_blocks(graph), std::back_inserter(both));
    cuts = std::move(both);
  }
  return segments_of(graph, cuts, fewest, std::vector<std::size_t>(graph.nodes().size(), 0));
}

// Bytes that are made up to this operator and read after it.
double bytes_across(const pcg::Graph& graph, pcg::Precision precision, std::uint32_t last) {
  std::set<pcg::GraphTensorRef> crossing;
  for (std::uint32_t n = last + 1; n < graph.nodes().size(); ++n)
    for (const pcg::GraphTensorRef t : graph.nodes()[n].inputs)
      if (t.node.value <= last && !is_source(graph.nodes()[t.node.value])) crossing.insert(t);
  double bytes = 0;
  for (const pcg::GraphTensorRef t : crossing) bytes += pcg::bytes_of(graph.shape(t), precision).value();
  return bytes;
}

ChainOperator chain_operator(const pcg::Graph& graph, pcg::Precision precision, const Segment& s) {
  ChainOperator o{.bytes_on = bytes_across(graph, precision, s.last), .operators = s.operators.size()};
  for (const std::uint32_t n : s.operators) {
    const pcg::GraphNode& node = graph.nodes()[n];
    o.flops += pcg::model_flops(node.op, graph.input_shapes(pcg::GraphNodeId(n)), node.outputs).value();
  }
  return o;
}

// The segments up to each end joined into one.
std::vector<Segment> joined(const std::vector<Segment>& finest, const std::vector<std::size_t>& ends) {
  std::vector<Segment> parts;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    Segment part{{}, finest[begin].first, finest[end - 1].last};
    for (; begin < end; ++begin)
      part.operators.insert(part.operators.end(), finest[begin].operators.begin(), finest[begin].operators.end());
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

// Three dynamic programs one after another: the sum of squares of two prefixes may only be compared where their largest cuts are equally
// good in the end, which is known when the best largest cut is.
std::vector<std::size_t> clustered_layers(std::span<const ChainOperator> chain, std::size_t layers, double imbalance) {
  layers = std::min(layers, chain.size());
  std::vector<double> before{0};
  for (const ChainOperator& o : chain) before.push_back(before.back() + o.flops);
  const auto flops = [&](std::size_t begin, std::size_t end) { return before[end] - before[begin]; };
  const double most = kSumRounding * std::max((1 + imbalance) * before.back() / static_cast<double>(layers),
                                              least_clusters(chain.size(), layers, flops, larger_of).cost);
  const auto received = [&](std::size_t begin, std::size_t end) {
    return flops(begin, end) > most ? kNoLayers : begin == 0 ? 0 : chain[begin - 1].bytes_on;
  };
  const double bytes = least_clusters(chain.size(), layers, received, larger_of).cost;
  const auto square = [&](std::size_t begin, std::size_t end) {
    return received(begin, end) > bytes ? kNoLayers : flops(begin, end) * flops(begin, end);
  };
  return least_clusters(chain.size(), layers, square, std::plus<>()).ends;
}

std::vector<std::size_t> equal_layers(std::span<const ChainOperator> chain, std::size_t layers) {
  layers = std::min(layers, chain.size());
  std::vector<double> before{0};
  for (const ChainOperator& o : chain) before.push_back(before.back() + static_cast<double>(o.operators));
  std::vector<std::size_t> ends;
  for (std::size_t l = 1; l <= layers; ++l) {
    const double share = before.back() * static_cast<double>(l) / static_cast<double>(layers);
    const std::size_t first = ends.empty() ? 1 : ends.back() + 1, last = chain.size() - (layers - l);
    std::size_t nearest = first;
    for (std::size_t end = first; end <= last; ++end)
      if (std::abs(before[end] - share) < std::abs(before[nearest] - share)) nearest = end;
    ends.push_back(nearest);
  }
  ends.back() = chain.size();
  return ends;
}

std::vector<Segment> stage_parts(const pcg::Graph& graph, pcg::Precision precision, const PartsConfig& config, PartEnds ends) {
  if (config.by == Clustering::segments) {
    const auto operators =
        static_cast<std::size_t>(std::ranges::count_if(graph.nodes(), [](const pcg::GraphNode& n) { return !is_source(n); }));
    const std::size_t for_every_stage = std::max<std::size_t>(1, operators / (4 * kMostStages));
    return segments(graph, ends, std::max(operators / kMostParts, std::min(std::max<std::size_t>(1, config.fewest), for_every_stage)));
  }
  const std::vector<Segment> finest = segments(graph, ends, 1);
  std::vector<ChainOperator> chain;
  for (const Segment& s : finest) chain.push_back(chain_operator(graph, precision, s));
  return joined(finest,
                config.by == Clustering::equal_operators ? equal_layers(chain, config.layers) : clustered_layers(chain, config.layers));
}

}  // namespace search
