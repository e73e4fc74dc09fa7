// Why an iteration takes as long as it does, as text and as JSON.
#include "reports/explanation.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "made_result.hpp"
#include "reports/answer.hpp"
#include "scenarios/answer/result.hpp"

namespace {

scenarios::ScenarioResult with_path() {
  scenarios::ScenarioResult r = test::made_result();
  sim::SimulationResult& s = *r.runs[0].simulation;  // 0.5 s
  s.critical_path = {{{sim::PathKind::operation, "linear forward", ""}, base::Seconds(0.25)},
                     {{sim::PathKind::collective, "all_reduce (gradients)", "nvlink"}, base::Seconds(0.125)}};
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    s.critical_path.push_back({{sim::PathKind::host, name, ""}, base::Seconds(0.015625)});
  s.critical_path.push_back({{sim::PathKind::operation, sim::kOtherParts, ""}, base::Seconds(0.03125)});
  s.links = {{"nvlink", "node0:gpu0->gpu1", 8, base::Bytes(3e9), base::Bytes(4e9), base::BytesPerSecond(32e9), 0.25, 0.5, {0, 0.5}}};
  s.simulated_micro_batches = 12;
  return r;
}

const char* const kWhy =
    "critical path, 500 ms of kernels, transfers and hosts that wait for each other (from 12 micro-batches that were\n"
    "  simulated: what repeats counts as often as it comes)\n"
    "  on the path             kind        link        time   share\n"
    "  linear forward          operator              250 ms  50.0 %\n"
    "  all_reduce (gradients)  collective  nvlink    125 ms  25.0 %\n"
    "  a                       host                15.62 ms   3.1 %\n"
    "  b                       host                15.62 ms   3.1 %\n"
    "  c                       host                15.62 ms   3.1 %\n"
    "  d                       host                15.62 ms   3.1 %\n"
    "  e                       host                15.62 ms   3.1 %\n"
    "  f                       host                15.62 ms   3.1 %\n"
    "  the rest                                    31.25 ms   6.2 %\n"
    "links     number  bytes    busy  most in 1 %  busiest  which is\n"
    "  nvlink       8   3 GB  25.0 %       50.0 %   50.0 %  node0:gpu0->gpu1\n";

}  // namespace

TEST_CASE("a run explained says what is on its critical path and how busy its links are") {
  const scenarios::ScenarioResult r = with_path();
  CHECK(reports::why_text(*r.runs[0].simulation, 120) == kWhy);
  CHECK(reports::text_table(r, {}, reports::Explained::yes).find("linear forward") != std::string::npos);
  CHECK(reports::text_table(r, {}).find("linear forward") == std::string::npos);
  CHECK(reports::why_text(*r.runs[2].simulation, 120).empty());
}

TEST_CASE("JSON has the critical path and the links") {
  const nlohmann::json run = nlohmann::json::parse(reports::json(with_path(), reports::Explained::no))["runs"][0];
  CHECK(run["critical_path"].size() == 9);
  CHECK(run["critical_path"][0] == nlohmann::json{{"kind", "operator"}, {"name", "linear forward"}, {"time_s", 0.25}});
  CHECK(run["critical_path"][1]["link"] == "nvlink");
  CHECK(run["links"] == nlohmann::json::parse(R"([{"type": "nvlink", "name": "node0:gpu0->gpu1", "count": 8, "bytes": 3000000000,
    "carried_bytes": 4000000000, "bandwidth_bytes_per_s": 32000000000, "busy": 0.25, "busiest": 0.5, "over_time": [0.0, 0.5]}])"));
}

TEST_CASE("workers hand back the critical path and the links") {
  scenarios::ScenarioResult r = with_path();
  r.runs.resize(1);
  r.runs[0].made = {};  // plans travel as files, and this one is empty
  const std::vector<scenarios::Run> back = scenarios::decode(scenarios::encode(r.runs, nullptr), nullptr);
  CHECK(reports::why_text(*back[0].simulation, 120) == kWhy);
}
