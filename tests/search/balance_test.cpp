// Layers shared out among stages by what they cost.
#include "search/grid/stages.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "problem.hpp"

namespace {

using Seconds = std::vector<std::vector<double>>;  // [rank][layer]
using Split = std::vector<int>;

double slowest(const Seconds& seconds, const Split& split) {
  double most = 0;
  std::size_t at = 0;
  for (std::size_t s = 0; s < split.size(); ++s) {
    const std::vector<double>& rank = seconds[s % seconds.size()];
    double sum = 0;
    for (int i = 0; i < split[s]; ++i) sum += rank[at++];
    most = std::max(most, sum);
  }
  return most;
}

// By trying every split.
double best_of_all(const Seconds& seconds, int stages, Split begin = {}) {
  const auto layers = static_cast<int>(seconds.front().size());
  const int left = layers - std::accumulate(begin.begin(), begin.end(), 0), open = stages - static_cast<int>(begin.size());
  if (open == 0) return left == 0 ? slowest(seconds, begin) : 1e300;
  double best = 1e300;
  for (int n = 1; n <= left - (open - 1); ++n) {
    Split next = begin;
    next.push_back(n);
    best = std::min(best, best_of_all(seconds, stages, next));
  }
  return best;
}

Split layers_of_plan(const pcg::Plan& plan) {
  Split layers(static_cast<std::size_t>(plan.stages), 0);
  for (std::size_t b = 0; b < plan.pcg.blocks().size(); ++b) {
    if (!plan.pcg.blocks()[b].weighty) continue;
    for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n)
      if (plan.pcg.nodes()[n].block == static_cast<int>(b) && plan.pcg.nodes()[n].computes()) {
        ++layers[static_cast<std::size_t>(plan.stage[n])];
        break;
      }
  }
  return layers;
}

const std::string kSixLayers = "{transformer: {layers: 6, hidden: 64, heads: 4, vocab: 96, sequence_length: 16}}";

}  // namespace

TEST_CASE("126 equal layers on 16 stages: those with the embedding and the head take one less") {
  // 16 stages of 8 would be 128 layers: two stages have 7. The head costs two thirds of a layer, so a last stage of 8 would be the
  // slowest, 8.66 against 8. Where the other 7 stands, the slowest stage takes 8 all the same; the embedding makes the first the most even
  // one.
  Seconds seconds{std::vector<double>(126, 1)};
  seconds[0].front() += 0.01;
  seconds[0].back() += 0.66;
  const Split split = search::balanced_layers(seconds, 16);
  CHECK(search::layers_text(split) == "7 + 14 x 8 + 7");
  CHECK(std::accumulate(split.begin(), split.end(), 0) == 126);
}

TEST_CASE("a rank of slower devices takes fewer layers, in each of its chunks") {
  // Twice the seconds on the second rank: 4 layers of 1 s and 2 of 2 s. In two chunks each: 2 s everywhere.
  const Seconds seconds{std::vector<double>(6, 1), std::vector<double>(6, 2)};
  CHECK(search::balanced_layers(seconds, 2) == Split{4, 2});
  CHECK(search::balanced_layers(seconds, 4) == Split{2, 1, 2, 1});
}

TEST_CASE("a heavy layer stands alone, and equal ones divide equally") {
  CHECK(search::balanced_layers(Seconds{{1, 1, 5, 1, 1}}, 3) == Split{2, 1, 2});
  CHECK(search::balanced_layers(Seconds{{1, 1, 1, 1, 1, 1}}, 3) == Split{2, 2, 2});
  CHECK(search::balanced_layers(Seconds{{0, 0, 0}}, 3) == Split{1, 1, 1});
  CHECK(search::balanced_layers(Seconds{{3, 4}}, 1) == Split{2});
  CHECK(search::layers_text(Split{3}) == "3");
}

