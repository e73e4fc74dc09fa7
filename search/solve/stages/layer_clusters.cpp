#include "search/solve/stages/stage_parts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace search {
namespace {

constexpr double kNoLayers = std::numeric_limits<double>::infinity();
constexpr double kSumRounding = 1 + 1e-12;  // sums of FLOPs in another order

// The cost of layers begin .. end - 1; kNoLayers: they are no layer.
using ClusterCost = std::function<double(std::size_t begin, std::size_t end)>;
using JoinCosts = double (*)(double, double);

struct Clustered {
  double cost = kNoLayers;
  std::vector<std::size_t> ends;
};

double larger_of(double a, double b) { return std::max(a, b); }
double sum_of(double a, double b) { return a + b; }

// The partition into exactly this many layers whose joined cost is the least.
Clustered least_clusters(std::size_t count, std::size_t layers, const ClusterCost& cost, JoinCosts join) {
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

}  // namespace

// Three dynamic programmes one after another: the sum of squares of two prefixes may only be compared where their largest cuts are equally
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
  return least_clusters(chain.size(), layers, square, sum_of).ends;
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

}  // namespace search
