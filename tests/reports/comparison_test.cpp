// Plans side by side: what each is behind the quickest by.
#include "reports/comparison.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

#include "made_result.hpp"
#include "reports/answer.hpp"

namespace {

// Shares of the time are 1/2, 1/4, 1/8 and 1/8, so that 500 ms against 750 ms differ by 125, 62.5, 31.25 and 31.25 ms.
scenarios::ScenarioResult two_plans() {
  scenarios::ScenarioResult r{.scenario = "two",
                              .runs = {test::made_run("slow", "base", true, 0.75), test::made_run("quick", "base", true, 0.5)}};
  r.runs[0].simulation->bytes.by_collective["send"] = base::Bytes(4e9);
  r.runs[1].planning = scenarios::Planning{.searched = true, .objective = base::Seconds(0.25), .lost = {}, .notes = {}};
  return r;
}

nlohmann::json behind_of(const scenarios::ScenarioResult& r, std::size_t run) {
  const nlohmann::json j = nlohmann::json::parse(reports::json(r))["runs"][run];
  return j.contains("behind") ? j["behind"] : nlohmann::json();
}

}  // namespace

TEST_CASE("a plan is behind the quickest by the differences of their breakdowns") {
  const scenarios::ScenarioResult r = two_plans();
  CHECK(
      behind_of(r, 0).dump() ==
      R"({"plan":"quick","seconds":0.25,"terms":{"bubble":0.03125,"compute":0.125,"exposed_communication":0.0625,"idle":0.03125,"imbalance":0.0}})");
  CHECK(behind_of(r, 1).is_null());
  CHECK(reports::behind_text(*reports::behind(r, r.runs[0])) ==
        "250 ms behind quick: 125 ms more compute, 62.5 ms more exposed communication, 31.25 ms more bubble, 31.25 ms more idle");
}

TEST_CASE("exposed communication is told apart by collective and link") {
  scenarios::ScenarioResult r = two_plans();  // 62.5 ms more of it
  sim::Breakdown &slow = r.runs[0].simulation->breakdown, &quick = r.runs[1].simulation->breakdown;
  slow.exposed_by_collective = {{"all_reduce", base::Seconds(0.125)}, {"send", base::Seconds(0.0625)}};
  slow.exposed_by_link = {{"pcie", base::Seconds(0.1875)}};
  quick.exposed_by_collective = {{"all_gather", base::Seconds(0.09375)}, {"all_reduce", base::Seconds(0.03125)}};
  quick.exposed_by_link = {{"nvlink", base::Seconds(0.0625)}, {"pcie", base::Seconds(0.0625)}};
  CHECK(behind_of(r, 0)["exposed_communication_s"].dump() ==
        R"({"by_collective":{"all_gather":-0.09375,"all_reduce":0.09375,"send":0.0625},"by_link":{"nvlink":-0.0625,"pcie":0.125}})");
  CHECK(reports::behind_text(*reports::behind(r, r.runs[0])) ==
        "250 ms behind quick: 125 ms more compute, 62.5 ms more exposed communication (93.75 ms less all_gather, 93.75 ms more all_reduce, "
        "62.5 ms more send; 125 ms more over pcie, 62.5 ms less over nvlink), 31.25 ms more bubble, 31.25 ms more idle");
}

TEST_CASE("the terms add up to the time") {
  CHECK(rc::check([] {
    scenarios::ScenarioResult r = two_plans();
    for (scenarios::Run& run : r.runs) {
      const auto part = [] { return base::Seconds(*rc::gen::inRange(0, 1000) / 64.0); };
      sim::Breakdown& b = run.simulation->breakdown;
      b = {part(), part(), part(), part(), part()};
      run.simulation->iteration_time = b.total();
    }
    for (const scenarios::Run& run : r.runs) {
      const auto b = reports::behind(r, run);
      if (!b) continue;
      RC_ASSERT(b->terms.total() == b->time);
      RC_ASSERT(b->time >= base::Seconds());
    }
  }));
}

TEST_CASE("a plan that does not fit may be ahead, and lacks memory") {
  scenarios::ScenarioResult r = two_plans();
  r.runs[1].status = scenarios::Status::out_of_memory;
  r.runs[1].simulation->memory.capacity = base::Bytes(7.0 * (1 << 30));  // of 8 GiB
  CHECK(behind_of(r, 0).is_null());
  CHECK(behind_of(r, 1)["seconds"] == -0.25);
  CHECK(behind_of(r, 1)["memory_shortage_bytes"] == 1 << 30);
  CHECK(reports::behind_text(*reports::behind(r, r.runs[1]))
            .starts_with("250 ms ahead of slow, and needs 1.0 GiB more memory than there is: "));
}

TEST_CASE("a plan is not behind itself, whether made anew or not") {
  scenarios::ScenarioResult r = test::made_result();
  for (std::size_t i = 0; i < r.runs.size(); ++i) CHECK(behind_of(r, i).is_null());
  r.runs[3].made = std::make_shared<const pcg::Plan>(pcg::Plan{.micro_batches = 2});
  r.runs[3].simulation->iteration_time = base::Seconds(0.125);
  CHECK(behind_of(r, 2)["plan"] == "data-parallel");
}

TEST_CASE("plans side by side, where they are explained") {
  const std::string text = reports::text_table(two_plans(), {}, reports::Explained::yes);
  CHECK(text.find("\n"
                  "time     iteration  compute  exposed comm.    bubble  imbalance      idle  search  objective\n"
                  "base\n"
                  "  slow      750 ms   375 ms       187.5 ms  93.75 ms        0 s  93.75 ms                  -\n"
                  "  quick     500 ms   250 ms         125 ms   62.5 ms        0 s   62.5 ms  500 ms     250 ms\n"
                  "\n"
                  "sent      all  all_gather  all_reduce  send  over nvlink\n"
                  "base\n"
                  "  slow   3 GB        1 GB        2 GB  4 GB         3 GB\n"
                  "  quick  3 GB        1 GB        2 GB     -         3 GB\n"
                  "\n"
                  "behind the quickest plan that fits\n"
                  "  slow: 250 ms behind quick: ") != std::string::npos);
  CHECK(reports::text_table(two_plans(), {}).find("behind") == std::string::npos);
}
