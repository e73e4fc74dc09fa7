// The cheapest choices within a limit of bytes against CBC, which knows nothing of eliminations and fronts.
#include "tests/oracles/choice_model.hpp"

#include <doctest/doctest.h>

#include "random_choices.hpp"
#include "search/solve/memory_constrained/cheapest_within.hpp"

TEST_CASE("any choices are a solution of the model, at their cost") {
  CHECK(rc::check([] {
    search::ConstrainedProblem p = test::random_limited();
    std::vector<std::uint32_t> choice;
    for (const auto& bytes : p.bytes) choice.push_back(static_cast<std::uint32_t>(test::some(0, static_cast<int>(bytes.size()) - 1)));
    p.limit = 1 + search::bytes_of(p, choice);
    const oracles::ChoiceModel model(p, 10);
    const std::vector<double> values = model.values(choice);
    RC_ASSERT(oracles::is_solution(model.model(), values));
    RC_ASSERT(model.choice(values) == choice);
    RC_ASSERT(std::abs(model.cost(oracles::objective_of(model.model(), values)) - search::cost_of(p.choices, choice)) <= 1e-9);
  }));
}

TEST_CASE("CBC finds nothing cheaper within a limit, where choices are too many to look at all of them") {
  const search::SearchContext no_clock;
  const search::Budget no_hurry(no_clock, base::Seconds(60));
  CHECK(rc::check([&] {
    const search::ConstrainedProblem p = test::random_limited(14, 6);
    const search::ConstrainedChoice found = search::cheapest_within(p, {}, no_hurry);
    RC_ASSERT(found.is_optimal);
    const oracles::ChoiceModel model(p, std::max(1.0, found.seconds));
    const oracles::MilpAnswer milp = oracles::solve_by_cbc(model.model(), {});
    RC_ASSERT((milp.status == oracles::MilpStatus::infeasible) == !found.fits);
    if (!found.fits) return;
    RC_ASSERT(search::bytes_of(p, found.choice) <= p.limit);
    RC_ASSERT(search::cost_of(p.choices, found.choice) == found.seconds);
    // CBC may end with the solution before its best one (rarely; its bound is right then).
    RC_ASSERT(milp.status == oracles::MilpStatus::optimal);
    RC_ASSERT(search::cost_of(p.choices, model.choice(milp.values)) >= (1 - 1e-6) * found.seconds);
    RC_ASSERT(model.cost(milp.bound) >= (1 - 1e-6) * found.seconds);
  }));
}
