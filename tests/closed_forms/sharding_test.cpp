// What sharding moves and keeps. D devices hold a weight, n neighbours shard it, g = D / n groups keep a copy each; a layer has W bytes of
// weights and G of gradients, and m micro-batches run. A ring sends (n-1)/n of what it gathers or scatters from each device, so (n-1) of it
// in each of g groups, and twice as much of what it all-reduces.
//   zero 3   gathers   2 m g (n-1) W    before each forward and each backward pass; m g (n-1) W where they are kept in between
//            scatters    m g (n-1) G    after each micro-batch; g (n-1) G where whole gradients are accumulated
//   zero 1   scatters      g (n-1) G    and gathers g (n-1) W: once per iteration
//   any      all-reduces   2 (g-1) G    shards of G/n among g copies, n times, once per iteration
#include <doctest/doctest.h>

#include "planning.hpp"
#include "sim/memory/memory.hpp"
#include "tests/about.hpp"

namespace {

constexpr double kShardedHidden = 512, kParameters = 12 * kShardedHidden * kShardedHidden + 13 * kShardedHidden;  // of a layer
constexpr double kWeights = 2 * kParameters, kGradients = 2 * kParameters;                                        // bytes in half precision
constexpr int kHolders = 8;                                                                                       // two nodes of four GPUs

sim::SimulationResult simulated(const search::GridConfig& config, std::int64_t layers, std::int64_t samples) {
  test::Shape shape;
  shape.layers = layers;
  shape.batch = samples;
  const auto cluster = test::dgx_a100(2, 4);
  sim::SimulationConfig ring;  // closed forms are of the ring: other algorithms move other bytes
  ring.collectives.algorithm = sim::Algorithm::ring;
  return sim::simulate_plan(test::megatron(shape, config, cluster), cluster, ring);
}

struct Traffic {
  double gathers, scatters, all_reduces, between_nodes;
};

// Of one layer: what two more layers add, halved.
Traffic traffic(search::GridConfig config, int micro_batches = 1) {
  config.micro_batch = 1;
  const std::int64_t samples = kHolders * micro_batches / config.tensor / config.context;
  const auto few = simulated(config, 2, samples).bytes, many = simulated(config, 4, samples).bytes;
  const auto of = [](const std::map<std::string, base::Bytes>& by_word, const char* word) {
    return by_word.contains(word) ? by_word.at(word).value() : 0.0;
  };
  const auto added = [&](const char* collective) { return (of(many.by_collective, collective) - of(few.by_collective, collective)) / 2; };
  return {added("all_gather"), added("reduce_scatter"), added("all_reduce"),
          (of(many.by_link, "infiniband") - of(few.by_link, "infiniband")) / 2};
}

void check(const Traffic& found, const Traffic& right) {
  CHECK(found.gathers == test::about(right.gathers));
  CHECK(found.scatters == test::about(right.scatters));
  CHECK(found.all_reduces == test::about(right.all_reduces));
  CHECK(found.between_nodes == test::about(right.between_nodes));
}

search::GridConfig hybrid(int zero, int shard) {
  search::GridConfig c;
  c.zero = zero;
  c.shard = shard;
  return c;
}

}  // namespace

TEST_CASE("full sharding: rings of eight cross from node to node on two of their eight wires") {
  const double gathered = 2 * 7 * kWeights, scattered = 7 * kGradients;
  check(traffic(hybrid(3, 0)), {gathered, scattered, 0, (gathered + scattered) * 2 / 8});
  check(traffic(hybrid(3, 8)), {gathered, scattered, 0, (gathered + scattered) * 2 / 8});
}

TEST_CASE("hybrid sharding in nodes: gathers and scatters stay there, shards of gradients alone go between them, once per iteration") {
  for (const int m : {1, 2})  // groups of four, two of them
    check(traffic(hybrid(3, 4), m), {2 * m * 2 * 3 * kWeights, m * 2 * 3 * kGradients, 2 * kGradients, 2 * kGradients});
}

