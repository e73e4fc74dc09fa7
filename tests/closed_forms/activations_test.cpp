// Activation memory of a transformer layer against Korthikanti et al., arXiv 2205.05198, Table 2 (bytes, half precision, dropout on):
//   tensor parallel t                    s b h (10 + 24/t + 5 a s / (h t))
//   tensor and sequence parallel         s b h / t (34 + 5 a s / h)
//   tensor, sequence, selective          34 s b h / t
//   full recomputation                   2 s b h
// One layer is what two more layers add, halved, so embedding and head cancel out.
#include <doctest/doctest.h>

#include "planning.hpp"
#include "sim/memory/memory.hpp"
#include "tests/about.hpp"

namespace {

double layer_bytes(const search::GridConfig& config, int gpus, test::Shape two = {}) {
  const auto cluster = test::dgx_a100(1, gpus);
  test::Shape four = two;
  four.layers = 4;
  const auto kept = [&](const test::Shape& s) { return test::kept_bytes(test::megatron(s, config, cluster), cluster); };
  return (kept(four) - kept(two)) / 2;
}

const double sbh = static_cast<double>(test::kShape.sequence * test::kShape.batch * test::kShape.hidden);
const double as_h = static_cast<double>(test::kShape.heads * test::kShape.sequence) / static_cast<double>(test::kShape.hidden);

search::GridConfig config(int tensor, bool sequence_parallel, pcg::Recompute recompute) {
  search::GridConfig c;
  c.tensor = tensor;
  c.sequence_parallel = sequence_parallel;
  c.recompute = recompute;
  return c;
}

}  // namespace

TEST_CASE("a layer on one device keeps s b h (34 + 5 a s / h)") {
  CHECK(layer_bytes(config(1, false, pcg::Recompute::none), 1) == test::about(sbh * (34 + 5 * as_h), 0.002));
}

TEST_CASE("tensor parallelism divides all but 10 s b h") {
  for (int t : {2, 4, 8})
    CHECK(layer_bytes(config(t, false, pcg::Recompute::none), t) == test::about(sbh * (10 + 24.0 / t + 5 * as_h / t), 0.002));
}

TEST_CASE("sequence parallelism divides the rest") {
  for (int t : {2, 4, 8}) CHECK(layer_bytes(config(t, true, pcg::Recompute::none), t) == test::about(sbh / t * (34 + 5 * as_h), 0.002));
}

TEST_CASE("selective recomputation drops the scores") {
  for (int t : {1, 4}) CHECK(layer_bytes(config(t, t > 1, pcg::Recompute::selective), t) == test::about(34 * sbh / t, 0.002));
}

TEST_CASE("full recomputation keeps a layer's input") {
  CHECK(layer_bytes(config(1, false, pcg::Recompute::full), 1) == test::about(2 * sbh));
  CHECK(layer_bytes(config(4, false, pcg::Recompute::full), 4) == test::about(2 * sbh));
}

TEST_CASE("the paper's models keep the shares of figure 7") {
  // Of what tensor parallelism of 8 keeps alone: with sequence parallelism, with selective recomputation, with both, recomputed in full.
  struct Row {
    std::int64_t hidden, heads;
    double sequence, selective, both, full;
  };
  for (const Row& r : {Row{6144, 64, 66.84, 49.42, 16.18, 7.64}, Row{12288, 96, 62.04, 56.53, 18.49, 8.71},
                       Row{20480, 128, 58.31, 62.04, 20.27, 9.42}, Row{25600, 160, 58.31, 62.04, 20.27, 9.42}}) {
    const test::Shape shape{.hidden = r.hidden, .heads = r.heads, .sequence = 2048, .batch = 1};
    using enum pcg::Recompute;
    const double whole = layer_bytes(config(8, false, none), 8, shape);
    const auto share = [&](bool sequence, pcg::Recompute recompute) {
      return 100 * layer_bytes(config(8, sequence, recompute), 8, shape) / whole;
    };
    CHECK(share(true, none) == test::about(r.sequence, 0.006));
    CHECK(share(false, selective) == test::about(r.selective, 0.006));
    CHECK(share(true, selective) == test::about(r.both, 0.006));
    CHECK(share(false, full) == test::about(r.full, 0.012));
  }
}

