// Clipping by the norm of all gradients: each device reads the gradients that it updates, and those that hold the model between them
// all-reduce one number of 4 bytes, before the update. A ring of n devices sends 2 (n-1) of it.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/yaml/parse.hpp"
#include "planning.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/kernels/optimizer_kernels.hpp"
#include "sim/memory/model_states.hpp"
#include "tests/about.hpp"

namespace {

sim::SimulationResult clipped(const search::GridConfig& config, bool clip, std::int64_t experts = 0) {
  pcg::models::TransformerConfig t;
  t.layers = 2;
  t.hidden = 512;
  t.heads = 8;
  t.vocab = 1024;
  t.sequence_length = 256;
  t.experts = experts;
  t.dropout = 0;
  pcg::TrainingConfig training = test::megatron_training(8);
  training.clip_gradients = clip;
  sim::SimulationConfig ring;
  ring.collectives.algorithm = sim::Algorithm::ring;
  ring.trace = true;
  const auto cluster = test::dgx_a100(1, 4);
  return sim::simulate_plan(test::megatron(pcg::models::transformer(t, 8), training, config, cluster), cluster, ring);
}

// What the norm adds to what is all-reduced.
double added_bytes(const search::GridConfig& config, std::int64_t experts = 0) {
  const auto all_reduced = [&](bool clip) {
    const auto bytes = clipped(config, clip, experts).bytes.by_collective;
    return bytes.contains("all_reduce") ? bytes.at("all_reduce").value() : 0.0;
  };
  return all_reduced(true) - all_reduced(false);
}

}  // namespace

TEST_CASE("the devices that hold the model between them all-reduce the norm") {
  CHECK(added_bytes({}) == 0);                         // each replica has all gradients
  CHECK(added_bytes({.tensor = 2}) == 2 * (2 * 4));    // two pairs
  CHECK(added_bytes({.pipeline = 2}) == 2 * (2 * 4));  // two pipelines of two stages
  CHECK(added_bytes({.zero = 1}) == 2 * (2 * 4 * 2));  // shards of one copy
  CHECK(added_bytes({.zero = 3}) == 2 * (2 * 4 * 2));
  CHECK(added_bytes({.zero = 1, .shard = 2}) == 2 * (2 * 4));  // two copies
  CHECK(added_bytes({.tensor = 2, .zero = 1}) == 2 * (2 * 4 * 2));
  CHECK(added_bytes({.expert = 2}, 4) == 2 * (2 * 4));  // experts of two ranks are one copy
  CHECK(added_bytes({.expert = 4}, 4) == 2 * (2 * 4 * 2));
}

TEST_CASE("sums in steps of prime factors reach everyone") {
  using base::DeviceId;
  sim::SyncPattern all;
  all.groups.emplace_back();
  for (std::size_t d = 0; d < 12; ++d) all.groups.back().emplace_back(10 + d);
  std::map<DeviceId, double> sums;
  for (const DeviceId d : all.groups[0]) sums[d] = static_cast<double>(1 << (d.value - 10));
  const auto steps = sim::steps_of_sum(all);
  CHECK(steps.size() == 3);  // 12 = 2 x 2 x 3
  for (const sim::SyncPattern& step : steps)
    for (const auto& group : step.groups) {
      double sum = 0;
      for (const DeviceId d : group) sum += sums.at(d);
      for (const DeviceId d : group) sums[d] = sum;
    }
  for (const auto& [device, sum] : sums) CHECK(sum == (1 << 12) - 1);
}

TEST_CASE("the norm and its all-reduce stand before the update, with nothing beside them") {
  const auto with = clipped({.zero = 1}, true), without = clipped({.zero = 1}, false);
  double norm = 0, update = 1e9, end = 0;
  for (const sim::Span& s : with.spans) {
    if (s.device != 0) continue;
    if (s.name.find("gradient norm") != std::string::npos) {
      norm += s.duration.value();
      end = std::max(end, (s.start + s.duration).value());
    } else if (s.stream == "compute" && s.name.find("update") != std::string::npos) {
      update = std::min(update, s.start.value());
    }
  }
  CHECK(norm > 0);
  CHECK(update >= end);
  // Hosts that are late make up for it while the norm runs, so that it costs an iteration no more than its own time, and most of that.
  const double longer = (with.iteration_time - without.iteration_time).value();
  CHECK(longer <= norm * (1 + 1e-9));
  CHECK(longer > norm / 2);
}

TEST_CASE("a device reads the gradients that it updates once") {
  pcg::Plan plan;
  plan.training = test::megatron_training(8);
  const pcg::Kernel k = sim::gradient_norm_kernel(plan, profiles::framework_profile(pcg::Framework::megatron), 1e6);
  CHECK(k.bytes.value() == 2e6);  // of 2 B
  plan.training.fp32_gradients = true;
  CHECK(sim::gradient_norm_kernel(plan, profiles::framework_profile(pcg::Framework::megatron), 1e6).bytes.value() == 4e6);
}
