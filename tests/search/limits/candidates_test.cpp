// The option `candidates`: where it ends a search no clock has a say.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>

#include "../problem.hpp"
#include "base/yaml/parse.hpp"
#include "search/planners.hpp"
#include "search/problem/options.hpp"

namespace {

search::OptionValues values_of(const search::Planner& planner, const std::string& yaml) {
  const base::Yaml document = base::parse_yaml(yaml, "<test>");
  base::Diagnostics sink;
  base::MapReader in(document, "", sink);
  search::OptionValues values = search::read_options(in, planner.options, {});
  in.finish();
  sink.throw_if_any();
  return values;
}

// A clock that runs so many seconds on whenever someone looks at it, but not beyond `last`.
search::SearchContext ticking(double seconds, double last = 1e300) {
  return {.seed = 7, .clock = [now = 0.0, seconds, last]() mutable { return base::Seconds(now = std::min(last, now + seconds)); }};
}
// Slow: at the second look it is beyond each share of 1000 s that a part of a search may take, and stays within the 1000 s.
search::SearchContext slow_clock() { return ticking(600, 700); }
search::SearchContext quick_clock() { return ticking(1e-7); }

bool is_limited(const search::Planner& p) {
  return std::ranges::find(p.options, std::string("candidates"), &search::Option::key) != p.options.end();
}

}  // namespace

TEST_CASE("every planner that searches has both limits, with one meaning") {
  for (const search::Planner& p : search::planners()) {
    CAPTURE(p.name());
    CHECK(is_limited(p) == p.searches);
    if (!p.searches) continue;
    const search::SearchLimits by_default = search::limits_of(search::OptionValues(p.options));
    CHECK(by_default.candidates == search::SearchLimits::kUncounted);
    const search::SearchLimits given = search::limits_of(values_of(p, "{budget: 3 s, candidates: 9}"));
    CHECK(given.seconds == base::Seconds(3));
    CHECK(given.candidates == 9);
  }
}

TEST_CASE("an equal count of candidates gives an equal plan, however quick the clock") {
  const test::Question roomy(test::kSmallGpt, 1, 4, 8);
  const test::TwoConvolutions rewritten;
  for (const test::Question* q : {&roomy, static_cast<const test::Question*>(&rewritten)})
    for (const search::Planner& p : search::planners()) {
      if (!is_limited(p)) continue;
      for (const int candidates : {1, 5, 40}) {
        CAPTURE(p.name());
        CAPTURE(candidates);
        std::string options = fmt::format("budget: 1000 s, candidates: {}", candidates);
        if (p.kind == "fsdp") options += ", stage: search";
        const search::OptionValues values = values_of(p, "{" + options + "}");
        const search::SearchResult slow = p.plan(q->problem(), values, slow_clock()), quick = p.plan(q->problem(), values, quick_clock());
        CHECK(slow.best == quick.best);
        CHECK(slow.closest == quick.closest);
        CHECK(slow.counted == quick.counted);
        CHECK(slow.notes == quick.notes);
        CHECK(stop_reason(slow.termination) == stop_reason(quick.termination));
        CHECK(slow.termination.limit() != search::Limit::effort);
      }
    }
}

TEST_CASE("a search that its candidates end says so, and looks at no more than a few more") {
  const test::Question q(test::kSmallGpt, 1, 8, 64);
  for (const search::Planner& p : search::planners()) {
    if (!is_limited(p) || p.kind == "auto") continue;  // which asks all the others
    CAPTURE(p.name());
    const std::string stage = p.kind == "fsdp" ? ", stage: search" : "";
    const search::SearchResult few = p.plan(q.problem(), values_of(p, "{candidates: 4" + stage + "}"), {});
    REQUIRE(few.best);
    CHECK(few.termination.limit() == search::Limit::candidates);
    CHECK(search::stop_reason(few.termination) == "candidate_limit");
    // Each of the parts of a search has one at least, and may leave one; what was begun is ended: a kind of plans with what is simulated of
    // it.
    CHECK(few.counted >= 3);
    CHECK(few.counted <= 4 + 8);
  }
}

TEST_CASE("a budget gives its parts shares, and keeps what ended it") {
  const search::SearchContext no_clock;
  search::Budget counted(no_clock, {base::Seconds(60), 10});
  CHECK(counted.is_counted());
  CHECK(counted.part(0.25).candidates == 2);
  CHECK(counted.part(0.25).seconds == base::Seconds(60));
  CHECK(counted.part(0.01).candidates == 1);
  counted.add_part(9, search::Limit::options);
  CHECK_FALSE(counted.ended_by());
  CHECK(counted.part(0.5).candidates == 1);
  CHECK(counted.take());
  CHECK_FALSE(counted.take());
  CHECK(counted.ended_by() == search::Limit::candidates);
  counted.end(search::Limit::effort);
  counted.end(search::Limit::candidates);
  CHECK(counted.ended_by() == search::Limit::effort);

  search::SearchContext clock = ticking(10);
  search::Budget timed(clock, base::Seconds(60));
  CHECK_FALSE(timed.is_counted());
  CHECK(timed.part(0.5).seconds == base::Seconds(30));
  CHECK(timed.part(0.5).candidates == search::SearchLimits::kUncounted);
  int taken = 0;
  while (timed.take()) ++taken;
  CHECK(taken == 4);  // two looks at the clock went into the parts
  CHECK(timed.ended_by() == search::Limit::effort);
}