TEST_CASE("a module that is recomputed keeps what comes into it, and nothing for those behind it") {
  // The terms of section 4.1, in s b h: norms read 4 and make the inputs of QKV and of the MLP, 2 + 2; core attention has the scores and
  // makes the projection's input, 2; GELU reads 8 and makes 8; the mask of the MLP's dropout is 1.
  const auto kept = [&](std::vector<pcg::Module> modules) {
    search::GridConfig c = config(1, false, pcg::Recompute::none);
    c.memory.recomputed.modules = std::move(modules);
    return layer_bytes(c, 1) / sbh;
  };
  using enum pcg::Module;
  const double scores = 5 * as_h;
  CHECK(kept({norm}) == test::about(34 + scores - 4, 0.002));
  CHECK(kept({mlp}) == test::about(34 + scores - 17, 0.002));
  CHECK(kept({activation}) == test::about(34 + scores - 8, 0.002));
  CHECK(kept({attention}) == test::about(34 - 2, 0.002));
  CHECK(kept({attention, norm, mlp}) == test::about(34 - 2 - 4 - 17, 0.002));
}

TEST_CASE("what activation functions read is kept in a byte per number where the plan says so") {
  // GELU reads 4 s b h numbers, which take 8 s b h bytes as they are.
  search::GridConfig c = config(1, false, pcg::Recompute::none);
  c.memory.fp8_activation_inputs = true;
  CHECK(layer_bytes(c, 1) / sbh == test::about(34 + 5 * as_h - 4, 0.002));
  c.memory.recomputed.modules = {pcg::Module::activation};
  CHECK(layer_bytes(c, 1) / sbh == test::about(34 + 5 * as_h - 8 - 4, 0.002));
}

TEST_CASE("so many blocks of a stage keep their inputs, the others everything") {
  // Of four layers, two keep 2 s b h; layer_bytes() is half of what four layers have more than two.
  search::GridConfig c = config(1, false, pcg::Recompute::full);
  c.memory.recomputed.blocks = 2;
  CHECK(layer_bytes(c, 1) == test::about(sbh * (34 + 5 * as_h), 0.002));
  c.memory.recomputed.blocks = 4;
  CHECK(layer_bytes(c, 1) == test::about(2 * sbh));
}

TEST_CASE("the blocks that are listed keep their inputs, the others everything") {
  // Blocks are embedding, layers and head: the third layer of four is listed, which the model of two does not have.
  search::GridConfig c = config(1, false, pcg::Recompute::full);
  c.memory.recomputed.only = {3};
  CHECK(layer_bytes(c, 1) == test::about(sbh * (34 + 5 * as_h + 2) / 2, 0.002));
}

TEST_CASE("1F1B keeps as many micro-batches in flight as stages are to come") {
  // The first of p stages holds p micro-batches of L/p layers: as much as all L layers of one micro-batch (section 4.2.3). GPipe holds all
  // m.
  const auto cluster = test::dgx_a100(1, 4);
  test::Shape s;
  s.layers = 8;
  s.batch = 32;
  s.vocabulary = 128;  // so that the last stage, with the head, is not much larger
  search::GridConfig c = config(1, false, pcg::Recompute::none);
  c.pipeline = 4;
  c.micro_batch = 4;
  const auto first_stage = [&](pcg::ScheduleKind kind) {
    c.schedule = kind;
    return sim::memory_of(test::megatron(s, c, cluster), cluster).activations.value();
  };
  const double layer = sbh * (34 + 5 * as_h);  // of one micro-batch of four samples
  const double one_f_one_b = first_stage(pcg::ScheduleKind::one_f_one_b), gpipe = first_stage(pcg::ScheduleKind::gpipe);
  CHECK(one_f_one_b / layer == test::about(8, 0.05));  // the embedding's dropout mask comes on top
  CHECK(gpipe / layer == test::about(2 * 8, 0.06));    // of the last stage: head included
}
