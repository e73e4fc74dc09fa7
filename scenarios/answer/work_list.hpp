#pragma once
// The tasks that the answer of a scenario is made of, who does them, and a store of their answers. Private to this folder. Done here, in
// worker processes, or on other machines.

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "scenarios/answer/result.hpp"
#include "scenarios/answer/run.hpp"

namespace scenarios {

// Answers kept in a folder, so that work that was cut off goes on where it was (`--resume`). An answer is found by its question: a text
// that holds all that the answer depends on. Several processes may keep answers in one folder at once.
class AnswerStore {
 public:
  // Makes the folder where it is not there. Throws: base::InputError where that fails, or the name is that of a file.
  explicit AnswerStore(std::filesystem::path folder);

  // Returns what was kept for the question; null: nothing, or what is there is no whole answer to it.
  [[nodiscard]] nlohmann::json find(const std::string& question) const;
  // Cost: the answer is on the disk when this returns (base/files/output_file.hpp). Throws: base::InputError when it cannot be written.
  void keep(const std::string& question, const nlohmann::json& answer) const;

 private:
  [[nodiscard]] std::filesystem::path file_of(const std::string& question) const;

  std::filesystem::path folder_;
};

struct Task {
  // All that the answer depends on: tasks that ask the same are answered once.
  std::string question;
  std::function<std::vector<Run>(const RunOptions& each)> answer;  // `each`: what one task may use
  // The answer where there is none, and why.
  std::function<Run(Status, const std::string& ended)> unanswered;
  // A plan that answers are likely to have: it is not sent between processes again and again. May be null.
  std::shared_ptr<const pcg::Plan> known;
  // Its answer is wanted even after an interruption: searches then end with the best plan so far.
  bool needed = false;
};

// Does tasks, one list after another, and says how far it is.
class WorkList {
 public:
  // `total`: tasks in all lists together. Options and store outlive it; without a store nothing is kept.
  WorkList(const RunOptions& options, const AnswerStore* store, std::size_t total);

  using Answer = std::optional<std::vector<Run>>;  // nullopt: not begun, because of an interruption

  // Returns the answers in order.
  [[nodiscard]] std::vector<Answer> answers(const std::vector<Task>& tasks);

 private:
  using Finished = std::function<void(std::size_t)>;
  [[nodiscard]] nlohmann::json find(const Task& task) const;  // null: not kept
  void keep(const Task& task, const nlohmann::json& answer) const;
  [[nodiscard]] std::vector<Answer> done_here(const std::vector<const Task*>& open, const RunOptions& each, const Finished& finished);
  [[nodiscard]] std::vector<Answer> done_by_workers(const std::vector<const Task*>& open, const RunOptions& each, const Finished& finished);
  void slim(std::vector<Run>& runs, const Task& task);
  void say(std::string_view what) const;
  void finish(std::size_t tasks, bool computed);

  const RunOptions& options_;
  const AnswerStore* store_;
  std::size_t total_, done_ = 0, computed_ = 0;
  double start_s_;
  StoredPlan::Texts texts_;  // of all answers so far
};

// "37 of 120 answered, 2.1 each second, 40 s left". `computed` of those that are done took `seconds`; the others were known.
[[nodiscard]] std::string progress_text(std::size_t done, std::size_t computed, std::size_t total, double seconds);

}  // namespace scenarios
