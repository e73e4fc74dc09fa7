#include "search/planners/megatron/wishes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "base/diagnostics.hpp"
#include "base/yaml/parse.hpp"
#include "problem.hpp"
#include "search/planners/megatron/ranking.hpp"

namespace {

using search::GridConfig;
using search::Wishes;

Wishes wishes(const std::string& yaml, const std::string& runs = "") {
  base::Diagnostics sink;
  const base::Yaml options = base::parse_yaml(yaml, "<test>");
  base::MapReader in(options, "", sink);
  const Wishes read(search::read_options(in, Wishes::options(), {}), runs);
  in.finish();
  sink.throw_if_any();
  return read;
}

std::string refusal_of(const std::string& yaml) {
  try {
    (void)wishes(yaml);
  } catch (const base::InputError& e) { return e.what(); }
  return "";
}

}  // namespace

TEST_CASE("wishes leave the points of the grid that have allowed values alone") {
  const test::Question q("{transformer: {layers: 4, hidden: 64, heads: 8, vocab: 96, sequence_length: 16}}", 2, 4, 8);
  const auto all = search::grid_points(q.problem());
  const auto expect = [&](const std::string& yaml, const auto& is_allowed) {
    std::vector<GridConfig> wanted;
    std::ranges::copy_if(all, std::back_inserter(wanted), is_allowed);
    REQUIRE(!wanted.empty());
    REQUIRE(wanted.size() < all.size());
    CHECK_MESSAGE(search::grid_points(q.problem(), wishes(yaml)) == wanted, yaml);
  };
  CHECK(search::grid_points(q.problem(), wishes("{}")) == all);
  expect("{tensor: [1, 4]}", [](const GridConfig& c) { return c.tensor == 1 || c.tensor == 4; });
  expect("{pipeline: 2, context: 1}", [](const GridConfig& c) { return c.pipeline == 2 && c.context == 1; });
  expect("{data: 2, micro_batch: [1, 2]}", [](const GridConfig& c) { return c.data == 2 && c.micro_batch <= 2; });
  expect("{tensor_within_node: true}", [](const GridConfig& c) { return c.tensor <= 4; });
  // What has no pipeline has no schedule, and what has no tensor ranks no sequence parallelism.
  expect("{schedule: interleaved}", [](const GridConfig& c) { return c.pipeline == 1 || c.chunks > 1; });
  expect("{schedule: [1f1b, interleaved], chunks: 1}", [](const GridConfig& c) { return c.chunks == 1; });
  expect("{sequence_parallel: true}", [](const GridConfig& c) { return c.tensor == 1 || c.sequence_parallel; });
  // Recomputation and ZeRO are variants of a point.
  CHECK(search::grid_points(q.problem(), wishes("{zero: 1, recompute: full}")) == all);
  CHECK(wishes("{zero: 1}").allow({.data = 2, .zero = 1}));
  CHECK_FALSE(wishes("{zero: 1}").allow({.data = 2, .zero = 2}));
  CHECK_FALSE(wishes("{recompute: [none, selective]}").allow({.recompute = pcg::Recompute::full}));
}

TEST_CASE("a point takes a schedule and a dispatch that are wished") {
  const test::Question q("{transformer: {layers: 4, hidden: 32, heads: 4, ffn: 64, vocab: 96, sequence_length: 16, experts: 4, top_k: 2}}",
                         1, 4, 8);
  const Wishes w = wishes("{schedule: [breadth-first, gpipe], dispatch: [deepep, nccl]}");
  for (const GridConfig& c : search::grid_points(q.problem(), w)) {
    if (c.pipeline > 1) CHECK(c.schedule == (c.chunks > 1 ? pcg::ScheduleKind::breadth_first : pcg::ScheduleKind::gpipe));
    CHECK(c.dispatch == (c.expert > 1 ? pcg::Dispatch::forwarded : pcg::Dispatch::all_to_all));
    if (c.pipeline > 1) CHECK_FALSE(c.overlap.experts);  // these schedules merge no passes
  }
  CHECK(w.text() == "schedule breadth-first or gpipe, dispatch deepep or nccl");
  CHECK(Wishes().text().empty());
}

TEST_CASE("framework_can leaves the plans that the framework runs, of those that are wished for") {
  const std::string runs = "{schedule: 1f1b, zero_with_pipeline: [0, 1], dispatch: nccl}";
  CHECK(wishes("{}", runs).text().empty());
  CHECK(wishes("{framework_can: true}").text().empty());
  const Wishes can = wishes("{framework_can: true}", runs);
  CHECK(can.text() == "zero_with_pipeline 0 or 1, schedule 1f1b, dispatch nccl");
  CHECK(can.allow({.data = 2, .zero = 3}));
  CHECK(can.allow({.pipeline = 2, .data = 2, .zero = 1}));
  CHECK_FALSE(can.allow({.pipeline = 2, .data = 2, .zero = 2}));
  CHECK_FALSE(can.allow({.pipeline = 2, .chunks = 2, .schedule = pcg::ScheduleKind::interleaved}));
  CHECK(can.allow({.expert = 2}));
  CHECK_FALSE(can.allow({.expert = 2, .dispatch = pcg::Dispatch::forwarded}));
  // No schedule is both wished for and run: pipelines are left out.
  const Wishes none = wishes("{framework_can: true, schedule: gpipe}", runs);
  CHECK(none.text() == "zero_with_pipeline 0 or 1, no schedule that is wished for and that the framework runs, dispatch nccl");
  CHECK_FALSE(none.allow({.pipeline = 2, .schedule = pcg::ScheduleKind::gpipe}));
  CHECK_THROWS_AS((void)wishes("{framework_can: true}", "{schedules: 1f1b}"), base::InputError);
}

TEST_CASE("a search within wishes has the best of their plans, and says which wish leaves none") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  const auto found = [&](const std::string& yaml) {
    return search::megatron_search(q.problem(), {.simulate_best = 1000, .wishes = wishes(yaml)}, {});
  };
  const search::SearchResult tensor = found("{tensor: 4, zero: 0, recompute: none}");
  REQUIRE(tensor.best);
  const auto hand = q.oracle.plan(search::megatron_plan(q.problem(), {.tensor = 4}).value()).iteration_time;
  CHECK(*tensor.objective <= hand * 1.01);
  CHECK(tensor.best->summary.find("tensor 4") != std::string::npos);
  CHECK(std::ranges::any_of(tensor.notes, [](const base::Fact& f) { return f.code == "wishes"; }));
  const search::SearchResult none = found("{tensor: 3, zero: 1}");
  REQUIRE(none.termination.is_infeasible());
  CHECK(search::to_text(none.termination) ==
        "no point of the grid can be built: 4 GPUs and a batch of 8 have no plan with tensor 3, zero 1; without the wish for tensor they "
        "have some");
}

TEST_CASE("wishes that no plan can have are refused where they stand") {
  CHECK(refusal_of("{tensor: [2, 0]}").find("0 is not an integer ≥ 1") != std::string::npos);
  CHECK(refusal_of("{zero: 4}").find("4 is not an integer 0 to 3") != std::string::npos);
  CHECK(refusal_of("{schedule: 1f2b}").find("did you mean \"1f1b\"?") != std::string::npos);
  CHECK(refusal_of("{tensor: []}").find("the list is empty, and allows nothing") != std::string::npos);
  CHECK(refusal_of("{tensor: two}").find("expected an integer") != std::string::npos);
}
