#pragma once
// The time that a search may take.

#include <algorithm>

#include "search/problem/problem.hpp"

namespace search {

// Starts when it is made. Requires: the context outlives it.
class Deadline {
 public:
  Deadline(const SearchContext& context, base::Seconds budget) : context_(context), budget_(budget) {
    if (context_.clock) start_ = context_.clock();
  }
  // Where there is no clock only by an interruption.
  [[nodiscard]] bool has_passed() const {
    return (context_.interrupted && context_.interrupted()) || (context_.clock && context_.clock() - start_ > budget_);
  }

  // All of it, where there is no clock.
  [[nodiscard]] base::Seconds left() const {
    return context_.clock ? base::Seconds(std::max(0.0, (budget_ - (context_.clock() - start_)).value())) : budget_;
  }

 private:
  const SearchContext& context_;
  base::Seconds budget_, start_;
};

}  // namespace search
