#pragma once
// The pieces that the answer of a scenario is made of, and who does them: here, in worker processes, or on other machines.

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "scenarios/answer/answer_store.hpp"
#include "scenarios/answer/result.hpp"
#include "scenarios/answer/run.hpp"

namespace scenarios {

struct Piece {
  // All that the answer depends on: pieces that ask the same are answered once.
  std::string question;
  std::function<std::vector<Run>()> answer;
  // The answer where there is none, and why.
  std::function<Run(Status, const std::string& ended)> unanswered;
  // A plan that answers are likely to have: it is not sent between processes again and again. May be null.
  std::shared_ptr<const pcg::Plan> known;
  // Its answer is wanted even after an interruption: searches then end with the best plan so far.
  bool needed = false;
};

// Does pieces, one list after another, and says how far it is.
class WorkList {
 public:
  // `total`: pieces in all lists together. Options and store outlive it; without a store nothing is kept.
  WorkList(const RunOptions& options, const AnswerStore* store, std::size_t total);

  using Answer = std::optional<std::vector<Run>>;  // nullopt: not begun, because of an interruption

  // Returns the answers in order. `each`: what the pieces may use themselves, which is set before they are done.
  [[nodiscard]] std::vector<Answer> answers(const std::vector<Piece>& pieces, RunOptions& each);

 private:
  using Finished = std::function<void(std::size_t)>;
  [[nodiscard]] nlohmann::json find(const Piece& piece) const;  // null: not kept
  void keep(const Piece& piece, const nlohmann::json& answer) const;
  [[nodiscard]] std::vector<Answer> done_here(const std::vector<const Piece*>& open, const Finished& finished);
  [[nodiscard]] std::vector<Answer> done_by_workers(const std::vector<const Piece*>& open, const Finished& finished);
  void slim(std::vector<Run>& runs, const Piece& piece);
  void say(std::string_view what) const;
  void finish(std::size_t pieces, bool computed);

  const RunOptions& options_;
  const AnswerStore* store_;
  std::size_t total_, done_ = 0, computed_ = 0;
  double start_s_;
  StoredPlan::Texts texts_;  // of all answers so far
};

// "37 of 120 answered, 2.1 each second, 40 s left". `computed` of those that are done took `seconds`; the others were known.
[[nodiscard]] std::string progress_text(std::size_t done, std::size_t computed, std::size_t total, double seconds);

}  // namespace scenarios
