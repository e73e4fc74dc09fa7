#pragma once
// What was made, or why it was not: a rewrite that does not fit is an answer, not an exception, because loops try thousands of them.
// This is pcg::OrRefusal with the face of C++23's std::expected.

#include <string>
#include <utility>
#include <variant>

#include "pcg/operators/tensor.hpp"

namespace substitutions {

using pcg::Refusal;  // "the graph would have a cycle"

template <class T>
class OrRefusal {
 public:
  OrRefusal(T made) : answer_(std::move(made)) {}              // NOLINT(google-explicit-constructor): a value is an answer
  OrRefusal(Refusal refusal) : answer_(std::move(refusal)) {}  // NOLINT(google-explicit-constructor): so is a refusal

  OrRefusal(pcg::OrRefusal<T> answer) : answer_(std::move(answer)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] explicit operator bool() const { return answer_.index() == 0; }
  // Requires: something was made.
  [[nodiscard]] T& operator*() { return std::get<0>(answer_); }
  [[nodiscard]] const T& operator*() const { return std::get<0>(answer_); }
  [[nodiscard]] T* operator->() { return &std::get<0>(answer_); }
  [[nodiscard]] const T* operator->() const { return &std::get<0>(answer_); }
  // Requires: nothing was made.
  [[nodiscard]] const Refusal& refusal() const { return std::get<1>(answer_); }
  [[nodiscard]] const std::string& reason() const { return refusal().why; }

 private:
  pcg::OrRefusal<T> answer_;
};

}  // namespace substitutions
