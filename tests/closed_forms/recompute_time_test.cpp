// What recomputation costs, against the forward passes that it repeats.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "planning.hpp"
#include "sim/oracle.hpp"

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
  CHECK(kernels({Module::attention, Module::norm, Module::mlp}) - none == doctest::Approx(more_attention + more_norm + more_mlp));
  // A whole layer has the projections and residuals besides.
  CHECK(simulated(1, pcg::Recompute::full, {}).breakdown.compute.value() - none > more_attention + more_norm + more_mlp);
}

TEST_CASE("a part that a model has not is said to change nothing") {
  const auto notes_of = [](Module m) { return simulated(1, pcg::Recompute::none, {0, {m}}).notes; };
  const std::string said = "recompute: moe changes nothing, because no layer of this model has such a part";
  CHECK(std::ranges::count(notes_of(Module::moe), said, &base::Note::text) == 1);
  CHECK(std::ranges::count(notes_of(Module::mlp), said, &base::Note::text) == 0);
}

TEST_CASE("one of two layers costs half of both") {
  const double none = kernels({}), both = simulated(1, pcg::Recompute::full, {}).breakdown.compute.value() - none;
  CHECK(simulated(1, pcg::Recompute::full, {1, {}}).breakdown.compute.value() - none == doctest::Approx(both / 2));
  CHECK(simulated(1, pcg::Recompute::full, {2, {}}).breakdown.compute.value() - none == doctest::Approx(both));
}

TEST_CASE("under sequence parallelism a recomputed MLP gathers its input once more") {
  // An all-gather among t ranks moves t - 1 shards to each of them: (t - 1) x s b h x 2 bytes in all, in each of two layers.
  const int t = 4;
  const auto gathered = [&](std::vector<Module> modules) {
    const sim::SimulationResult r = simulated(t, pcg::Recompute::none, {0, std::move(modules)});
    return r.bytes.by_collective.at("all_gather").value();
  };
  const double sbh = static_cast<double>(test::kShape.sequence * test::kShape.batch * test::kShape.hidden);
  CHECK(gathered({Module::mlp}) - gathered({}) == doctest::Approx(2 * (t - 1) * sbh * 2));
}
