#include "scenarios/capacity/entries.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "tests/about.hpp"

using base::Seconds;

namespace {

// The wall-clock time of so many segments, failure by failure.
double simulated_time(const scenarios::FailureTimes& times, double interval, int segments, base::Random& random) {
  const double m = times.mtbf.value();
  const auto until_failure = [&] { return -m * std::log1p(-random.uniform()); };
  double clock = 0, failure = until_failure();  // the next one, from now on
  const auto passes = [&](double duration) {
    if (failure >= duration) {
      clock += duration;
      failure -= duration;
      return true;
    }
    clock += failure;
    failure = until_failure();
    return false;
  };
  for (int done = 0; done < segments;) {
    if (passes(interval + times.checkpoint.value())) ++done;
    else
      while (!passes(times.restart.value())) {}
  }
  return clock;
}

double best_goodput(const scenarios::FailureTimes& times) {
  double low = 1, high = 3 * times.mtbf.value();  // by thirds: the goodput rises and then falls
  for (int i = 0; i < 200; ++i) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    (goodput(times, Seconds(a)) < goodput(times, Seconds(b)) ? low : high) =
        goodput(times, Seconds(a)) < goodput(times, Seconds(b)) ? a : b;
  }
  return goodput(times, Seconds(low));
}

}  // namespace

TEST_CASE("the interval is Young's where failures are rare beside checkpoints, and the mean time between failures where they are not") {
  // sqrt(2 x 1 x 20000) = 200; x = 1/40000, sqrt(x) = 1/200: 200 (1 + 1/600 + 1/360000) - 1.
  CHECK(scenarios::checkpoint_interval({Seconds(20000), Seconds(1), Seconds(0)}).value() ==
        test::about(200 + 1.0 / 3 + 200.0 / 360000 - 1));
  CHECK(scenarios::checkpoint_interval({Seconds(100), Seconds(200), Seconds(0)}).value() == 100);
  CHECK(scenarios::checkpoint_interval({Seconds(100), Seconds(0), Seconds(0)}).value() == 0);
}

TEST_CASE("goodput in closed form") {
  // Without failures to speak of: what checkpoints leave, 90 of 100 s.
  CHECK(scenarios::goodput({Seconds(1e12), Seconds(10), Seconds(60)}, Seconds(90)) == test::about(0.9));
  // M = t + d = 100 s, no restart: E = 100 (e - 1).
  CHECK(scenarios::goodput({Seconds(100), Seconds(10), Seconds(0)}, Seconds(90)) == test::about(0.9 / (std::exp(1.0) - 1)));
  // A restart of M takes M (e - 1) and is needed once in a failure: a factor of e over all.
  CHECK(scenarios::goodput({Seconds(100), Seconds(10), Seconds(100)}, Seconds(90)) ==
        test::about(0.9 / (std::exp(1.0) - 1) / std::exp(1.0)));
  // Failures faster than anything is done: 0, not nan.
  CHECK(scenarios::goodput({Seconds(1), Seconds(1e5), Seconds(1e5)}, Seconds(1e5)) == 0);
}

TEST_CASE("the first-order formula is the beginning of the series") {
  // 1 - d/t - t/(2M) - R/M with all terms of a hundredth and less; what is left out are their products.
  const scenarios::FailureTimes times{Seconds(1e6), Seconds(10), Seconds(600)};
  CHECK(std::abs(scenarios::goodput(times, Seconds(4000)) - (1 - 10.0 / 4000 - 4000.0 / 2e6 - 600.0 / 1e6)) < 2e-5);
}

TEST_CASE("the interval has the best goodput, or nearly so") {
  for (const double checkpoint : {1.0, 10.0, 50.0, 100.0, 300.0, 1000.0, 1900.0, 1990.0, 2000.0, 3000.0}) {
    const scenarios::FailureTimes times{Seconds(1000), Seconds(checkpoint), Seconds(100)};
    const double best = best_goodput(times), young = goodput(times, Seconds(std::sqrt(2 * checkpoint * 1000)));
    CAPTURE(checkpoint);
    CHECK(goodput(times, scenarios::checkpoint_interval(times)) > 0.998 * best);
    CHECK((young > 0.998 * best) == (checkpoint <= 50));
    if (checkpoint == 1000) CHECK(young == test::about(0.88 * best, 0.01));
  }
}

TEST_CASE("goodput is what a simulation of failures gives") {
  CHECK(rc::check("against failures drawn at random", [](std::uint64_t seed) {
    base::Random random(seed);
    const scenarios::FailureTimes times{Seconds(1000), Seconds(*rc::gen::inRange(0, 500)), Seconds(*rc::gen::inRange(0, 500))};
    const double interval = *rc::gen::inRange(50, 2000);
    constexpr int kSegments = 20000;
    const double simulated = kSegments * interval / simulated_time(times, interval, kSegments, random);
    // A segment's time has a spread of its own size or a few times that: 20,000 of them are within 5 % all but surely.
    RC_ASSERT(std::abs(simulated / goodput(times, Seconds(interval)) - 1) < 0.05);
  }));
}

TEST_CASE("more failures, longer checkpoints and longer restarts never help") {
  CHECK(rc::check("monotonous", [] {
    const auto seconds = [](int from) { return Seconds(*rc::gen::inRange(from, 10000)); };
    const scenarios::FailureTimes t{seconds(10), seconds(0), seconds(0)};
    const Seconds interval = seconds(1), more = seconds(1);
    const double g = goodput(t, interval);
    RC_ASSERT(g >= 0 && g < 1);
    RC_ASSERT(scenarios::goodput({t.mtbf + more, t.checkpoint, t.restart}, interval) >= g);
    RC_ASSERT(scenarios::goodput({t.mtbf, t.checkpoint + more, t.restart}, interval) <= g);
    RC_ASSERT(scenarios::goodput({t.mtbf, t.checkpoint, t.restart + more}, interval) <= g);
  }));
}
