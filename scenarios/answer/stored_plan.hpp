#pragma once
// The plan of an answer: a value where it is worked with; the text of its file where it is kept, as a sweep may have thousands, and the
// value of a large one takes megabytes.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pcg/plan/plan.hpp"

namespace scenarios {

class StoredPlan {
 public:
  // Texts by themselves, so that equal plans share one.
  using Texts = std::map<std::string_view, std::shared_ptr<const std::string>>;

  StoredPlan() = default;  // none
  StoredPlan(std::shared_ptr<const pcg::Plan> plan) : plan_(std::move(plan)) {}
  // As a plan's file has it. Requires: `rewrites` are those in it.
  StoredPlan(std::string text, std::vector<pcg::Rewrite> rewrites);

  explicit operator bool() const { return plan_ || text_; }
  // Requires: a plan, and not as text.
  [[nodiscard]] const pcg::Plan& operator*() const;
  [[nodiscard]] const pcg::Plan* operator->() const { return &**this; }
  // Returns the value, null for none. Cost: the reading of its text, where it is one, which is not kept.
  [[nodiscard]] std::shared_ptr<const pcg::Plan> value() const;
  [[nodiscard]] std::string text() const;  // requires a plan
  [[nodiscard]] const std::vector<pcg::Rewrite>& rewrites() const { return plan_ ? plan_->rewrites : rewrites_; }

  void keep_text(Texts& known);
  void keep_value() { *this = StoredPlan(value()); }

  // Texts are as equal as what they say. A text and a value that are compared are not read: they count as different.
  friend bool operator==(const StoredPlan& a, const StoredPlan& b);

 private:
  std::shared_ptr<const pcg::Plan> plan_;
  std::shared_ptr<const std::string> text_;
  std::vector<pcg::Rewrite> rewrites_;  // beside the text
};

}  // namespace scenarios
