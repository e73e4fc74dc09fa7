// Two solvers of the same chains of layers: dynamic programming (cheapest_chain()) and a mixed-integer linear programme by CBC. Prints a
// Markdown table.
//
//     chain_solvers [SECONDS [SEEDS]]     SECONDS: CBC's limit for a chain (20); SEEDS: chains of each size (3)

#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <functional>

#include "base/random.hpp"
#include "search/solve/layers/milp_chain.hpp"

namespace {

struct Size {
  std::size_t layers, strategies, stages;
  int micro_batches;
};

// A first, a last and equal layers between, in strategies of 0.9 to 1.6 times a layer's own time, with memory for 0.55 of what the largest
// take: so that most stages must give up time for memory.
search::LayerChain chain_of(const Size& size, std::uint64_t seed) {
  base::Random random(seed);
  const auto between = [&](double least, double most) { return least + (most - least) * random.uniform(); };
  const auto pairs = [&](double least, double most) {
    search::StrategyPairs p(size.strategies, std::vector<double>(size.strategies, 0.0));
    for (std::size_t a = 0; a < size.strategies; ++a)
      for (std::size_t b = 0; b < size.strategies; ++b)
        if (a != b) p[a][b] = between(least, most);
    return p;
  };
  search::LayerChain chain;
  chain.tables.resize(1);
  for (int kind = 0; kind < 3; ++kind) {
    search::LayerCost& cost = chain.tables[0].emplace_back();
    const double own = between(8, 12);
    for (std::size_t s = 0; s < size.strategies; ++s) {
      cost.seconds.push_back(own * between(0.9, 1.6));
      cost.bytes.push_back(between(0.2, 1));
    }
    cost.from_before = pairs(0.05, 1.5);
  }
  for (std::size_t l = 0; l < size.layers; ++l) chain.kinds.push_back(l == 0 ? 0 : l + 1 == size.layers ? 2 : 1);
  chain.table_of_stage.assign(size.stages, 0);
  for (std::size_t b = 0; b + 1 < size.stages; ++b) chain.transfers.push_back({pairs(0.5, 3), pairs(0.5, 3), pairs(0.5, 3)});
  chain.micro_batches = size.micro_batches;
  chain.memory = 0.55 * static_cast<double>(size.layers) / static_cast<double>(size.stages);
  return chain;
}

double seconds_of(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

std::string quotient(double a, double b) { return a < 1e300 && b < 1e300 ? fmt::format("{:.4f}", a / b) : "-"; }

void row(const Size& size, std::uint64_t seed, double limit) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const search::LayerChain chain = chain_of(size, seed);
  const search::SearchContext no_clock;
  const search::Budget budget(no_clock, base::Seconds(limit));
  std::optional<search::ChainAnswer> exact;
  search::MilpChain milp;
  const double exact_s = seconds_of([&] { exact = search::cheapest_chain(chain, kNone, budget); });
  const double milp_s = seconds_of([&] {
    milp = search::cheapest_chain_by_milp(chain, kNone, search::uniform_chain(chain), {.seconds = base::Seconds(limit)}, budget);
  });
  const double least = exact ? exact->seconds : kNone, found = milp.answer ? milp.answer->seconds : kNone;
  fmt::print("| {} | {} | {} | {} | {} | {:.1f} | {:.4g} ms | {:.4g} s | {:.0f} | {} | {} | {} |\n", size.layers, size.strategies,
             size.stages, size.micro_batches, seed, least, exact_s * 1e3, milp_s, milp_s / exact_s, quotient(found, least),
             quotient(milp.bound, least), milp.is_proved ? "yes" : "no");
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
  const double limit = count > 1 ? std::atof(words[1]) : 20;
  const int seeds = count > 2 ? std::atoi(words[2]) : 3;
  fmt::print(
      "| layers | strategies | stages | micro-batches | seed | optimum | exact | CBC | CBC / exact, time | CBC's answer / optimum | "
      "CBC's bound / optimum | proved |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
  for (const Size& size : {Size{18, 6, 2, 8}, Size{34, 6, 2, 8}, Size{34, 6, 4, 8}, Size{34, 10, 4, 16}})
    for (int seed = 1; seed <= seeds; ++seed) row(size, static_cast<std::uint64_t>(seed), limit);
}
