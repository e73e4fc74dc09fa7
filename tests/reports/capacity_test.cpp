#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "made_result.hpp"
#include "reports/answer.hpp"
#include "reports/layout/table.hpp"
#include "tests/about.hpp"
#include "tests/scenarios/capacity/made_cases.hpp"

namespace {

// "fast" on 1 and 4 nodes, "cheap" on 4, of which the last two are owned, and on 64, which cannot train.
scenarios::ScenarioResult made_capacity() {
  scenarios::CapacityTerms terms = test::made_terms(1e9);
  terms.deadline = base::Seconds(15 * 86400);
  terms.budget = base::Dollars(9000);
  terms.candidates[1].owned = {.nodes = 2, .capex = {}, .years = 1, .operations = {base::Dollars(8760), scenarios::Per::node}};
  std::vector<scenarios::CapacityCase> cases = {test::made_case(0, 1, 2), test::made_case(0, 4, 0.5), test::made_case(1, 4, 1),
                                                test::made_case(1, 64, 1)};
  cases[2].fleet.owned_nodes = 2;
  cases[2].fleet.owned_gpus = 16;
  cases[3].forecast.reset();
  scenarios::ScenarioResult result = test::made_result();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    cases[i].run = i;
    result.capacity_runs.push_back(test::made_run("data-parallel", "machine", true, 1));
  }
  result.capacity_runs[3].status = scenarios::Status::out_of_memory;
  result.capacity = scenarios::capacity_result(terms, cases);
  return result;
}

std::string part_about_capacity(const std::string& text) {
  const std::size_t from = text.find("\ncapacity"), to = text.find("\nnotes");
  REQUIRE(from != std::string::npos);
  return text.substr(from + 1, to - from - 1);
}

}  // namespace

TEST_CASE("capacity as text: rows, what they mean, and what to choose") {
  // An iteration of a second is 1e6 s of training, 11.57 days.
  CHECK(part_about_capacity(reports::text_table(made_capacity(), {})) == R"(capacity    1e9 tokens of training, in 15 days, for 9 kUSD

nodes  owned  GPUs  goodput  time          90 %  cost          90 %  energy  in time   in budget  frontier
                          %  days          days  kUSD          kUSD     MWh
fast, data-parallel
    1      0     8    100.0  23.1  17.4 to 34.7  8.89  6.67 to 13.3    1.11  not       probably
    4      0    32    100.0  5.79  4.34 to 8.68  8.89  6.67 to 13.3    1.11  surely    probably   yes
cheap, data-parallel
    4      2    32    100.0  11.6  8.68 to 17.4     5   3.75 to 7.5    2.22  probably  surely     yes
   64      0   512        -     -     no memory     -             -       -  -         -

goodput: the share of the time that trains, besides failures and checkpoints; 90 %: the interval; surely: all of the
interval keeps the limit, probably: its middle does, unlikely: its lower end alone; frontier: none is as quick and as
cheap, and better in one of the two

smallest    cheap x 4 (32 GPUs, data-parallel): 8.68 to 17.4 days, 90 %; 5 kUSD (3.75 to 7.5): rent 4.44, capex 0,
            operations 0.556, electricity 0; 2.222 MWh; data 8; in time probably
  surely    fast x 4 (32 GPUs, data-parallel): 4.34 to 8.68 days, 90 %; 8.89 kUSD (6.67 to 13.3); 1.111 MWh; data 8
cheapest    cheap x 4 (32 GPUs, data-parallel): 8.68 to 17.4 days, 90 %; 5 kUSD (3.75 to 7.5): rent 4.44, capex 0,
            operations 0.556, electricity 0; 2.222 MWh; data 8
quickest    fast x 4 (32 GPUs, data-parallel): 4.34 to 8.68 days, 90 %; 8.89 kUSD (6.67 to 13.3); 1.111 MWh; data 8
break-even  fast x 4 (32 GPUs, data-parallel) would cost as much at 1.12 USD per GPU and hour (now 2 USD/gpu/h)
assumed     nothing fails and nothing is saved, as the scenario has no `reliability`: goodput is 1
)");
}

TEST_CASE("capacity fits a narrow screen") {
  std::istringstream lines(part_about_capacity(reports::text_table(made_capacity(), {.width = 80})));
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(reports::width_of(line) <= 80, line);
}

TEST_CASE("machines are compared with the cheapest: how many times as quick, and whether that is sure") {
  scenarios::ScenarioResult r = made_capacity();
  std::vector<scenarios::CapacityEntry>& entries = r.capacity->entries;
  entries[1].speedup = scenarios::Speedup{.ratio = 2, .low = 1.6, .high = 2.5};
  entries[2].speedup = scenarios::Speedup{};
  const auto text = [&] {
    std::string all = part_about_capacity(reports::text_table(r, {.width = 1000}));
    return all.substr(all.find("quickest "));
  };
  CHECK(text().find("; data 8; 2.00 times as quick as the cheapest (1.60 to 2.50)\n") != std::string::npos);
  entries[1].speedup = scenarios::Speedup{.ratio = 2, .low = 0.75, .high = 2.5};
  CHECK(text().find("; data 8; 2.00 times as quick as the cheapest, not surely (0.75 to 2.50)\n") != std::string::npos);
  const auto j = nlohmann::json::parse(reports::json(r))["capacity"];
  CHECK(j[0]["speedup"].is_null());
  CHECK(j[1]["speedup"] == 2);
  CHECK(j[1]["speedup_interval"].dump() == "[0.75,2.5]");
  CHECK(part_about_capacity(reports::text_table(r, {.width = 1000})).find("1.00 times") == std::string::npos);
}

TEST_CASE("capacity as JSON: figures, nulls where there are none, and the choices by name") {
  const auto j = nlohmann::json::parse(reports::json(made_capacity()));
  REQUIRE(j.at("capacity").size() == 4);
  const auto& fast = j["capacity"][0];
  CHECK(fast["candidate"] == "fast");
  CHECK((fast["nodes"] == 1 && fast["gpus"] == 8 && fast["owned_nodes"] == 0));
  CHECK(fast["time_to_train_s"] == test::about(2e6));
  CHECK(fast["time_to_train_interval_s"][1] == test::about(3e6));
  CHECK(fast["cost_usd"] == test::about(2e6 / 3600 * 8 * 2));
  CHECK(fast["energy_j"] == test::about(2e6 * 2000));
  CHECK((fast["meets_deadline"] == false && fast["deadline_chance"] == "not"));
  CHECK_FALSE(fast.contains("failures"));
  const auto& none = j["capacity"][3];
  CHECK(none["status"] == "out_of_memory");
  for (const char* key : {"goodput", "time_to_train_s", "cost_usd", "energy_j", "on_frontier", "meets_deadline", "meets_budget"})
    CHECK_MESSAGE(none.at(key).is_null(), key);
  CHECK(j["capacity_summary"]["smallest"]["candidate"] == "cheap");
  CHECK(j["capacity_summary"]["break_even"].size() == 2);
  CHECK_FALSE(nlohmann::json::parse(reports::json(test::made_result())).contains("capacity"));
}
