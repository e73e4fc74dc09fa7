#pragma once
// How the operators of a plan are cut, in a few words for people.

#include <string>

#include "pcg/plan/plan.hpp"

namespace search {

// "b 4 x n 2", "copies 8", "sums 2 of input 0", "whole": the loops that are cut, by name; copies of the same work; partial sums that pass.
[[nodiscard]] std::string cut_text(const pcg::IterationSpace& space, const pcg::Sharding& sharding);
// The commonest cuts first: "23 operators b 8, 4 operators b 2 x n 4".
[[nodiscard]] std::string summary_of_cuts(const pcg::Plan& plan);

}  // namespace search
