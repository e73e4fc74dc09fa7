#include "scenarios/plan_entries.hpp"

#include <doctest/doctest.h>

namespace {

std::vector<scenarios::PlanEntry> entries(const std::string& list, std::string* error = nullptr) {
  base::Diagnostics sink;
  auto result = scenarios::read_plan_entries(base::parse_yaml(list, "p"), "plans", {}, sink);
  try {
    sink.throw_if_any();
  } catch (const base::InputError& e) {
    if (error == nullptr) throw;
    for (const base::Diagnostic& d : e.diagnostics()) *error += d.path + ": " + d.message + "\n";
  }
  return result;
}

std::string error(const std::string& list) {
  std::string text;
  (void)entries(list, &text);
  return text;
}

}  // namespace

TEST_CASE("entries are named after their kind, repeats are numbered, a name wins") {
  const auto e = entries("[data-parallel, {megatron: {tensor: 2}}, {megatron: {tensor: 4}}, {megatron: search, name: ours}, fsdp]");
  std::string names;
  for (const auto& entry : e) names += entry.name + " ";
  CHECK(names == "data-parallel megatron megatron#2 ours fsdp ");
  CHECK(std::get<scenarios::MegatronEntry>(e[2].kind).config.tensor == 4);
  CHECK(std::holds_alternative<scenarios::MegatronSearchEntry>(e[3].kind));
  CHECK(std::get<scenarios::FsdpEntry>(e[4].kind).config.stage == 3);
}

TEST_CASE("every key of a grid") {
  const auto e = entries(
      "[{megatron: {tensor: 2, pipeline: 4, data: 8, context: 2, expert: 2, micro_batch: 3, chunks: 2, sequence_parallel: true, recompute: "
      "full, zero: 1}}]");
  const auto& c = std::get<scenarios::MegatronEntry>(e[0].kind).config;
  CHECK(c.tensor == 2);
  CHECK(c.pipeline == 4);
  CHECK(c.data == 8);
  CHECK(c.context == 2);
  CHECK(c.expert == 2);
  CHECK(c.micro_batch == 3);
  CHECK(c.chunks == 2);
  CHECK(c.schedule == pcg::ScheduleKind::interleaved);  // that is what chunks mean
  CHECK(c.sequence_parallel);
  CHECK(c.recompute == pcg::Recompute::full);
  CHECK(c.zero == 1);
}

TEST_CASE("options of the search and of sharded data parallelism") {
  const auto e =
      entries("[{megatron: {search: true, budget: 5 s, simulate_best: 3}}, {fsdp: {stage: zero2, recompute: selective, micro_batch: 2}}]");
  const auto& s = std::get<scenarios::MegatronSearchEntry>(e[0].kind).config;
  CHECK(s.budget == base::Seconds(5));
  CHECK(s.simulate_best == 3);
  const auto& f = std::get<scenarios::FsdpEntry>(e[1].kind).config;
  CHECK(f.stage == 2);
  CHECK(f.recompute == pcg::Recompute::selective);
  CHECK(f.micro_batch == 2);
}

TEST_CASE("what is wrong with an entry") {
  CHECK(error("[megatron]") == "plans[0]: megatron needs its degrees\n");
  CHECK(error("[{name: ours}]") == "plans[0]: the entry names no plan\n");
  CHECK(error("[{megatron: {tensor: 2}, fsdp: {}}]") == "plans[0]: one entry asks for megatron and for fsdp\n");
  CHECK(error("[{megatron: {tensor: 0}}]") == "plans[0].megatron.tensor: tensor must be at least 1, found 0\n");
  CHECK(error("[{megatron: {schedule: 1f1b, chunks: 2}}]") ==
        "plans[0].megatron.chunks: only the interleaved schedule has more than one chunk per device\n");
  CHECK(error("[{megatron: fast}]") == "plans[0].megatron: found \"fast\", expected a map of degrees or the word search\n");
  CHECK(error("[{fsdp: {stage: zero4}}]") == "plans[0].fsdp.stage: unknown stage \"zero4\"\n");
  CHECK(error("data-parallel") == "plans: expected a list of plans\n");
  CHECK(error("[{file: /nowhere.plan.yaml}]") != "");
}
