// Every planner's plan of every builtin, saved and checked as `foreshard check` does: it computes what the model computes.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "pcg/models/load.hpp"
#include "pcg/plan/plan_text.hpp"
#include "scenarios/answer/check.hpp"
#include "search/planners/alpa/alpa.hpp"
#include "search/planners/expert_dlrm/expert_dlrm.hpp"
#include "search/planners/flexflow/flexflow.hpp"
#include "search/planners/megatron/megatron.hpp"
#include "search/planners/uniap/uniap.hpp"
#include "search/planners/unity/unity.hpp"
#include "tests/search/problem.hpp"

namespace {

struct SavedPlan {
  std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("foreshard-equivalence-{}.plan.yaml", ::getpid());
  explicit SavedPlan(const pcg::Plan& plan) { std::ofstream(path) << pcg::write_plan(plan); }
  ~SavedPlan() { std::filesystem::remove(path); }
};

// Devices, then samples: few of both, so that small sizes are small.
test::Question question(const std::string& builtin, std::int64_t batch = 8) { return {"{builtin: " + builtin + "}", 1, 4, batch}; }

// Whether there is such a plan; if so, it is equivalent.
bool check_plan(const std::string& name, const search::Attempt<pcg::Plan>& plan) {
  INFO(name);
  if (!plan) {
    CHECK(plan.refusal().why != "");
    return false;
  }
  const SavedPlan saved(*plan);
  const scenarios::CheckResult result = scenarios::check_file(saved.path, 3);
  CHECK_MESSAGE(result.sound, result.summary);
  CHECK(result.summary.starts_with("equivalent at "));
  return true;
}

// How many of the thirteen have a plan; what has no heads, blocks or experts has fewer.
int check_planners(const std::string& builtin, std::int64_t batch = 8) {
  const test::Question q = question(builtin, batch);
  int plans = 0;
  const auto check = [&](const std::string& what, const search::Attempt<pcg::Plan>& plan) {
    plans += check_plan(builtin + ", " + what, plan) ? 1 : 0;
  };
  check("data-parallel", search::data_parallel_plan(q.problem()));
  for (const int stage : {1, 2, 3})
    check(fmt::format("fsdp {}", stage), search::grid_plan(q.problem(), {.micro_batch = stage == 2 ? 1 : 0, .zero = stage}, "fsdp"));
  const search::GridConfig grids[] = {{.tensor = 2},
                                      {.tensor = 4, .sequence_parallel = true},
                                      {.pipeline = 2},
                                      {.tensor = 2, .pipeline = 2, .zero = 1},
                                      {.pipeline = 2, .chunks = 2, .schedule = pcg::ScheduleKind::interleaved},
                                      {.pipeline = 2, .schedule = pcg::ScheduleKind::dual_pipe},
                                      {.context = 2},
                                      {.expert = 2},
                                      {.tensor = 2, .recompute = pcg::Recompute::full}};
  for (const search::GridConfig& c : grids)
    check(fmt::format("megatron tensor {} pipeline {} context {} expert {} chunks {} {}", c.tensor, c.pipeline, c.context, c.expert,
                      c.chunks, pcg::name_of(c.schedule)),
          search::megatron_plan(q.problem(), c));
  return plans;
}

}  // namespace

TEST_CASE("data parallelism on every builtin") {
  for (const std::string& name : pcg::models::builtin_names()) {
    if (name.starts_with("gpt3-") || name.starts_with("moe-")) continue;  // one of each below: they differ in sizes and layers alone
    const test::Question q = question(name);
    CHECK_MESSAGE(check_plan(name, search::data_parallel_plan(q.problem())), name);
  }
}

TEST_CASE("every planner on one builtin of each family of transformers") {
  CHECK(check_planners("gpt3-350m") >= 11);  // all but experts
  CHECK(check_planners("moe-380m") >= 12);
  CHECK(check_planners("bert-large") >= 11);
  CHECK(check_planners("llama-7b") >= 11);
  CHECK(check_planners("t5-large") >= 11);
  CHECK(check_planners("vit-huge") >= 11);
}

