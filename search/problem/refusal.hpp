#pragma once
// Why a plan cannot be made, as a value: planners try thousands of candidates, and most of them fail.

#include <string>

#include "base/attempt.hpp"

namespace search {

// What part of the question a plan would violate.
enum class Constraint { devices, batch, schedule, sequence, experts, layers, heads, operators, precision };

struct Refusal {
  Constraint constraint = Constraint::devices;
  std::string why;  // one sentence with the numbers: "24 layers do not split into 5 equal stages"
};

template <class T>
using Attempt = base::Attempt<T, Refusal>;

}  // namespace search
