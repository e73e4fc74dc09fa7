// Sharded data parallelism chooses what is not given: held against every plan that it could have given.
#include "search/planners/data_parallel/data_parallel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/yaml/parse.hpp"
#include "base/yaml/reader.hpp"
#include "sim/memory/memory.hpp"
#include "tests/search/problem.hpp"

namespace {

constexpr int kGpus = 4;
constexpr std::int64_t kBatch = 32;  // 8 samples per replica

const std::string kFourWideLayers =
    "{transformer: {layers: 4, hidden: 1024, heads: 16, ffn: 4096, vocab: 4096, sequence_length: 512, causal: true, attention: unfused}}";

search::SearchResult sharded(const search::Problem& problem, const std::string& options) {
  const search::Planner planner = search::fsdp_planner();
  base::Diagnostics sink;
  const base::Yaml yaml = base::parse_yaml(options, "o");
  base::MapReader in(yaml, "plan", sink);
  const search::OptionValues values = search::read_options(in, planner.options, {});
  in.finish();
  sink.throw_if_any();
  REQUIRE_FALSE(planner.contradiction(values));
  return planner.plan(problem, values, {});
}

struct Choice {
  pcg::Plan plan;
  base::Bytes peak;
  std::optional<base::Seconds> time;  // where it fits
};

std::vector<Choice> all_choices(const search::Problem& problem, const std::vector<int>& stages) {
  std::vector<Choice> all;
  for (const int stage : stages)
    for (const std::int64_t micro_batch : {8, 4, 2, 1})
      for (const pcg::Recompute recompute : {pcg::Recompute::none, pcg::Recompute::selective, pcg::Recompute::full}) {
        Choice c{search::grid_plan(problem, {.micro_batch = micro_batch, .recompute = recompute, .zero = stage}, "fsdp").value(), {}, {}};
        const sim::MemoryUse memory = problem.oracle.memory(c.plan);
        c.peak = memory.peak;
        if (memory.fits()) c.time = problem.oracle.plan(c.plan).iteration_time;
        all.push_back(std::move(c));
      }
  return all;
}

const Choice* quickest(const std::vector<Choice>& all) {
  const Choice* best = nullptr;
  for (const Choice& c : all)
    if (c.time && (best == nullptr || *c.time < *best->time)) best = &c;
  return best;
}

}  // namespace

TEST_CASE("fsdp: what is not given is the quickest that fits of all choices, or the leanest") {
  const test::Question q(kFourWideLayers, 1, kGpus, kBatch);
  std::size_t fitting = 0, missing = 0, cut = 0;
  for (const double memory_gib : {1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 16.0}) {
    const topology::Cluster cluster = test::switched(1, kGpus, memory_gib);
    const sim::Oracle oracle(cluster);
    const search::Problem problem{q.model, q.section, cluster, q.training, oracle};
    for (const auto& [options, stages] : {std::pair("{stage: zero1}", std::vector{1}), std::pair("{}", std::vector{3}),
                                          std::pair("{stage: search}", std::vector{3, 2, 1})}) {
      CAPTURE(memory_gib);
      CAPTURE(options);
      const search::SearchResult r = sharded(problem, options);
      const std::vector<Choice> all = all_choices(problem, stages);
      if (const Choice* best = quickest(all)) {
        REQUIRE(r.best);
        CHECK(r.simulation->iteration_time == *best->time);
        ++fitting;
        if (best->plan.micro_batches > 1 || best->plan.recompute != pcg::Recompute::none) ++cut;
      } else {
        REQUIRE(r.closest);
        CHECK(oracle.memory(*r.closest).peak == std::ranges::min_element(all, {}, &Choice::peak)->peak);
        CHECK(std::get<search::ClosestMiss>(*r.termination.binding()).memory.needed == oracle.memory(*r.closest).peak);
        ++missing;
      }
    }
  }
  CHECK(fitting > 0);
  CHECK(missing > 0);
  CHECK(cut > 0);  // one micro-batch that keeps everything is not the answer everywhere
}

TEST_CASE("fsdp: what is given is kept") {
  const test::Question q(kFourWideLayers, 1, kGpus, kBatch);
  const search::SearchResult small = sharded(q.problem(), "{micro_batch: 2}");
  CHECK(small.best->micro_batches == 4);
  CHECK(small.best->zero == 3);
  CHECK(sharded(q.problem(), "{recompute: full}").best->recompute == pcg::Recompute::full);
  const search::SearchResult all = sharded(q.problem(), "{stage: zero2, micro_batch: 4, recompute: selective}");
  CHECK(all.best->summary == "data 4, 2 micro-batches of 4, recompute selective, zero 2");
  CHECK(all.termination.is_optimal());
}

TEST_CASE("fsdp: a search of the stage leaves out those that other options contradict") {
  const test::Question q(kFourWideLayers, 1, kGpus, kBatch);
  CHECK(sharded(q.problem(), "{stage: search, prefetch: 1}").best->zero == 3);
  CHECK(sharded(q.problem(), "{stage: search, overlap: {gradients: false}}").best->zero == 1);
}

TEST_CASE("fsdp: a batch that replicas cannot share is refused") {
  const test::Question q(kFourWideLayers, 1, kGpus, 30);
  const search::SearchResult r = sharded(q.problem(), "{}");
  REQUIRE(r.termination.is_infeasible());
  CHECK(std::get<search::Refusal>(*r.termination.binding()).why == "a global batch of 30 does not divide among 4 data-parallel replicas");
}

TEST_CASE("fsdp: PyTorch's tensor ranks share what enters a block, others do where they are asked to") {
  // Four layers, of which each keeps its input alone, of 512 positions and 1024 numbers of 4 bytes: half as much on each of two ranks. The
  // head keeps its input and that of its norm, besides logits that are cut in any case.
  test::Question q(kFourWideLayers, 1, kGpus, kBatch);
  const auto saved = [&](const std::string& more) {
    const search::SearchResult r = sharded(q.problem(), "{tensor: 2, micro_batch: 1, recompute: full" + more + "}");
    const auto& framework = q.oracle.framework(q.training);
    return sim::device_memory(*r.best, sim::dataflow_of(*r.best), q.cluster, framework).at(0).saved.at(0).value();
  };
  constexpr double kInput = 512 * 1024 * 4;
  const double whole = saved("");
  CHECK(saved(", sequence_parallel: false") == whole);
  const double shared = saved(", sequence_parallel: true");
  CHECK(whole - shared >= 4 * kInput / 2);
  CHECK(whole - shared <= 6 * kInput / 2);
  q.training.framework = pcg::Framework::pytorch;
  CHECK(saved("") == saved(", sequence_parallel: true"));
  CHECK(saved("") < saved(", sequence_parallel: false"));
}