TEST_CASE("every planner on networks of convolutions, of embeddings, of matrices") {
  CHECK(check_planners("resnext-50", 16) >= 10);
  CHECK(check_planners("inception-v3") >= 7);
  CHECK(check_planners("wide-resnet-250m") >= 10);
  CHECK(check_planners("dlrm") >= 4);
  CHECK(check_planners("xdl") >= 5);
  CHECK(check_planners("candle-uno") >= 7);
  CHECK(check_planners("mlp") >= 10);
}

TEST_CASE("the best of Megatron's grid") {
  for (const char* name : {"bert-large", "moe-380m"}) {
    const test::Question q = question(name);
    const search::SearchResult result = search::megatron_search(q.problem(), {.simulate_best = 1}, {});
    REQUIRE(result.best);
    CHECK(check_plan(name, *result.best));
  }
}

TEST_CASE("operators that are cut each in its own way") {
  for (const char* name : {"mlp-mnist", "dlrm", "moe-380m"}) {
    const test::Question q = question(name);
    const search::SearchResult result = search::alpa_search(q.problem(), search::AlpaSpace::one_stage, {}, {});
    REQUIRE(result.best);
    CHECK(check_plan(name, *result.best));
  }
}

TEST_CASE("stages of operators that are cut each in its own way") {
  using search::AlpaSpace;
  for (const char* name : {"mlp-mnist", "bert-large", "moe-380m"})
    for (const AlpaSpace space : {AlpaSpace::all, AlpaSpace::stages_alone, AlpaSpace::samples}) {
      const test::Question q = question(name);
      const search::SearchResult result = search::alpa_search(q.problem(), space, {.settings = {.micro_batches = 4}}, {});
      if (!result.best) {  // three layers are no stages for more GPUs
        CHECK(result.termination.is_infeasible());
        CHECK(space == AlpaSpace::stages_alone);
        continue;
      }
      CHECK(check_plan(name, *result.best));
    }
}

TEST_CASE("tables in model parallelism, products by samples or by features") {
  using ModelParallel = search::ExpertDlrmConfig::ModelParallel;
  for (const char* name : {"dlrm", "xdl", "candle-uno", "mlp", "t5-large", "moe-380m"})
    for (const ModelParallel m : {ModelParallel::where_fit, ModelParallel::by_cost}) {
      const test::Question q = question(name);
      CHECK(check_plan(name, search::expert_dlrm_plan(q.problem(), {.model_parallel = m})));
    }
}

TEST_CASE("operators that a random walk places each on its own devices") {
  for (const char* name : {"mlp-mnist", "dlrm", "moe-380m"}) {
    const test::Question q = question(name);
    const search::SearchResult result =
        search::flexflow_search(q.problem(), pcg::with_batch(q.model, q.training.global_batch), {.proposals = 2000}, {});
    REQUIRE(result.best);
    CHECK(check_plan(name, *result.best));
  }
}

TEST_CASE("layers that are each cut in their own way, in stages") {
  for (const char* name : {"bert-large", "t5-large", "vit-huge", "moe-380m", "wide-resnet-250m", "mlp-mnist"}) {
    const test::Question q = question(name);
    for (const search::SearchResult& result :
         {search::uniap_search(q.problem(), {.simulated = 2}, {}), search::galvatron_search(q.problem(), {}, {})}) {
      REQUIRE_MESSAGE(result.best.has_value(), std::string(name));
      CHECK(check_plan(name, *result.best));
    }
  }
}

TEST_CASE("graphs that are rewritten and mapped together") {
  for (const char* name : {"mlp-mnist", "dlrm", "xdl", "inception-v3", "resnext-50"}) {
    const test::Question q = question(name);
    const search::SearchResult result = search::unity_search(q.problem(), {.graphs = 40, .steps = 500}, {});
    REQUIRE(result.best);
    CHECK(check_plan(name, *result.best));
  }
}
