// What a layer of latent attention takes of each device. Hidden h, H heads, queries and keys of n numbers of their own and r shared ones,
// values of v; ranks q and c. Weights of attention: h q + q of its norm, q H (n + r); h (c + r), c of its norm, c H (n + v); H v h. A plain
// MLP has 8 h^2, two norms 2 h. Tensor parallelism divides what makes heads or reads them, and the MLP: every rank has the down-projections
// whole. Kept per token for the backward pass, in numbers of 2 bytes:
//   norm 1 reads h, the down-projections read h        2 h      norm 2 and the MLP's product likewise      2 h
//   norms of the ranks read q + c, up-projections too  2 (q + c)
//   queries H (n + r), keys and values laid out H (n + r + v), the output H v
//   up gives 4 h, its activation 4 h                   8 h
#include <doctest/doctest.h>

#include "planning.hpp"
#include "sim/memory/memory.hpp"
#include "tests/about.hpp"

namespace {

constexpr std::int64_t kLatentHidden = 512, kLatentHeads = 8, kOwn = 32, kShared = 16, kValue = 24, kQueryRank = 192, kKeyRank = 128;
constexpr std::int64_t kLatentSequence = 256, kLatentBatch = 4;

pcg::Graph latent(std::int64_t layers) {
  pcg::models::TransformerConfig c;
  c.layers = layers;
  c.hidden = kLatentHidden;
  c.heads = kLatentHeads;
  c.head_dim = kOwn;
  c.vocab = 1024;
  c.sequence_length = kLatentSequence;
  c.positions = -1;
  c.rope = c.rms_norm = true;
  c.biases = false;
  c.query_rank = kQueryRank;
  c.kv_rank = kKeyRank;
  c.rope_dim = kShared;
  c.value_dim = kValue;
  return pcg::models::transformer(c, kLatentBatch);
}

struct LayerBytes {
  double weights = 0, activations = 0;
};

// One layer is what two more layers add, halved, so embedding and head cancel out.
LayerBytes layer_of(const search::GridConfig& grid) {
  const auto cluster = test::dgx_a100(1, grid.tensor * grid.context);
  const auto plan = [&](std::int64_t layers) {
    return test::megatron(latent(layers), test::megatron_training(kLatentBatch), grid, cluster);
  };
  const pcg::Plan four = plan(4), two = plan(2);
  return {(sim::memory_of(four, cluster).weights - sim::memory_of(two, cluster).weights).value() / 2,
          (test::kept_bytes(four, cluster) - test::kept_bytes(two, cluster)) / 2};
}

constexpr double kPositions = kLatentSequence * kLatentBatch;
constexpr double kRanks = kQueryRank + kKeyRank;
constexpr double kInner = kLatentHeads * ((kOwn + kShared) + (kOwn + kShared + kValue) + kValue) + 8 * kLatentHidden;

double weights(int tensor) {
  const double whole = kLatentHidden * (kQueryRank + kKeyRank + kShared) + kRanks + 2 * kLatentHidden;
  const double cut = kQueryRank * kLatentHeads * (kOwn + kShared) + kKeyRank * kLatentHeads * (kOwn + kValue) +
                     kLatentHeads * kValue * kLatentHidden + 8 * kLatentHidden * kLatentHidden;
  return 2 * (whole + cut / tensor);
}

}  // namespace

TEST_CASE("tensor parallelism divides the heads of latent attention, not its down-projections") {
  for (const int t : {1, 2, 4}) {
    const LayerBytes layer = layer_of({.tensor = t});
    CHECK(layer.weights == test::about(weights(t)));
    CHECK(layer.activations == test::about(2 * kPositions * (4 * kLatentHidden + 2 * kRanks + kInner / t)));
  }
}

TEST_CASE("sequence parallelism divides the ranks of latent attention, too, and context parallelism all that is kept") {
  for (const int t : {2, 4}) {
    const double divided = 2 * kPositions * (4 * kLatentHidden + 2 * kRanks + kInner) / t;
    const LayerBytes sequence = layer_of({.tensor = t, .sequence_parallel = true});
    CHECK(sequence.weights == test::about(weights(t)));
    CHECK(sequence.activations == test::about(divided));
    CHECK(layer_of({.context = t}).activations == test::about(divided));
  }
}
