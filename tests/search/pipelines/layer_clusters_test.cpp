// Operators in a chain, clustered into layers.
#include "search/solve/stages/stage_parts.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace {

using Chain = std::vector<search::ChainOperator>;
using Ends = std::vector<std::size_t>;

double flops_between(const Chain& chain, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t o = begin; o < end; ++o) sum += chain[o].flops;
  return sum;
}

struct Figures {
  double largest_flops = 0, largest_cut = 0, squares = 0;
};

Figures figures(const Chain& chain, const Ends& ends) {
  Figures f;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    const double flops = flops_between(chain, begin, end);
    f.largest_flops = std::max(f.largest_flops, flops);
    f.squares += flops * flops;
    if (begin > 0) f.largest_cut = std::max(f.largest_cut, chain[begin - 1].bytes_on);
    begin = end;
  }
  return f;
}

// Every way to end so many layers.
std::vector<Ends> all_ends(std::size_t count, std::size_t layers) {
  std::vector<Ends> found;
  for (unsigned cuts = 0; cuts < 1U << (count - 1); ++cuts) {
    Ends ends;
    for (std::size_t c = 0; c + 1 < count; ++c)
      if ((cuts >> c & 1U) != 0) ends.push_back(c + 1);
    ends.push_back(count);
    if (ends.size() == layers) found.push_back(std::move(ends));
  }
  return found;
}

}  // namespace

TEST_CASE("layers are cut where little is handed on") {
  // Four operators of one FLOP: the even cut hands on 9 bytes, the others 1, and three FLOPs are no more than 1.5 times two.
  const Chain chain{{1, 1}, {1, 9}, {1, 1}, {1, 0}};
  CHECK(search::clustered_layers(chain, 2, 0.5) == Ends{1, 4});
  CHECK(search::clustered_layers(chain, 2, 0.1) == Ends{2, 4});
  CHECK(search::clustered_layers(chain, 1) == Ends{4});
  CHECK(search::clustered_layers(chain, 9) == Ends{1, 2, 3, 4});
}

TEST_CASE("of equal cuts the most even layers are taken") {
  const Chain chain{{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 0}};
  CHECK(search::clustered_layers(chain, 3) == Ends{2, 4, 6});
}

TEST_CASE("where no layers are balanced, the largest is as small as it can be") {
  // Two layers of 0.5 times 5 FLOPs more at most, but one operator has 9.
  CHECK(search::clustered_layers(Chain{{1, 7}, {9, 7}}, 2) == Ends{1, 2});
}

TEST_CASE("clustered layers are the best of all by brute force") {
  const bool ok = rc::check([] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 9);
    const auto layers = *rc::gen::inRange<std::size_t>(1, count + 1);
    const double imbalance = *rc::gen::element(0.0, 0.2, 0.5, 2.0);
    Chain chain;
    for (std::size_t o = 0; o < count; ++o)
      chain.push_back({static_cast<double>(*rc::gen::inRange(0, 8)), static_cast<double>(*rc::gen::inRange(0, 5))});
    const Ends ends = search::clustered_layers(chain, layers, imbalance);
    RC_ASSERT(ends.size() == layers);
    const std::vector<Ends> all = all_ends(count, layers);
    double most = (1 + imbalance) * flops_between(chain, 0, count) / static_cast<double>(layers);
    double smallest = std::numeric_limits<double>::infinity();
    for (const Ends& e : all) smallest = std::min(smallest, figures(chain, e).largest_flops);
    most = std::max(most, smallest) * (1 + 1e-9);
    std::tuple best{std::numeric_limits<double>::infinity(), 0.0};
    for (const Ends& e : all) {
      const Figures f = figures(chain, e);
      if (f.largest_flops <= most) best = std::min(best, std::tuple(f.largest_cut, f.squares));
    }
    const Figures mine = figures(chain, ends);
    RC_ASSERT(mine.largest_flops <= most);
    RC_ASSERT(std::tuple(mine.largest_cut, mine.squares) == best);
  });
  CHECK(ok);
}

TEST_CASE("equal layers have equally many operators as near as cuts allow") {
  const bool ok = rc::check([] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 30);
    const auto layers = *rc::gen::inRange<std::size_t>(1, count + 1);
    const Ends ends = search::equal_layers(Chain(count), layers);
    RC_ASSERT(ends.size() == layers);
    RC_ASSERT(ends.back() == count);
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      RC_ASSERT(end > begin);
      RC_ASSERT(end - begin <= (count + layers - 1) / layers + 1);
      begin = end;
    }
  });
  CHECK(ok);
  CHECK(search::equal_layers(Chain{{0, 0, 3}, {0, 0, 1}, {0, 0, 4}}, 2) == Ends{2, 3});
}
