// What recomputation costs, against the forward passes that it repeats.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "pcg/plan/recomputed_units.hpp"
#include "planning.hpp"
#include "sim/oracle.hpp"
#include "tests/about.hpp"

namespace {

using pcg::Module;

// Seconds of kernels, and bytes that collectives move, of two layers on `tensor` devices.
sim::SimulationResult simulated(int tensor, pcg::Recompute word, pcg::RecomputedParts parts) {
  const auto cluster = test::dgx_a100(1, tensor);
  test::Shape shape;
  search::GridConfig c;
  c.tensor = tensor;
  c.sequence_parallel = tensor > 1;
  c.recompute = word;
  c.memory.recomputed = std::move(parts);
  return sim::Oracle(cluster).plan(test::megatron(shape, c, cluster));
}

double kernels(std::vector<Module> modules) {
  return simulated(1, pcg::Recompute::none, {0, std::move(modules)}).breakdown.compute.value();
}

}  // namespace

TEST_CASE("modules that are recomputed together cost what they cost one by one") {
  const double none = kernels({}), more_attention = kernels({Module::attention}) - none, more_norm = kernels({Module::norm}) - none,
               more_mlp = kernels({Module::mlp}) - none;
  CHECK(more_attention > 0);
  CHECK(more_norm > 0);
  CHECK(more_mlp > more_norm);
  CHECK(kernels({Module::attention, Module::norm, Module::mlp}) - none == test::about(more_attention + more_norm + more_mlp));
  // A whole layer has the projections and residuals besides.
  CHECK(simulated(1, pcg::Recompute::full, {}).breakdown.compute.value() - none > more_attention + more_norm + more_mlp);
}

TEST_CASE("a part that a model has not is said to change nothing") {
  const auto notes_of = [](Module m) { return simulated(1, pcg::Recompute::none, {0, {m}}).notes; };
  CHECK(std::ranges::count(notes_of(Module::moe), base::Fact("recomputed-part-missing", "moe")) == 1);
  CHECK(std::ranges::count(notes_of(Module::mlp), "recomputed-part-missing", &base::Fact::code) == 0);
}

TEST_CASE("one of two layers costs half of both") {
  const double none = kernels({}), both = simulated(1, pcg::Recompute::full, {}).breakdown.compute.value() - none;
  CHECK(simulated(1, pcg::Recompute::full, {1, {}}).breakdown.compute.value() - none == test::about(both / 2));
  CHECK(simulated(1, pcg::Recompute::full, {2, {}}).breakdown.compute.value() - none == test::about(both));
}

TEST_CASE("a block that stops early when it is computed again leaves out its last product and what is behind it") {
  const auto cluster = test::dgx_a100(1, 1);
  const pcg::Plan plan = test::megatron(test::Shape{.dropout = 0}, {.recompute = pcg::Recompute::full}, cluster);
  const auto units_of = [](const pcg::Plan& p) {
    std::vector<std::uint32_t> all(p.pcg.nodes().size());
    std::iota(all.begin(), all.end(), 0U);
    return pcg::recomputed_units(p, pcg::Recompute::full, all);
  };
  const std::vector<pcg::RecomputedUnit> units = units_of(plan);
  CHECK(units.size() == 2);
  for (const pcg::RecomputedUnit& unit : units) {
    CHECK(pcg::run_again(plan, unit, false).size() == unit.nodes.size());
    const auto again = pcg::run_again(plan, unit, true);
    CHECK(again.size() + 2 == unit.nodes.size());
    CHECK(plan.pcg.nodes()[unit.nodes[again.size()]].name.ends_with("mlp.down"));
  }
  // A mask of dropout behind the last product has to be made again, and the product before it.
  const pcg::Plan dropped = test::megatron(test::Shape{.dropout = 0.1}, {.recompute = pcg::Recompute::full}, cluster);
  const pcg::RecomputedUnit first = units_of(dropped).front();
  const auto again = pcg::run_again(dropped, first, true);
  CHECK(std::ranges::any_of(again, [&](std::uint32_t n) { return dropped.pcg.nodes()[n].name.ends_with("mlp.down"); }));
}

TEST_CASE("under sequence parallelism a recomputed MLP gathers its input once more") {
  // An all-gather among t ranks moves t - 1 shards to each of them: (t - 1) x s b h x 2 bytes in all, in each of two layers.
  const int t = 4;
  const auto gathered = [&](std::vector<Module> modules) {
    const sim::SimulationResult r = simulated(t, pcg::Recompute::none, {0, std::move(modules)});
    return r.bytes.by_collective.at("all_gather").value();
  };
  const double sbh = static_cast<double>(test::kShape.sequence * test::kShape.batch * test::kShape.hidden);
  CHECK(gathered({Module::mlp}) - gathered({}) == test::about(2 * (t - 1) * sbh * 2));
}
