#include "scenarios/answer/result.hpp"

#include <utility>

#include "base/check.hpp"
#include "base/yaml/parse.hpp"
#include "pcg/plan/plan_text.hpp"

namespace scenarios {

std::string_view to_text(Status s) {
  switch (s) {
    case Status::ok: return "ok";
    case Status::out_of_memory: return "out_of_memory";
    case Status::infeasible: return "infeasible";
    case Status::time_limit: return "time_limit";
    case Status::lost: return "lost";
    case Status::crashed: return "crashed";
  }
  return "";
}

const Run* ScenarioResult::best_of_base() const {
  const Run* best = nullptr;
  for (const Run& r : runs)
    if (r.is_of_base() && r.status == Status::ok && (best == nullptr || r.simulation->iteration_time < best->simulation->iteration_time))
      best = &r;
  return best;
}

bool have_same_plan(const Run& a, const Run& b) { return a.made == b.made; }

StoredPlan::StoredPlan(std::string text, std::vector<pcg::Rewrite> rewrites)
    : text_(std::make_shared<const std::string>(std::move(text))), rewrites_(std::move(rewrites)) {}

const pcg::Plan& StoredPlan::operator*() const {
  BASE_CHECK(plan_ != nullptr, "the plan is kept as text");
  return *plan_;
}

std::shared_ptr<const pcg::Plan> StoredPlan::value() const {
  if (!text_) return plan_;
  return std::make_shared<const pcg::Plan>(pcg::read_plan(base::parse_yaml(*text_, "<plan>")));
}

std::string StoredPlan::text() const { return text_ ? *text_ : pcg::write_plan(**this); }

void StoredPlan::keep_text(Texts& known) {
  if (!*this) return;
  if (!text_) *this = StoredPlan(text(), plan_->rewrites);
  const auto at = known.find(*text_);
  if (at == known.end()) known.emplace(*text_, text_);
  else text_ = at->second;
}

bool operator==(const StoredPlan& a, const StoredPlan& b) {
  if (a.plan_ == b.plan_ && a.text_ == b.text_) return true;
  if (a.plan_ && b.plan_) return *a.plan_ == *b.plan_;
  return a.text_ && b.text_ && *a.text_ == *b.text_;
}

}  // namespace scenarios
