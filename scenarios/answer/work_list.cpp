#include "scenarios/answer/work_list.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/files/output_file.hpp"
#include "base/files/used_files.hpp"
#include "base/hash.hpp"

namespace scenarios {
namespace {

double clock_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool is_cut_short(const RunOptions& options) { return options.interrupted && options.interrupted(); }

constexpr std::size_t kMostJobs = 1024;  // as `--jobs` takes

// "40 s", "12 min", "3.5 h": the seconds of an hour do not matter.
std::string rough_duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  return seconds < 100 * 60 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

std::vector<Run> answer_of(const Task& task, const base::WorkerAnswer& a) {
  using Fate = base::WorkerAnswer::Fate;
  if (a.fate != Fate::answered) return {task.unanswered(a.fate == Fate::crashed ? Status::crashed : Status::lost, a.ended)};
  std::vector<Run> runs = decode(a.answer, task.known);
  if (!a.ended.empty())
    for (Run& r : runs)
      r.notes.push_back({base::NoteKind::problem, "second-worker",
                         fmt::format("its worker process ended before it had answered ({}); this is a second one's answer", a.ended)});
  return runs;
}

constexpr const char* kQuestion = "question";
constexpr const char* kAnswer = "answer";

}  // namespace

std::string progress_text(std::size_t done, std::size_t computed, std::size_t total, double seconds) {
  std::string text = fmt::format("{} of {} answered", done, total);
  constexpr std::size_t kFewest = 3;  // before, a rate says little
  if (computed < kFewest || !(seconds > 0) || done >= total) return text;
  const double rate = static_cast<double>(computed) / seconds, left = static_cast<double>(total - done) / rate;
  text += rate >= 1 ? fmt::format(", {:.1f} each second", rate) : fmt::format(", {} each", rough_duration(1 / rate));
  return text + fmt::format(", {} left", rough_duration(left));
}

WorkList::WorkList(const RunOptions& options, const AnswerStore* store, std::size_t total)
    : options_(options), store_(store), total_(total), start_s_(clock_s()) {}

void WorkList::say(std::string_view what) const {
  if (options_.progress) options_.progress(what);
}

void WorkList::finish(std::size_t tasks, bool computed) {
  done_ += tasks;
  if (computed) ++computed_;
  say(progress_text(done_, computed_, total_, clock_s() - start_s_));
}

nlohmann::json WorkList::find(const Task& task) const { return store_ != nullptr ? store_->find(task.question) : nlohmann::json(); }

void WorkList::keep(const Task& task, const nlohmann::json& answer) const {
  // A search that was cut short may have answered worse than it would.
  if (store_ != nullptr && !is_cut_short(options_)) store_->keep(task.question, answer);
}

// Plans that are known are shared, others are kept as texts.
void WorkList::slim(std::vector<Run>& runs, const Task& task) {
  for (Run& r : runs) {
    if (task.known && r.made == StoredPlan(task.known)) r.made = task.known;
    else if (!task.needed) r.made.keep_text(texts_);
  }
}

std::vector<WorkList::Answer> WorkList::done_here(const std::vector<const Task*>& open, const RunOptions& each, const Finished& finished) {
  std::vector<Answer> answers(open.size());
  for (std::size_t o = 0; o < open.size(); ++o) {
    const Task& task = *open[o];
    if (!task.needed && is_cut_short(options_)) continue;
    answers[o] = task.answer(each);
    if (store_ != nullptr) keep(task, encode(*answers[o], task.known));
    slim(*answers[o], task);
    finished(o);
  }
  return answers;
}

std::vector<WorkList::Answer> WorkList::done_by_workers(const std::vector<const Task*>& open, const RunOptions& each,
                                                        const Finished& finished) {
  // Null: not begun.
  const auto work = [&](std::size_t o) -> nlohmann::json {
    if (nlohmann::json kept = options_.workers ? find(*open[o]) : nlohmann::json(); !kept.is_null()) return kept;
    if (!open[o]->needed && is_cut_short(options_)) return nullptr;
    nlohmann::json answer = encode(open[o]->answer(each), open[o]->known);
    keep(*open[o], answer);
    return answer;
  };
  std::vector<base::WorkerAnswer> done =
      options_.workers ? options_.workers(open.size(), work, finished) : base::try_workers(open.size(), options_.jobs, work, finished);
  std::vector<Answer> answers(open.size());
  for (std::size_t o = 0; o < open.size(); ++o)
    if (done[o].fate != base::WorkerAnswer::Fate::answered || !done[o].answer.is_null()) {
      answers[o] = answer_of(*open[o], done[o]);
      done[o].answer = nullptr;
      slim(*answers[o], *open[o]);
    }
  return answers;
}

std::vector<WorkList::Answer> WorkList::answers(const std::vector<Task>& tasks) {
  std::vector<Answer> answers(tasks.size());
  std::map<std::string_view, std::size_t> first;  // task of each question
  std::vector<std::size_t> same_as, askers(tasks.size(), 0), open_at;
  std::vector<const Task*> open;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    same_as.push_back(first.try_emplace(tasks[i].question, i).first->second);
    ++askers[same_as[i]];
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (same_as[i] != i) continue;
    // Others may see another folder than this process, so they look themselves.
    if (const nlohmann::json kept = options_.workers ? nlohmann::json() : find(tasks[i]); !kept.is_null()) {
      answers[i] = decode(kept, tasks[i].known);
      slim(*answers[i], tasks[i]);
      finish(askers[i], false);
    } else {
      open.push_back(&tasks[i]);
      open_at.push_back(i);
    }
  }

  const bool by_workers = options_.workers || options_.jobs > 1;
  RunOptions each = options_;
  each.jobs = std::max(1, options_.jobs / static_cast<int>(std::clamp<std::size_t>(open.size(), 1, kMostJobs)));
  // Several progress lines at once would be noise: with workers the line counts what is finished.
  each.progress = {};
  if (!by_workers && options_.progress)
    each.progress = [this](std::string_view text) {
      say(total_ == 1 ? std::string(text) : fmt::format("{} of {}: {}", done_ + 1, total_, text));
    };

  const Finished finished = [&](std::size_t o) { finish(askers[open_at[o]], true); };
  std::vector<Answer> fresh = by_workers ? done_by_workers(open, each, finished) : done_here(open, each, finished);
  for (std::size_t o = 0; o < open.size(); ++o) answers[open_at[o]] = std::move(fresh[o]);
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (same_as[i] != i) answers[i] = answers[same_as[i]];
  return answers;
}

AnswerStore::AnswerStore(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (!std::filesystem::is_directory(folder_))
    base::refuse(folder_.string(), fmt::format("answers cannot be kept here: {}", error ? error.message() : "it is no folder"),
                 "--resume takes a folder, which is made where it is missing");
}

std::filesystem::path AnswerStore::file_of(const std::string& question) const {
  return folder_ / fmt::format("{:016x}.json", base::hash_text(question));
}

nlohmann::json AnswerStore::find(const std::string& question) const {
  const std::filesystem::path path = file_of(question);
  base::note_input(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return nullptr;
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  nlohmann::json kept = nlohmann::json::parse(text, nullptr, false);
  // Two questions may share a hash, and somebody may have written here.
  if (!kept.is_object() || kept.value(kQuestion, "") != question || !kept.contains(kAnswer)) return nullptr;
  return std::move(kept[kAnswer]);
}

void AnswerStore::keep(const std::string& question, const nlohmann::json& answer) const {
  const nlohmann::json kept = {{kQuestion, question}, {kAnswer, answer}};
  base::write_file(file_of(question), kept.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace scenarios
