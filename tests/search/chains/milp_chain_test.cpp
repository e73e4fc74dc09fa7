// The mixed-integer programme of a chain against dynamic programming and against every answer looked at.
#include "search/chains/milp_chain.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "random_chain.hpp"
#include "search/chains/chain_programme.hpp"

namespace {

constexpr base::Seconds kLong(60);
const search::SearchContext kNoClockHere;
const search::Deadline kNeverOver(kNoClockHere, kLong);

search::MilpChain by_milp(const search::LayerChain& chain, double to_beat = test::kNever,
                          const std::optional<search::ChainAnswer>& start = std::nullopt) {
  return search::cheapest_chain_by_milp(chain, to_beat, start, kLong, kNeverOver);
}

}  // namespace

TEST_CASE("the programme, dynamic programming and every answer looked at agree") {
  for (const bool tight : {false, true})
    CHECK(rc::check([&] {
      const search::LayerChain chain = test::random_chain(tight);
      search::ChainAnswer none;
      const double least = test::least_of_all(chain, none);
      const auto exact = search::cheapest_chain(chain, test::kNever, kNeverOver);
      const search::MilpChain milp = by_milp(chain, test::kNever, search::uniform_chain(chain));
      RC_ASSERT(milp.is_proved);
      RC_ASSERT(exact.has_value() == (least < test::kNever));
      RC_ASSERT(milp.answer.has_value() == exact.has_value());
      if (!exact) return;
      RC_ASSERT(std::abs(milp.answer->seconds - least) <= 1e-9 * least);
      RC_ASSERT(std::abs(milp.answer->seconds - exact->seconds) <= 1e-9 * least);
      RC_ASSERT(milp.answer->seconds == search::chain_seconds(chain, *milp.answer));
      RC_ASSERT(milp.bound <= least * (1 + 1e-6));
      // Any solution of the programme is worth the seconds of the answer that it stands for.
      const search::ChainProgramme model(chain, least);
      const std::vector<double> values = model.values(*exact);
      RC_ASSERT(search::is_solution(model.programme(), values));
      RC_ASSERT(std::abs(model.seconds(search::objective_of(model.programme(), values)) - exact->seconds) <= 1e-9 * least);
      RC_ASSERT(model.answer(values) == *exact);
    }));
}