TEST_CASE("hybrid sharding of optimizer state alone: once per iteration, for any number of micro-batches") {
  for (const int m : {1, 3}) check(traffic(hybrid(1, 4), m), {2 * 3 * kWeights, 2 * 3 * kGradients, 2 * kGradients, 2 * kGradients});
}

TEST_CASE("groups of two in nodes: their four copies are added up in rings of four") {
  // 2 (4-1) G in all; a ring of four copies, two in each node, crosses on two of its four wires.
  check(traffic(hybrid(3, 2)), {2 * 4 * kWeights, 4 * kGradients, 6 * kGradients, 3 * kGradients});
}

TEST_CASE("groups of one device share out nothing: gradients are all-reduced whole, once per iteration") {
  const Traffic t = traffic(hybrid(3, 1), 2);
  CHECK(t.gathers == 0);
  CHECK(t.scatters == 0);
  CHECK(t.all_reduces == test::about(2 * 7 * kGradients));
}

TEST_CASE("whole gradients that are accumulated are scattered once; weights that are kept are gathered once per micro-batch") {
  search::GridConfig c = hybrid(3, 0);
  c.memory.zero.accumulates = true;
  CHECK(traffic(c, 2).scatters == test::about(7 * kGradients));
  CHECK(traffic(c, 2).gathers == test::about(2 * 2 * 7 * kWeights));
  c.memory.zero = {.keeps_weights = true};
  CHECK(traffic(c, 2).scatters == test::about(2 * 7 * kGradients));
  CHECK(traffic(c, 2).gathers == test::about(2 * 7 * kWeights));
}

TEST_CASE("sharding beside tensor parallelism: what a tensor rank holds is shared out among the others") {
  // Tensor ranks cut 12 h^2 + 7 h parameters; norms and the biases of sums, 6 h, are whole on each.
  search::GridConfig c = hybrid(3, 0);
  c.tensor = 2;
  const double held = 2 * (kParameters + 6 * kShardedHidden);  // bytes, by both tensor ranks
  CHECK(traffic(c).scatters == test::about(3 * held));
  c.shard = 2;
  CHECK(traffic(c).scatters == test::about(2 * held));
}

TEST_CASE("a device keeps 1/n of what is sharded, however many groups there are") {
  const auto cluster = test::dgx_a100(2, 4);
  const auto kept = [&](const search::GridConfig& c) { return sim::memory_of(test::megatron({.batch = 8}, c, cluster), cluster); };
  const double parameters = static_cast<double>(test::gpt(test::kShape).parameters());
  search::GridConfig context = hybrid(3, 4);  // context ranks hold all weights, and share them out as replicas do
  context.context = 2;
  CHECK(kept(context).weights.value() == test::about(2 * parameters / 4));
  const sim::MemoryUse whole = kept(hybrid(3, 0)), node = kept(hybrid(3, 4)), state = kept(hybrid(1, 2));
  CHECK(whole.weights.value() == test::about(2 * parameters / 8));
  CHECK(node.weights.value() == test::about(2 * parameters / 4));
  CHECK(node.gradients.value() == test::about(2 * parameters / 4));
  CHECK(node.optimizer.value() == test::about(12 * parameters / 4));  // the fp32 copy of gradients is not there between updates
  CHECK(state.weights.value() == test::about(2 * parameters));
  CHECK(state.optimizer.value() == test::about(12 * parameters / 2));
}

TEST_CASE("what does not come out even is refused") {
  const auto cluster = test::dgx_a100(2, 4);
  const base::Yaml section;
  const sim::Oracle oracle(cluster);
  const pcg::Graph model = test::gpt({.batch = 8});
  const pcg::TrainingConfig training = test::megatron_training(8);
  const auto refusal = [&](const search::GridConfig& c) { return search::grid_plan({model, section, cluster, training, oracle}, c, "x"); };
  CHECK(refusal(hybrid(3, 3)).refusal().why == "the 8 devices of data and context do not divide into groups of 3 that shard");
  search::GridConfig experts = hybrid(1, 2);
  experts.expert = 4;
  CHECK(refusal(experts).refusal().why == "the 2 devices that hold an expert do not divide into 4 groups that shard");
}