TEST_CASE("no split has a quicker slowest stage") {
  CHECK(rc::check([] {
    const int ranks = *rc::gen::inRange(1, 4), layers = *rc::gen::inRange(1, 9);
    const int stages = *rc::gen::inRange(1, layers + 1);
    Seconds seconds(static_cast<std::size_t>(ranks));
    for (std::vector<double>& rank : seconds)
      for (int l = 0; l < layers; ++l) rank.push_back(*rc::gen::inRange(0, 20));
    const Split split = search::balanced_layers(seconds, stages);
    RC_ASSERT(std::accumulate(split.begin(), split.end(), 0) == layers);
    RC_ASSERT(std::ranges::min(split) >= 1);
    RC_ASSERT(slowest(seconds, split) <= best_of_all(seconds, stages) * (1 + 1e-6));
  }));
}

TEST_CASE("stages take the layers that are listed, chunk by chunk") {
  const test::Question q(kSixLayers, 1, 4, 8);
  const pcg::Plan four = search::megatron_plan(q.problem(), {.pipeline = 4, .layers_per_stage = {1, 2, 2, 1}}).value();
  CHECK(layers_of_plan(four) == Split{1, 2, 2, 1});
  CHECK(four.summary.find("layers per stage 1 + 2 x 2 + 1") != std::string::npos);
  // The second entry is the first chunk of the second rank, the third the second chunk of the first.
  const pcg::Plan chunks =
      search::megatron_plan(q.problem(),
                            {.pipeline = 2, .chunks = 2, .schedule = pcg::ScheduleKind::interleaved, .layers_per_stage = {3, 1, 1, 1}})
          .value();
  CHECK(layers_of_plan(chunks) == Split{3, 1, 1, 1});
}

TEST_CASE("embedding and head may have a stage to themselves: layers are then one or two fewer than stages") {
  const test::Question q(kSixLayers, 1, 8, 8);
  const auto stages_with = [](const pcg::Plan& plan, std::string_view block) {
    std::set<int> stages;
    for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n)
      if (plan.pcg.nodes()[n].computes() && plan.pcg.blocks()[static_cast<std::size_t>(plan.pcg.nodes()[n].block)].name == block)
        stages.insert(plan.stage[n]);
    return stages;
  };
  const pcg::Plan eight = search::megatron_plan(q.problem(), {.pipeline = 8}).value();
  CHECK(eight.summary.find("layers per stage 0 + 6 x 1 + 0") != std::string::npos);
  CHECK(stages_with(eight, "embedding") == std::set<int>{0});
  CHECK(stages_with(eight, "layer 0") == std::set<int>{1});
  CHECK(stages_with(eight, "layer 5") == std::set<int>{6});
  CHECK(stages_with(eight, "head") == std::set<int>{7});
  const test::Question four(kSixLayers, 1, 4, 8);
  const pcg::Plan listed = search::megatron_plan(four.problem(), {.pipeline = 4, .layers_per_stage = {0, 3, 3, 0}}).value();
  CHECK(stages_with(listed, "layer 0") == std::set<int>{1});
  CHECK(stages_with(listed, "head") == std::set<int>{3});
}

TEST_CASE("layers that do not divide are balanced, those that do are shared out equally unless the user says balanced") {
  const test::Question q(kSixLayers, 1, 4, 8);
  const pcg::Plan four = search::megatron_plan(q.problem(), {.pipeline = 4}).value();
  const Split split = layers_of_plan(four);
  CHECK(std::accumulate(split.begin(), split.end(), 0) == 6);
  CHECK(std::ranges::min(split) == 1);
  CHECK(std::ranges::max(split) == 2);
  CHECK(four.summary.find("layers per stage") != std::string::npos);
  const pcg::Plan two = search::megatron_plan(q.problem(), {.pipeline = 2}).value();
  CHECK(layers_of_plan(two) == Split{3, 3});
  CHECK(two.summary.find("layers per stage") == std::string::npos);
  // A head of 147,456 words on layers of 1,024: 2 h v FLOPs a token against 2 x 12 h^2, the work of v / 12 h = 12 layers, so the last stage
  // is the slowest even with a single layer.
  const test::Question head("{transformer: {layers: 6, hidden: 1024, heads: 16, vocab: 147456, sequence_length: 512}}", 1, 2, 4);
  CHECK(layers_of_plan(search::megatron_plan(head.problem(), {.pipeline = 2}).value()) == Split{3, 3});
  CHECK(layers_of_plan(search::megatron_plan(head.problem(), {.pipeline = 2, .balanced_stages = true}).value()) == Split{5, 1});
}
