#pragma once
// An attempt holds a value, or the reason why there is none: C++23's std::expected, which GCC 12 lacks. Loops that try thousands of
// candidates get one, because most candidates are refused and an exception for each would cost more than the work.

#include <string>
#include <utility>
#include <variant>

#include "base/check.hpp"

namespace base {

// A refusal says why there is no value.
struct Refusal {
  std::string why;  // one sentence with the numbers: "linear: input 0 has no dims"
};

// Requires: a Reason has a sentence `why` (Refusal, or a struct with facts beside the sentence).
template <class T, class Reason = Refusal>
class [[nodiscard]] Attempt {
 public:
  Attempt(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor): a value is an answer
  Attempt(Reason refusal) : state_(std::in_place_index<1>, std::move(refusal)) {}  // NOLINT(google-explicit-constructor): so is a refusal

  explicit operator bool() const { return state_.index() == 0; }
  // Returns: the value.
  // Requires: there is one; the refusal is the message of the check.
  [[nodiscard]] const T& value() const& { return require_value(), std::get<0>(state_); }
  [[nodiscard]] T& value() & { return require_value(), std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return require_value(), std::get<0>(std::move(state_)); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] T&& operator*() && { return std::move(*this).value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }
  [[nodiscard]] T* operator->() { return &value(); }
  // Returns: why there is no value.
  // Requires: there is none.
  [[nodiscard]] const Reason& refusal() const { return std::get<1>(state_); }

 private:
  void require_value() const { BASE_CHECK(state_.index() == 0, "no value: {}", std::get<1>(state_).why); }

  std::variant<T, Reason> state_;
};

}  // namespace base
