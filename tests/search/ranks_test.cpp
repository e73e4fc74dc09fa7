// How planners rank plans drawn at random from their spaces, against simulations.
#include <doctest/doctest.h>

#include "random_plans.hpp"
#include "search/cost/margins.hpp"

TEST_CASE("the costs of planners rank their spaces as simulations do") {
  // The least rank correlation of the planner's own cost, that of a replay, and how far its mean is off. Plans that cut operators at random
  // move tensors between most of them, and neither sees all that shares a link. Cut-offs keep the best plan.
  struct Bar {
    test::Space space;
    double own, replay, error, least_sum, replays_err;
  };
  constexpr double kNone = 10;  // no cut-off: the few best are simulated
  for (const Bar bar : {Bar{test::Space::grid, 0.98, 0.98, 0.02, search::kReplaysErr, search::kReplaysErr},
                        Bar{test::Space::operators, 0.6, 0.95, 0.02, kNone, search::kReplaysOfCutsErr},
                        Bar{test::Space::places, 0.85, 0.85, 0.1, kNone, kNone},
                        Bar{test::Space::layers, 0.98, 0.98, 0.02, search::kSumsOfLayersErr, search::kReplaysErr}}) {
    const test::GridQuestion q("{transformer: {layers: 4, hidden: 1024, heads: 16, ffn: 4096, vocab: 4096, sequence_length: 512}}",
                               "{preset: dgx-a100-80gb, nodes: 1}", 64);
    const search::Problem problem = q.problem();
    const std::vector<test::DrawnPlan> drawn = test::draw(bar.space, problem, 40);
    REQUIRE(drawn.size() >= 40);
    const test::Judgements judged = test::judge(problem, drawn);
    CAPTURE(test::to_text(bar.space));
    CHECK(judged.own.rank >= bar.own);
    CHECK(judged.replay.rank >= bar.replay);
    CHECK(std::abs(judged.replay.error) <= bar.error);
    CHECK(judged.own.above_least < bar.least_sum);
    CHECK(judged.replay.above_simulated < bar.replays_err);
  }
}
