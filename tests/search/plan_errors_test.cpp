// What cannot be planned is said in one sentence with the numbers.
#include <doctest/doctest.h>

#include "problem.hpp"
#include "search/grid/layout.hpp"

namespace {

std::string error_of(const test::Question& q, search::GridConfig c) { return test::plan_error(search::megatron_plan(q.problem(), c)); }

}  // namespace

TEST_CASE("degrees must cover the devices") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  CHECK(error_of(q, {.tensor = 3}) == "4 devices do not divide by tensor 3 x pipeline 1 x context 1");
  CHECK(error_of(q, {.tensor = 2, .data = 4}) == "tensor 2 x pipeline 1 x context 1 x data 4 is 8, and the cluster has 4 devices");
  CHECK(error_of(q, {.tensor = 1, .data = 2}) == "tensor 1 x pipeline 1 x context 1 x data 2 is 2, and the cluster has 4 devices");
}

TEST_CASE("batches must divide") {
  const test::Question q(test::kSmallGpt, 1, 4, 6);
  CHECK(error_of(q, {}) == "a global batch of 6 does not divide among 4 data-parallel replicas");
  CHECK(error_of(q, {.tensor = 2, .micro_batch = 2}) ==
        "a global batch of 6 gives each of 2 replicas 3 samples, which do not divide into micro-batches of 2");
  const test::Question huge(test::kSmallGpt, 1, 4, std::int64_t{1} << 40);
  CHECK(error_of(huge, {.tensor = 2, .micro_batch = 1}) ==
        "549755813888 samples of a replica in micro-batches of 1 are 549755813888 micro-batches, more than 1048576");
  CHECK(test::plan_error(search::data_parallel_plan(q.problem())) == "a global batch of 6 does not divide among 4 data-parallel replicas");
}

TEST_CASE("layers, heads, sequences and experts must divide, and be there") {
  const test::Question q(test::kSmallGpt, 1, 8, 8);
  CHECK(error_of(q, {.pipeline = 8}) == "2 layers do not fill 8 stages");
  CHECK(error_of(q, {.pipeline = 4, .layers_per_stage = {1, 0, 0, 1}}) ==
        "layers_per_stage leaves stage 1 without a layer: only the first may hold the embedding alone, and the last the head");
  CHECK(error_of(q, {.pipeline = 2, .layers_per_stage = {1, 2}}) == "layers_per_stage adds up to 3 layers, transformer has 2");
  CHECK(error_of(q, {.pipeline = 2, .layers_per_stage = {2}}) == "layers_per_stage lists 1 stages, there are 2");
  CHECK(error_of(q, {.tensor = 8}) == "layer0.attention.core: 4 attention heads do not divide by tensor 8");
  CHECK(error_of(q, {.expert = 2}) == "transformer has no experts to share among expert 2");
  const test::Question odd("{transformer: {layers: 2, hidden: 64, heads: 4, vocab: 96, sequence_length: 15}}", 1, 8, 8);
  CHECK(error_of(odd, {.context = 2}) == "a sequence of 15 does not divide by context 2");
  CHECK(error_of(odd, {.tensor = 2, .sequence_parallel = true}) == "a sequence of 15 does not divide by context 1 x tensor 2");
  // 2 of 6 experts for each of 16 tokens: ceil(2 x 16 / 6) = 6 places; of 8 places 7.5 x 6 / (2 x 16) = 1.406 times as many. Plans of a
  // grid round them up, layouts of a graph as it is do not.
  const auto uneven = [](const char* more) {
    const test::Question moe(
        fmt::format("{{transformer: {{layers: 2, hidden: 64, heads: 4, vocab: 96, sequence_length: 16, experts: 6{}}}}}", more), 1, 4, 8);
    const auto grid = search::make_grid({.context = 4}, 4, 8);
    REQUIRE(grid);
    const auto found = search::layouts(moe.model, *grid, std::vector<int>(moe.model.blocks().size(), 0));
    return found ? "" : found.refusal().why;
  };
  CHECK(uneven("") ==
        "layer0.moe.dispatch: the 6 places of a sample at each expert do not divide by context 4; capacity_factor 1.406 gives 8");
  CHECK(uneven(", capacity_factor: 1.406") == "");
  const test::Question mlp("{builtin: mlp-mnist}", 1, 2, 8);
  CHECK(error_of(mlp, {.context = 2}) == "mlp-mnist has no sequence to share among context 2");
  CHECK(error_of(mlp, {.pipeline = 3}) == "2 devices do not divide by tensor 1 x pipeline 3 x context 1");
}

TEST_CASE("other schedules have theirs") {
  using enum pcg::ScheduleKind;
  const test::Question q(test::kSmallGpt, 1, 2, 3);
  CHECK(error_of(q, {.pipeline = 2, .schedule = dual_pipe}) ==
        "a global batch of 3 does not divide among 1 data-parallel replicas of two directions");
  CHECK(error_of(q, {.pipeline = 2, .micro_batch = 3, .schedule = two_bw}) ==
        "2bw wants at least as many micro-batches as stages: there are 1 and 2");
  CHECK(error_of(q, {.pipeline = 2, .chunks = 2, .schedule = flexible, .micro_batch_group = 1}) ==
        "groups of 1 micro-batches do not fill 2 stages");
}

TEST_CASE("the interleaved schedule has its conditions") {
  const test::Question q("{transformer: {layers: 4, hidden: 64, heads: 4, vocab: 96, sequence_length: 16}}", 1, 4, 12);
  search::GridConfig c{.pipeline = 2, .chunks = 2, .schedule = pcg::ScheduleKind::interleaved};
  CHECK(error_of(q, c) == "");  // 12 samples, 2 replicas: 6 micro-batches
  c.micro_batch = 2;
  CHECK(error_of(q, c) ==
        "the interleaved schedule needs micro-batches in multiples of pipeline 2, there are 3: schedule flexible runs any number");
  c.pipeline = 1;
  c.micro_batch = 1;
  CHECK(error_of(q, c) == "2 chunks need a pipeline of at least 2 stages");
}
