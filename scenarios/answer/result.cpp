#include "scenarios/answer/result.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "base/yaml/parse.hpp"
#include "pcg/plan/plan_text.hpp"
#include "scenarios/answer/wording.hpp"
#include "scenarios/intervals/workload_json.hpp"
#include "search/problem/result_codec.hpp"

namespace base {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Note, kind, code, text)
}

namespace scenarios {

std::string_view to_text(Status s) {
  constexpr std::array kWords = {"ok", "out_of_memory", "infeasible", "time_limit", "lost", "crashed"};  // as Status has them
  return kWords[static_cast<std::size_t>(s)];
}

bool is_preferred(const Run& a, const Run& b) {
  if ((a.status == Status::ok) != (b.status == Status::ok)) return a.status == Status::ok;
  if (!a.simulation || !b.simulation) return a.simulation.has_value();
  const auto time = [](const sim::SimulationResult& s) { return s.iteration_time * (s.memory.is_tight() ? kTightCost : 1); };
  return time(*a.simulation) < time(*b.simulation);
}

const Run* ScenarioResult::best_on(std::string_view variant) const {
  const Run* best = nullptr;
  for (const Run& r : runs)
    if (r.variant == variant && r.status == Status::ok && (best == nullptr || is_preferred(r, *best))) best = &r;
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
  return a.plan_ && b.plan_ ? *a.plan_ == *b.plan_ : a.text_ && b.text_ && *a.text_ == *b.text_;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Planning, searched, found_by, termination, objective, bound, counted, lost, notes)
// All but the plan, and what compares an answer with others.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Run, plan, variant, sweep, settings, framework, has_own_framework, replanned, status, base_gpus,
                                   planning, simulation, interval_low, interval_high, facts, samples_per_s, tokens_per_s, mfu, mfu_causal,
                                   gpus, search_time, simulation_time, plan_summary, notes)

namespace {

constexpr const char* kMade = "made";
constexpr const char* kKnown = "known";
constexpr const char *kText = "text", *kRewrites = "rewrites";

using base::NoteKind;

std::string base_plan_text(int base_gpus, int gpus) {
  if (base_gpus == gpus) return "the plan is made anew, because the model or the training is another one";
  return fmt::format("the plan is made anew, because the base's is for {} GPUs and here are {}", base_gpus, gpus);
}

std::string largest_part(const sim::MemoryUse& m) {
  const std::pair<const char*, base::Bytes> parts[] = {{"weights", m.weights},
                                                       {"gradients", m.gradients},
                                                       {"optimizer state", m.optimizer},
                                                       {"activations", m.activations},
                                                       {"workspace", m.workspace}};
  const auto& most = *std::ranges::max_element(parts, {}, [](const auto& p) { return p.second; });
  return fmt::format("{} ({})", most.first, search::memory_text(most.second));
}

std::string shortage_text(const sim::MemoryUse& m) {
  return fmt::format("device {} needs {} of {}, {} too much; the largest part is {}", m.device.value, search::memory_text(m.peak),
                     search::memory_text(m.capacity), search::memory_text(m.peak - m.capacity), largest_part(m));
}

std::string tight_text(const sim::MemoryUse& m) {
  return fmt::format("the plan fits tightly: {} of {} are left, and forecasts of memory are wrong by {:.0f} % on average",
                     search::memory_text(m.capacity - m.peak), search::memory_text(m.capacity), 100 * sim::kMemoryMargin);
}

// Which limit ended the search; nullopt: none did.
std::optional<base::Note> limit_note(const Planning& p) {
  constexpr const char* kUnseen = "there may be better plans that it has not evaluated";
  if (p.termination.limit() == search::Limit::candidates)
    return base::Note{NoteKind::search, "search-limit", fmt::format("the search ended at its limit of candidates: {}", kUnseen)};
  if (p.termination.limit() == search::Limit::effort)
    return base::Note{NoteKind::search, "search-limit",
                      fmt::format("the search ended when its budget was spent, on every machine at the same place: {}", kUnseen)};
  if (p.termination.limit() != search::Limit::time) return std::nullopt;
  return base::Note{NoteKind::caution, "search-cut-off",
                    fmt::format("the search was cut off by the wall clock: {}, and another run may find another plan", kUnseen)};
}

void add_planning(const Planning& p, std::size_t most_lost, std::vector<base::Note>& notes) {
  if (!p.termination.has_plan()) notes.push_back({NoteKind::problem, "no-plan", search::to_text(p.termination)});
  if (auto limit = limit_note(p)) notes.push_back(*std::move(limit));
  for (const base::Fact& fact : p.notes) notes.push_back(note_of(fact));
  for (std::size_t i = 0; i < std::min(most_lost, p.lost.size()); ++i)
    notes.push_back({NoteKind::search, "lost-candidate", fmt::format("{} lost: {}", p.lost[i].candidate, search::to_text(p.lost[i].why))});
}

}  // namespace

nlohmann::json encode(const std::vector<Run>& runs, const std::shared_ptr<const pcg::Plan>& known) {
  nlohmann::json all = nlohmann::json::array();
  for (const Run& r : runs) {
    nlohmann::json j = r;
    if (known && r.made == StoredPlan(known)) j[kKnown] = true;
    else if (r.made) j[kMade] = {{kText, r.made.text()}, {kRewrites, r.made.rewrites()}};
    all.push_back(std::move(j));
  }
  return all;
}

std::vector<Run> decode(const nlohmann::json& encoded, const std::shared_ptr<const pcg::Plan>& known) {
  std::vector<Run> runs;
  for (const nlohmann::json& j : encoded) {
    Run& r = runs.emplace_back(j.get<Run>());
    if (j.contains(kKnown)) r.made = known;
    else if (j.contains(kMade)) r.made = {j[kMade].at(kText).get<std::string>(), j[kMade].at(kRewrites).get<std::vector<pcg::Rewrite>>()};
  }
  return runs;
}

std::optional<base::Note> high_mfu_note(double causal) {
  if (causal <= 1) return std::nullopt;
  return base::Note{NoteKind::caution, "mfu-above-one",
                    "MFU is above 100 %: some kernels do less work than the convention counts, or the device profile's peak is too low"};
}

std::vector<base::Note> run_notes(const Run& run, std::size_t most_lost) {
  std::vector<base::Note> notes;
  if (run.base_gpus) notes.push_back({NoteKind::search, "plan-made-anew", base_plan_text(*run.base_gpus, run.gpus)});
  if (run.simulation && !run.simulation->memory.fits())
    notes.push_back({NoteKind::problem, "no-memory", shortage_text(run.simulation->memory)});
  if (run.simulation && run.simulation->memory.is_tight())
    notes.push_back({NoteKind::caution, "tight", tight_text(run.simulation->memory)});
  if (run.planning) add_planning(*run.planning, most_lost, notes);
  notes.insert(notes.end(), run.notes.begin(), run.notes.end());
  std::ranges::stable_sort(notes, {}, &base::Note::kind);
  return notes;
}

}  // namespace scenarios
