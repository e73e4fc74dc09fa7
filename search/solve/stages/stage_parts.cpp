#include "search/solve/stages/stage_parts.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "pcg/work/work.hpp"
#include "search/solve/operators/operator_catalog.hpp"

namespace search {
namespace {

constexpr std::size_t kMostParts = 64;

std::vector<Segment> segments(const pcg::Graph& graph, PartEnds ends, std::size_t fewest) {
  std::vector<std::uint32_t> cuts = bottlenecks(graph);
  if (ends == PartEnds::blocks) {
    std::vector<std::uint32_t> both;
    std::ranges::set_union(cuts, ends_of_blocks(graph), std::back_inserter(both));
    cuts = std::move(both);
  }
  return segments_between(graph, cuts, fewest, std::vector<std::size_t>(graph.nodes().size(), 0));
}

// Bytes that are made up to this operator and read after it.
double bytes_across(const pcg::Graph& graph, pcg::Precision precision, std::uint32_t last) {
  std::set<pcg::GraphTensorRef> crossing;
  for (std::uint32_t n = last + 1; n < graph.nodes().size(); ++n)
    for (const pcg::GraphTensorRef t : graph.nodes()[n].inputs)
      if (t.node.value <= last && !is_source(graph.nodes()[t.node.value])) crossing.insert(t);
  double bytes = 0;
  for (const pcg::GraphTensorRef t : crossing)
    bytes += static_cast<double>(graph.shape(t).elements()) * pcg::element_bytes(graph.shape(t).element, precision).value();
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
