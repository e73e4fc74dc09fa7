// What lies in the hosts' memory: bytes that leave a device, and the time that copies and hosts take.
#include <doctest/doctest.h>

#include "planning.hpp"
#include "profiles/device_profile.hpp"
#include "sim/kernels/cost_table.hpp"
#include "sim/memory/memory.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

search::GridConfig offloading(bool activations, bool optimizer) {
  search::GridConfig c;
  c.memory.offload = {.activations = activations, .optimizer = optimizer};
  return c;
}

topology::Cluster with_host_links(const std::string& bandwidth) {
  const std::string text = "{preset: dgx-a100-80gb, node.gpus.count: 1, links.pcie.bandwidth: " + bandwidth + "}";
  return topology::load_cluster(topology::expand_cluster(base::parse_yaml(text, "test"), "cluster"), "cluster");
}

sim::MemoryUse memory_with(std::int64_t layers, const search::GridConfig& c) {
  test::Shape s;
  s.layers = layers;
  const auto cluster = test::dgx_a100(1, 1);
  return sim::memory_of(test::megatron(s, c, cluster), cluster);
}

double seconds_with(const search::GridConfig& c, const topology::Cluster& cluster, std::int64_t layers = test::kShape.layers) {
  test::Shape s;
  s.layers = layers;
  pcg::TrainingConfig training = test::megatron_training(s.batch);
  training.framework = pcg::Framework::generic;  // whose hosts take no time of their own for a step
  return sim::simulate_plan(test::megatron(test::gpt(s), training, c, cluster), cluster, {}).iteration_time.value();
}

search::GridConfig offloading_layers(int layers) {
  search::GridConfig c = offloading(true, false);
  c.memory.offload.blocks = layers;
  return c;
}

// What a layer keeps.
double kept_by_layer() { return memory_with(7, {}).activations.value() - memory_with(6, {}).activations.value(); }

}  // namespace

TEST_CASE("activations of all layers but the last leave, and two of them are on their way") {
  const sim::MemoryUse whole = memory_with(6, {}), offloaded = memory_with(6, offloading(true, false));
  CHECK((whole.activations - offloaded.activations).value() == test::about(5 * kept_by_layer()));
  CHECK((offloaded.workspace - whole.workspace).value() == test::about(2 * kept_by_layer()));
  CHECK(offloaded.optimizer == whole.optimizer);
}

TEST_CASE("slow links: every layer but the last goes there and comes back, one after another") {
  const double bytes = 5 * kept_by_layer();
  const double slow = seconds_with(offloading(true, false), with_host_links("10 MB/s"), 6),
               slower = seconds_with(offloading(true, false), with_host_links("5 MB/s"), 6);
  CHECK(slower - slow == test::about(2 * bytes * (1 / 5e6 - 1 / 10e6)));
}

TEST_CASE("links that are quick enough hide all copies") {
  const double with = seconds_with(offloading(true, false), with_host_links("100 TB/s"), 6),
               without = seconds_with({}, with_host_links("100 TB/s"), 6);
  CHECK(with == test::about(without, 0.001));
}

TEST_CASE("activations of the first two layers leave, and no others") {
  const sim::MemoryUse whole = memory_with(6, {}), offloaded = memory_with(6, offloading_layers(2));
  CHECK((whole.activations - offloaded.activations).value() == test::about(2 * kept_by_layer()));
  const double slow = seconds_with(offloading_layers(2), with_host_links("10 MB/s"), 6),
               slower = seconds_with(offloading_layers(2), with_host_links("5 MB/s"), 6);
  CHECK(slower - slow == test::about(2 * 2 * kept_by_layer() * (1 / 5e6 - 1 / 10e6)));
}

TEST_CASE("copies of two layers have the time of six, those of all layers have not") {
  const double without = seconds_with({}, with_host_links("100 TB/s"), 6);
  // A copy takes as long as 2.5 forward passes of a layer, each a third of its share of the iteration.
  const double per_second = kept_by_layer() / (2.5 * without / 3 / 6);
  const auto cluster = with_host_links(std::to_string(per_second / 1e9) + " GB/s");
  // Two copies out and two back are there for 4 x 2.5 / 18 of the iteration. Kernels beside a copy take 1.13 times as long (the profile of
  // A100, overlap_slowdown), and no copy is waited for.
  const double beside = 4 * 2.5 / 18, slowdown = profiles::device_profile("a100-sxm-80gb").overlap_slowdown;
  const double with = seconds_with(offloading_layers(2), cluster, 6);
  CHECK(with > without);
  CHECK(with <= without * (1 + beside * (1 - 1 / slowdown)));
  CHECK(seconds_with(offloading(true, false), cluster, 6) > 1.2 * without);
}

TEST_CASE("offloaded optimizer states are updated by the host: 12 bytes a parameter leave, gradients go there and weights come back") {
  const sim::MemoryUse whole = memory_with(2, {}), offloaded = memory_with(2, offloading(false, true));
  CHECK(whole.optimizer.value() > 0);
  CHECK(offloaded.optimizer.value() == 0);
  CHECK(offloaded.weights == whole.weights);
  CHECK(offloaded.activations == whole.activations);
  // 2 bytes of each: fp16 weights.
  const double parameters = whole.weights.value() / 2;
  const auto quick = with_host_links("100 TB/s");
  const double on_host = seconds_with(offloading(false, true), quick), on_device = seconds_with({}, quick);
  CHECK(on_host - on_device < parameters * sim::kHostUpdate.value());
  CHECK(on_host - on_device > 0.9 * parameters * sim::kHostUpdate.value());
  // Slow links: gradients of all blocks go one after another, and the last block's weights come back when the rest has.
  const double slow = seconds_with(offloading(false, true), with_host_links("10 MB/s")),
               slower = seconds_with(offloading(false, true), with_host_links("5 MB/s"));
  const double gradients = whole.gradients.value();
  CHECK(slower - slow >= gradients * (1 / 5e6 - 1 / 10e6));
  CHECK(slower - slow <= (gradients + whole.weights.value()) * (1 / 5e6 - 1 / 10e6));
}

TEST_CASE("hosts of devices that share out the optimizer's states update their shares") {
  // One CPU has two replicas' devices: it updates all parameters for each of them, or (ZeRO-1) half for each. The devices' own updates,
  // which the difference takes off, are less than a tenth of it.
  const std::string text = "{preset: dgx-a100-80gb, node.gpus.count: 2, links.pcie.bandwidth: 100 TB/s}";
  const auto quick = topology::load_cluster(topology::expand_cluster(base::parse_yaml(text, "test"), "cluster"), "cluster");
  const double parameters = memory_with(2, {}).weights.value() / 2;  // of 2 bytes
  for (const int zero : {0, 1}) {
    search::GridConfig c = offloading(false, true);
    c.data = 2, c.zero = zero;
    search::GridConfig on_device = c;
    on_device.memory.offload = {};
    const double updating = seconds_with(c, quick) - seconds_with(on_device, quick), shares = zero == 0 ? 1 : 2;
    CHECK(updating < 2 * parameters / shares * sim::kHostUpdate.value());
    CHECK(updating > 0.9 * 2 * parameters / shares * sim::kHostUpdate.value());
  }
}
