// Alpa and the planners that it contains.
#include "search/alpa/alpa.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "problem.hpp"
#include "search/intra_op/intra_op.hpp"

namespace {

search::SearchResult in_space(const test::Question& q, search::AlpaSpace space, const search::AlpaConfig& config = {}) {
  return search::alpa_search(q.problem(), space, config, {});
}

test::Question of_small_gpt() { return test::Question(test::kSmallGpt, 2, 2, 16); }

}  // namespace

TEST_CASE("Alpa is not worse than its parts alone") {
  const test::Question q = of_small_gpt();
  const search::SearchResult alpa = in_space(q, search::AlpaSpace::all);
  REQUIRE(alpa.best);
  CHECK(pcg::violations(*alpa.best).empty());
  const search::SearchResult stages = in_space(q, search::AlpaSpace::stages_alone);
  const search::SearchResult operators = search::intra_op_search(q.problem(), {}, {});
  REQUIRE(stages.best);
  REQUIRE(operators.best);
  CHECK(*alpa.objective <= *stages.objective);
  CHECK(alpa.objective->value() <= operators.objective->value() * 1.001);
}

TEST_CASE("stages alone are single GPUs") {
  const search::SearchResult r = in_space(of_small_gpt(), search::AlpaSpace::stages_alone);
  REQUIRE(r.best);
  CHECK(r.best->name == "inter-op");
  CHECK(r.best->stages == 4);
  for (const pcg::PcgNode& n : r.best->pcg.nodes())
    if (n.computes()) CHECK(n.sharding.points() == 1);
}

TEST_CASE("stages of replicas share out samples and nothing else") {
  const search::SearchResult r = in_space(of_small_gpt(), search::AlpaSpace::samples);
  REQUIRE(r.best);
  for (const pcg::PcgNode& n : r.best->pcg.nodes())
    for (std::size_t l = 0; n.computes() && l < n.sharding.degrees.size(); ++l)
      if (n.space->loops[l].name != "b") CHECK(n.sharding.degrees[l] == 1);
}

TEST_CASE("what is asked for is given") {
  const search::SearchResult r = in_space(of_small_gpt(), search::AlpaSpace::all, {.stages = 2, .settings = {.micro_batches = 4}});
  REQUIRE(r.best);
  CHECK(r.best->stages == 2);
  CHECK(r.best->micro_batches == 4);
  for (const search::PipelineSetting& s : search::settings_worth_a_look(16, {.recompute = false, .update_sharding = false})) {
    CHECK(s.recompute == pcg::Recompute::none);
    CHECK(s.zero == 0);
  }
  CHECK(in_space(of_small_gpt(), search::AlpaSpace::all, {.settings = {.micro_batches = 5}}).termination.is_infeasible());  // of 16 samples
  std::set<int> counts;
  for (const search::PipelineSetting& s : search::settings_worth_a_look(12, {})) counts.insert(s.micro_batches);
  CHECK(counts == std::set<int>{1, 2, 4, 6, 12});
}
