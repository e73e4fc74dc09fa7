// What a plan does otherwise than data parallelism.
#include "search/explanation/explanation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "pcg/graph/pcg.hpp"
#include "search/planners/unity/unity.hpp"
#include "tests/search/problem.hpp"

namespace {

// Three operators: layer0, layer1, loss. All over four GPUs: rows of the first, columns of the second, samples of the loss.
pcg::Plan cut_by_hand(const test::Question& q) {
  const pcg::Graph g = pcg::with_batch(q.model, q.training.global_batch);
  std::vector<pcg::Sharding> s = pcg::unsharded(g);
  pcg::Plan p;
  p.training = q.training;
  p.gpus = 4;
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    if (g.nodes()[n].name == "layer0") s[n].degrees = {1, 1, 4};
    if (g.nodes()[n].name == "layer1") s[n].degrees = {1, 4, 1};
    if (g.nodes()[n].name == "loss") s[n].degrees[0] = 4;
  }
  p.pcg = pcg::parallelize(g, s);
  p.mapping.resize(p.pcg.nodes().size());
  p.stage.assign(p.pcg.nodes().size(), 0);
  for (std::size_t n = 0; n < p.mapping.size(); ++n)
    if (p.pcg.nodes()[n].computes()) p.mapping[n].strides = {1};
  return p;
}

std::size_t operators_in(const std::vector<search::AlikeOperators>& groups) {
  return std::accumulate(groups.begin(), groups.end(), std::size_t{0}, [](std::size_t n, const auto& g) { return n + g.count; });
}

std::string told(const search::AlikeOperators& o) {
  return fmt::format("{} {}, {} on {}{}{}: {}", o.count, o.kind, o.cut, pcg::to_text(o.devices), o.is_reordered ? ", reordered" : "",
                     o.is_new ? ", new" : "", o.first);
}

}  // namespace

TEST_CASE("data parallelism is not otherwise than itself, and has all of the model") {
  for (const std::string& section : {std::string("{builtin: mlp-mnist}"), test::kSmallGpt, test::kSmallMoe}) {
    const test::Question q(section, 2, 2, 8);
    const pcg::Plan plan = search::data_parallel_plan(q.problem(), {}).value();
    const search::Differences d = search::differences(plan, &q.model);
    CHECK(d.operators > 0);
    CHECK(d.alike == d.operators);
    CHECK(d.others.empty());
    CHECK(d.gone.empty());
    CHECK(d.why_no_replicas.empty());
  }
}

TEST_CASE("operators that are cut otherwise, and those on the same GPUs in another order") {
  const test::Question q("{builtin: mlp-mnist}", 1, 4, 8);
  pcg::Plan plan = cut_by_hand(q);
  search::Differences d = search::differences(plan, &q.model);
  CHECK(d.operators == 3);
  CHECK(d.alike == 1);  // the loss
  REQUIRE(d.others.size() == 2);
  CHECK(told(d.others[0]) == "1 linear, n 4 on 0 to 3: layer0");
  CHECK(told(d.others[1]) == "1 linear, k 4 on 0 to 3: layer1");
  for (std::size_t n = 0; n < plan.mapping.size(); ++n)
    if (plan.pcg.nodes()[n].name == "loss") plan.mapping[n] = {.start = base::DeviceId(3), .strides = {-1}, .devices = {}};
  d = search::differences(plan, &q.model);
  CHECK(d.alike == 0);
  CHECK(told(d.others.back()) == "1 cross_entropy, b 4 on 0 to 3, reordered: loss");
  // Four replicas of nine samples are no data parallelism.
  plan.training.global_batch = 9;
  d = search::differences(plan, &q.model);
  CHECK(d.why_no_replicas == "a global batch of 9 does not divide among 4 data-parallel replicas");
  CHECK(d.alike == 0);
}

TEST_CASE("plans of a grid have the model's operators, padded or not, and every operator is alike or other") {
  for (const std::string& vocabulary : {std::string("96"), std::string("97")}) {
    std::string section = test::kSmallGpt;
    section.replace(section.find("96"), 2, vocabulary);
    const test::Question q(section, 2, 2, 8);
    for (const search::GridConfig& c :
         {search::GridConfig{.tensor = 2}, {.pipeline = 2}, {.tensor = 2, .pipeline = 2, .micro_batch = 2}, {.context = 2}}) {
      const pcg::Plan plan = search::megatron_plan(q.problem(), c).value();
      const search::Differences d = search::differences(plan, &q.model);
      CHECK(d.alike + operators_in(d.others) == d.operators);
      CHECK(std::ranges::none_of(d.others, &search::AlikeOperators::is_new));
      CHECK(d.gone.empty());
      CHECK(!d.others.empty());
      CHECK(std::ranges::is_sorted(d.others, std::greater<>(), &search::AlikeOperators::count));
    }
  }
}

TEST_CASE("what rewrites made is new, and what they took is gone; without the model neither is known") {
  const test::TwoConvolutions q;
  const search::SearchResult r = search::unity_search(q.problem(), {.steps = 300}, {});
  REQUIRE(r.best);
  REQUIRE(!r.best->rewrites.empty());
  const search::Differences d = search::differences(*r.best, &q.model);
  std::size_t fresh = 0, lost = 0;
  for (const search::AlikeOperators& o : d.others) fresh += o.is_new ? o.count : 0;
  for (const auto& [kind, count] : d.gone) lost += count;
  CHECK(fresh >= 1);
  CHECK(d.operators - fresh == 3 - lost);  // what they have in common
  CHECK(std::ranges::find(d.gone, std::pair<std::string, std::size_t>("conv2d", 2)) != d.gone.end());
  const search::Differences blind = search::differences(*r.best, nullptr);
  CHECK(blind.operators == d.operators);
  CHECK(blind.gone.empty());
  CHECK(std::ranges::none_of(blind.others, &search::AlikeOperators::is_new));
}
