#pragma once
// Why a plan cannot be made, as a value: planners try thousands of candidates, and most of them fail.

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/attempt.hpp"

namespace search {

// The part of the question that a plan would violate.
enum class Constraint { devices, batch, schedule, sequence, experts, layers, heads, operators, precision, model };

struct Refusal {
  Constraint constraint = Constraint::devices;
  std::string why;  // one sentence with the numbers: "24 layers do not split into 5 equal stages"
};

template <class... A>
[[nodiscard]] Refusal refuse(Constraint constraint, fmt::format_string<A...> why, A&&... values) {
  return {constraint, fmt::format(why, std::forward<A>(values)...)};
}

// Micro-batches that are asked for do not divide the batch.
[[nodiscard]] inline Refusal not_dividing(std::int64_t micro_batches, std::int64_t global_batch) {
  return refuse(Constraint::batch, "{} micro-batches do not divide a global batch of {}", micro_batches, global_batch);
}

template <class T>
using Attempt = base::Attempt<T, Refusal>;

}  // namespace search
