#include "scenarios/answer/work_list.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/answer/run_codec.hpp"

namespace scenarios {
namespace {

double clock_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool is_cut_short(const RunOptions& options) { return options.interrupted && options.interrupted(); }

constexpr std::size_t kMostJobs = 1024;  // as `--jobs` takes

// "40 s", "12 min", "3.5 h": nobody waits for the seconds of an hour.
std::string rough_duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 100 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::vector<Run> answer_of(const Piece& piece, const base::WorkerAnswer& a) {
  using Fate = base::WorkerAnswer::Fate;
  if (a.fate != Fate::answered) return {piece.unanswered(a.fate == Fate::crashed ? Status::crashed : Status::lost, a.ended)};
  std::vector<Run> runs = decode(a.answer, piece.known);
  if (!a.ended.empty())
    for (Run& r : runs)
      r.notes.push_back({base::NoteKind::problem,
                         fmt::format("its worker process ended before it had answered ({}); this is a second one's answer", a.ended)});
  return runs;
}

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

void WorkList::finish(std::size_t pieces, bool computed) {
  done_ += pieces;
  if (computed) ++computed_;
  say(progress_text(done_, computed_, total_, clock_s() - start_s_));
}

nlohmann::json WorkList::find(const Piece& piece) const { return store_ != nullptr ? store_->find(piece.question) : nlohmann::json(); }

void WorkList::keep(const Piece& piece, const nlohmann::json& answer) const {
  // A search that was cut short may have answered worse than it would.
  if (store_ != nullptr && !is_cut_short(options_)) store_->keep(piece.question, answer);
}

// Plans that are known are shared, others are kept as texts.
void WorkList::slim(std::vector<Run>& runs, const Piece& piece) {
  for (Run& r : runs) {
    if (piece.known && r.made == StoredPlan(piece.known)) r.made = piece.known;
    else if (!piece.needed) r.made.keep_text(texts_);
  }
}

std::vector<WorkList::Answer> WorkList::done_here(const std::vector<const Piece*>& open, const Finished& finished) {
  std::vector<Answer> answers(open.size());
  for (std::size_t o = 0; o < open.size(); ++o) {
    const Piece& piece = *open[o];
    if (!piece.needed && is_cut_short(options_)) continue;
    answers[o] = piece.answer();
    if (store_ != nullptr) keep(piece, encode(*answers[o], piece.known));
    slim(*answers[o], piece);
    finished(o);
  }
  return answers;
}

std::vector<WorkList::Answer> WorkList::done_by_workers(const std::vector<const Piece*>& open, const Finished& finished) {
  // Null: not begun.
  const auto work = [&](std::size_t o) -> nlohmann::json {
    if (nlohmann::json kept = options_.workers ? find(*open[o]) : nlohmann::json(); !kept.is_null()) return kept;
    if (!open[o]->needed && is_cut_short(options_)) return nullptr;
    nlohmann::json answer = encode(open[o]->answer(), open[o]->known);
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

std::vector<WorkList::Answer> WorkList::answers(const std::vector<Piece>& pieces, RunOptions& each) {
  std::vector<Answer> answers(pieces.size());
  std::map<std::string_view, std::size_t> first;  // piece of each question
  std::vector<std::size_t> same_as, askers(pieces.size(), 0), open_at;
  std::vector<const Piece*> open;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    same_as.push_back(first.try_emplace(pieces[i].question, i).first->second);
    ++askers[same_as[i]];
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (same_as[i] != i) continue;
    // Others may see another folder than this process, so they look themselves.
    if (const nlohmann::json kept = options_.workers ? nlohmann::json() : find(pieces[i]); !kept.is_null()) {
      answers[i] = decode(kept, pieces[i].known);
      slim(*answers[i], pieces[i]);
      finish(askers[i], false);
    } else {
      open.push_back(&pieces[i]);
      open_at.push_back(i);
    }
  }

  const bool by_workers = options_.workers || options_.jobs > 1;
  const auto at_once = static_cast<int>(std::clamp<std::size_t>(open.size(), 1, kMostJobs));
  each.jobs = std::max(1, options_.jobs / at_once);
  // Several progress lines at once would be noise: with workers the line counts what is finished.
  each.progress = {};
  if (!by_workers && options_.progress)
    each.progress = [this](std::string_view text) {
      say(total_ == 1 ? std::string(text) : fmt::format("{} of {}: {}", done_ + 1, total_, text));
    };

  const Finished finished = [&](std::size_t o) { finish(askers[open_at[o]], true); };
  std::vector<Answer> fresh = by_workers ? done_by_workers(open, finished) : done_here(open, finished);
  for (std::size_t o = 0; o < open.size(); ++o) answers[open_at[o]] = std::move(fresh[o]);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (same_as[i] != i) answers[i] = answers[same_as[i]];
  return answers;
}

}  // namespace scenarios
