// Layers shared out among stages by what they cost.
#include "search/grid/balance.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "problem.hpp"

namespace {

using Seconds = std::vector<std::vector<double>>;  // [rank][unit]: before the layers, each layer, after them
using Split = std::vector<int>;

double slowest(const Seconds& seconds, const Split& split) {
  double most = 0;
  std::size_t at = 0;
  for (std::size_t s = 0; s < split.size(); ++s) {
    const std::vector<double>& rank = seconds[s % seconds.size()];
    double sum = s == 0 ? rank[at++] : 0;
    for (int i = 0; i < split[s]; ++i) sum += rank[at++];
    if (s + 1 == split.size()) sum += rank[at++];
    most = std::max(most, sum);
  }
  return most;
}

// By trying every split.
double best_of_all(const Seconds& seconds, int stages, search::BareEnds bare, Split begin = {}) {
  const auto layers = static_cast<int>(seconds.front().size()) - 2;
  const int left = layers - std::accumulate(begin.begin(), begin.end(), 0), at = static_cast<int>(begin.size());
  if (at == stages) return left == 0 ? slowest(seconds, begin) : 1e300;
  double best = 1e300;
  for (int n = (at == 0 && bare.first) || (at + 1 == stages && bare.last) ? 0 : 1; n <= left; ++n) {
    Split next = begin;
    next.push_back(n);
    best = std::min(best, best_of_all(seconds, stages, bare, next));
  }
  return best;
}

Split quickest(const Seconds& seconds, int stages, search::BareEnds bare = {}) {
  return search::quickest_slowest_stage(seconds, stages, bare);
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
  Seconds seconds{std::vector<double>(128, 1)};
  seconds[0].front() = 0.01;
  seconds[0].back() = 0.66;
  const Split split = quickest(seconds, 16);
  CHECK(search::layers_text(split) == "7 + 14 x 8 + 7");
  CHECK(std::accumulate(split.begin(), split.end(), 0) == 126);
}

TEST_CASE("a head that is heavier than the slowest stage stands alone where it may") {
  // Of 8 layers and a head of 2.4 on 4 stages, 10.4 in all: with a layer the head is 3.4, alone 2.4, and others take 8 / 3, at least 3.
  const Seconds seconds{{0, 1, 1, 1, 1, 1, 1, 1, 1, 2.4}};
  CHECK(slowest(seconds, quickest(seconds, 4)) == 3.4);
  const Split bare = quickest(seconds, 4, {.first = false, .last = true});
  CHECK(bare.back() == 0);
  CHECK(slowest(seconds, bare) == 3);
  // Two layers fewer than stages: both ends are bare.
  CHECK(quickest(Seconds{{1, 1, 1, 1}}, 4, {true, true}) == Split{0, 1, 1, 0});
}

TEST_CASE("a rank of slower devices takes fewer layers, in each of its chunks") {
  // Twice the seconds on the second rank: 4 layers of 1 s and 2 of 2 s. In two chunks each: 2 s everywhere.
  const Seconds seconds{{0, 1, 1, 1, 1, 1, 1, 0}, {0, 2, 2, 2, 2, 2, 2, 0}};
  CHECK(quickest(seconds, 2) == Split{4, 2});
  CHECK(quickest(seconds, 4) == Split{2, 1, 2, 1});
}

TEST_CASE("a heavy layer stands alone, and equal ones divide equally") {
  CHECK(quickest(Seconds{{0, 1, 1, 5, 1, 1, 0}}, 3) == Split{2, 1, 2});
  CHECK(quickest(Seconds{{0, 1, 1, 1, 1, 1, 1, 0}}, 3) == Split{2, 2, 2});
  CHECK(quickest(Seconds{{0, 0, 0, 0, 0}}, 3) == Split{1, 1, 1});
  CHECK(quickest(Seconds{{0, 3, 4, 0}}, 1) == Split{2});
  CHECK(search::layers_text(Split{3}) == "3");
}

TEST_CASE("no split has a quicker slowest stage") {
  CHECK(rc::check([] {
    const int ranks = *rc::gen::inRange(1, 4), layers = *rc::gen::inRange(1, 9);
    const search::BareEnds bare{*rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>()};
    const int stages = *rc::gen::inRange(1, layers + 1);
    Seconds seconds(static_cast<std::size_t>(ranks));
    for (std::vector<double>& rank : seconds)
      for (int u = 0; u < layers + 2; ++u) rank.push_back(*rc::gen::inRange(0, 20));
    const Split split = quickest(seconds, stages, bare);
    RC_ASSERT(std::accumulate(split.begin(), split.end(), 0) == layers);
    for (std::size_t s = 0; s < split.size(); ++s)
      RC_ASSERT(split[s] >= ((s == 0 && bare.first) || (s + 1 == split.size() && bare.last) ? 0 : 1));
    RC_ASSERT(slowest(seconds, split) <= best_of_all(seconds, stages, bare) * (1 + 1e-6));
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
  CHECK(std::ranges::max(split) == 2);
  CHECK(four.summary.find("layers per stage") != std::string::npos);
  const pcg::Plan two = search::megatron_plan(q.problem(), {.pipeline = 2}).value();
  CHECK(layers_of_plan(two) == Split{3, 3});
  CHECK(two.summary.find("layers per stage") == std::string::npos);
  // A head of 147,456 words on layers of 1,024: 2 h v FLOPs a token against 2 x 12 h^2, the work of v / 12 h = 12 layers, so the last stage
  // is the slowest even with no layer.
  const test::Question head("{transformer: {layers: 6, hidden: 1024, heads: 16, vocab: 147456, sequence_length: 512}}", 1, 2, 4);
  CHECK(layers_of_plan(search::megatron_plan(head.problem(), {.pipeline = 2}).value()) == Split{3, 3});
  CHECK(layers_of_plan(search::megatron_plan(head.problem(), {.pipeline = 2, .balanced_stages = true}).value()) == Split{6, 0});
}

TEST_CASE("no split of one moved layer is quicker than balanced stages, and equal ones are not") {
  // A head of v / 12 h = 1.3 layers, for six layers and for seven, which do not divide; hosts that cost as much as kernels, and none.
  for (const pcg::Framework framework : {pcg::Framework::generic, pcg::Framework::megatron})
    for (const int layers : {6, 7})
      for (const search::GridConfig& grid :
           {search::GridConfig{.pipeline = 3, .micro_batch = 1},
            search::GridConfig{.pipeline = 3, .micro_batch = 1, .schedule = pcg::ScheduleKind::gpipe},
            search::GridConfig{.pipeline = 2, .chunks = 2, .micro_batch = 1, .schedule = pcg::ScheduleKind::interleaved}}) {
        test::Question q(
            fmt::format("{{transformer: {{layers: {}, hidden: 1024, heads: 16, vocab: 16384, sequence_length: 512}}}}", layers), 1,
            grid.pipeline, 12);
        q.training.framework = framework;
        search::GridConfig config = grid;
        config.balanced_stages = true;
        const auto seconds = [&](const search::GridConfig& c) {
          return q.oracle.plan(search::megatron_plan(q.problem(), c).value()).iteration_time.value();
        };
        const pcg::Plan balanced = search::megatron_plan(q.problem(), config).value();
        const double best = q.oracle.plan(balanced).iteration_time.value();
        const Split split = layers_of_plan(balanced);
        CAPTURE(balanced.summary);
        if (const int stages = grid.pipeline * grid.chunks; layers % stages == 0) {
          config.layers_per_stage.assign(static_cast<std::size_t>(stages), layers / stages);
          CHECK(best <= 1.005 * seconds(config));
        }
        for (std::size_t from = 0; from < split.size(); ++from)
          for (std::size_t to = 0; to < split.size(); ++to) {
            const bool is_end = from == 0 || from + 1 == split.size();
            if (to == from || split[from] <= (is_end ? 0 : 1)) continue;
            config.layers_per_stage = split;
            --config.layers_per_stage[from];
            ++config.layers_per_stage[to];
            CHECK(best <= 1.005 * seconds(config));
          }
      }
}
