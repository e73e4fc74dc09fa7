#include "scenarios/capacity/entries.hpp"
#include "tests/about.hpp"

#include <doctest/doctest.h>

using base::Dollars;
using base::Seconds;
using base::Watts;
using scenarios::Fleet;
using scenarios::Per;

namespace {

constexpr Fleet kRented{.nodes = 4, .gpus = 32};
constexpr Fleet kMixed{.nodes = 4, .gpus = 32, .owned_nodes = 1, .owned_gpus = 8};
constexpr Fleet kOwned{.nodes = 4, .gpus = 32, .owned_nodes = 4, .owned_gpus = 32};

scenarios::CandidateTerms priced(double usd, Per per) {
  scenarios::CandidateTerms t;
  t.price = {Dollars(usd), per};
  return t;
}

}  // namespace

TEST_CASE("rent is a price for each GPU, for each node or for all") {
  CHECK(hourly_costs(priced(2.5, Per::gpu), kRented)->total().value() == 32 * 2.5);
  CHECK(hourly_costs(priced(20, Per::node), kRented)->total().value() == 4 * 20);
  CHECK(hourly_costs(priced(100, Per::all), kRented)->total().value() == 100);
  CHECK_FALSE(hourly_costs({}, kRented));
}

TEST_CASE("an owned machine costs in an hour what it costs in its life over the hours in which it works") {
  scenarios::CandidateTerms t;
  t.power = {Watts(10000), Per::node};
  t.pue = 1.5;
  // 4 nodes of 350,400 USD over 4 years, half of whose 35,040 h are used: 80 USD an hour. 17,520 USD a year for each node: 16 USD an hour.
  // 4 x 10 kW x 1.5 = 60 kW at 0.10 USD: 6 USD.
  t.owned = {.nodes = {},
             .capex = {{Dollars(350400), Per::node}},
             .years = 4,
             .utilisation = 0.5,
             .operations = {Dollars(17520), Per::node},
             .electricity = Dollars(0.1)};
  const auto all = hourly_costs(t, kOwned);
  REQUIRE(all);
  CHECK(all->rent.value() == 0);
  CHECK(all->capex.value() == test::about(80));
  CHECK(all->operations.value() == test::about(16));
  CHECK(all->electricity.value() == test::about(6));
  CHECK(over(*all, Seconds(7200)).total().value() == test::about(2 * 102));

  // One node of its own, three rented: a quarter of that, and 24 GPUs at 2.50 USD. The power of all together is shared out by nodes.
  t.price = {Dollars(2.5), Per::gpu};
  CHECK(hourly_costs(t, kMixed)->total().value() == test::about(102.0 / 4 + 60));
  t.power = {Watts(40000), Per::all};
  CHECK(hourly_costs(t, kMixed)->total().value() == test::about(102.0 / 4 + 60));
  CHECK(owned_hourly_costs(t, kMixed).total().value() == test::about(102.0 / 4));
  t.price = {};
  CHECK_FALSE(hourly_costs(t, kMixed));
}

TEST_CASE("power is that of the site") {
  scenarios::CandidateTerms t;
  CHECK_FALSE(site_power(t, kRented));
  t.power = {Watts(700), Per::gpu};
  t.pue = 1.25;
  CHECK(site_power(t, kMixed)->value() == 32 * 700 * 1.25);
}
