#pragma once
// Why a plan cannot be made, as a value: planners try thousands of candidates, and most of them fail.

#include <string>
#include <utility>
#include <variant>

#include "base/check.hpp"

namespace search {

// What part of the question a plan would violate.
enum class Constraint { devices, batch, schedule, sequence, experts, layers, heads, operators, precision };

struct Refusal {
  Constraint constraint = Constraint::devices;
  std::string why;  // one sentence with the numbers: "24 layers do not split into 5 equal stages"
};

// A T, or the reason why there is none (GCC 12 has no std::expected).
template <class T>
class [[nodiscard]] Attempt {
 public:
  Attempt(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Attempt(Refusal refusal) : state_(std::in_place_index<1>, std::move(refusal)) {}

  explicit operator bool() const { return state_.index() == 0; }
  // Requires: there is a value. The refusal is the message of the check.
  [[nodiscard]] const T& value() const& {
    require_value();
    return std::get<0>(state_);
  }
  [[nodiscard]] T&& value() && {
    require_value();
    return std::get<0>(std::move(state_));
  }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }
  // Requires: there is none.
  [[nodiscard]] const Refusal& refusal() const { return std::get<1>(state_); }

 private:
  void require_value() const { BASE_CHECK(state_.index() == 0, "no value: {}", std::get<1>(state_).why); }

  std::variant<T, Refusal> state_;
};

}  // namespace search
