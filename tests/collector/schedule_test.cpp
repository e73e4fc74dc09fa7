#include "tools/collector/schedule.hpp"
#include "tests/about.hpp"

#include <doctest/doctest.h>

#include <numeric>

namespace collector {
namespace {

const Device kDevice;

// Adds of a million fp32 numbers each: 12 MB, 3 * 12.6e6 / 4.8e12 = 7.9 us by prediction.
Group made_group(const std::string& name, double weight, int cases) {
  Group g{name, weight, {}};
  for (int i = 0; i < cases; ++i) g.cases.push_back({Operation::add, Precision::fp32, RowsShape{1024, 1024 + i}});
  return g;
}

TEST_CASE("short kernels are run often enough to be seen, long ones not for too long") {
  // 3 us: 67 launches are 201 us; 15 ms hold 75 of them, at most 51 are taken.
  CHECK(repeats_for(3e-6).launches == 67);
  CHECK(repeats_for(3e-6).samples == 51);
  CHECK(repeats_for(1e-3).launches == 1);
  CHECK(repeats_for(1e-3).samples == 15);
  CHECK(repeats_for(0.03).samples == 7);
  CHECK(repeats_for(1e-9).launches == 200);
  // 10 ms to set up, 2 warm-ups, 8 runs of one launch (the first is not kept).
  CHECK(measuring_seconds(0.03) == test::about(0.01 + 0.03 * (2 + 8)));
}

TEST_CASE("time is shared by weight") {
  const std::vector<Group> groups{made_group("one", 1, 200), made_group("three", 3, 200)};
  const std::vector<Scheduled> order = schedule(kDevice, groups);
  REQUIRE(order.size() == 400);
  int of_one = 0;
  for (std::size_t i = 0; i < 200; ++i) of_one += order[i].group == 0 ? 1 : 0;
  CHECK(of_one == test::about(50, 0.05));  // 1 of 4
}

TEST_CASE("when a group is done the others go on, and every case comes once, in its group's order") {
  const std::vector<Group> groups{made_group("few", 1, 3), made_group("many", 1, 40)};
  const std::vector<Scheduled> order = schedule(kDevice, groups);
  CHECK(order.size() == 43);
  std::vector<std::size_t> next(2, 0);
  double before = -1;
  for (const Scheduled& s : order) {
    CHECK(s.what == groups[s.group].cases[next[s.group]++]);
    CHECK(s.starts_at_s > before);
    before = s.starts_at_s;
  }
}

TEST_CASE("the budget cuts the order, and what it cuts is named") {
  const std::vector<Group> groups{made_group("adds", 1, 10)};
  const std::vector<Scheduled> order = schedule(kDevice, groups);
  CHECK(within_budget(order, 0) == 0);
  CHECK(within_budget(order, order[4].starts_at_s) == 4);
  CHECK(within_budget(order, 1e9) == 10);
  CHECK(left_out(groups, order, 4) == std::vector<std::string>{"adds: 4 of 10 cases, then the time budget ended"});
  CHECK(left_out(groups, order, 10).empty());
}

TEST_CASE("shares add up to the budget, with or without collectives") {
  for (const int gpus : {1, 8}) {
    const Shares s = shares_of(240, gpus);
    CHECK(s.launch + s.copies + s.overlap + s.collectives + s.kernels == test::about(240));
    CHECK(s.kernels > 120);
    CHECK((s.collectives > 0) == (gpus > 1));
  }
}

TEST_CASE("half a budget leaves every group its share of the real grid") {
  const std::vector<Group> groups = grid(kDevice, 0);
  const std::vector<Scheduled> order = schedule(kDevice, groups);
  std::vector<int> measured(groups.size(), 0);
  for (std::size_t i = 0; i < within_budget(order, 60); ++i) ++measured[order[i].group];
  for (std::size_t g = 0; g < groups.size(); ++g) CHECK_MESSAGE(measured[g] >= 8, groups[g].name);
}

}  // namespace
}  // namespace collector
