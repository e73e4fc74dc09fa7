#include "scenarios/answer/run_notes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "search/problem/search_result.hpp"

namespace scenarios {
namespace {

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
  return fmt::format("device {} needs {} of {}, {} too much; most of it is {}", m.device.value, search::memory_text(m.peak),
                     search::memory_text(m.capacity), search::memory_text(m.peak - m.capacity), largest_part(m));
}

std::string tight_text(const sim::MemoryUse& m) {
  return fmt::format("the plan fits tightly: {} of {} are left, and forecasts of memory are wrong by {:.0f} % on average",
                     search::memory_text(m.capacity - m.peak), search::memory_text(m.capacity), 100 * sim::kMemoryMargin);
}

// Which limit ended the search, and, where it was time, what makes it end alike on every machine; nullopt: none did.
std::optional<std::string> cut_off_text(const Planning& p) {
  constexpr const char* kUnseen = "there may be better plans that it has not seen";
  if (p.termination.limit() == search::Limit::candidates) return fmt::format("the search ended at its limit of candidates: {}", kUnseen);
  if (p.termination.limit() != search::Limit::time) return std::nullopt;
  return fmt::format(
      "the search was cut off before its end: {}, and another run may find another plan; with candidates: {} it ends alike everywhere",
      kUnseen, std::max<std::uint64_t>(1, p.counted));
}

void add_planning(const Planning& p, std::size_t most_lost, std::vector<base::Note>& notes) {
  if (!p.termination.has_plan()) notes.push_back({NoteKind::problem, search::to_text(p.termination)});
  if (const std::optional<std::string> cut_off = cut_off_text(p)) notes.push_back({NoteKind::caution, *cut_off});
  for (const std::string& note : p.notes) notes.push_back({NoteKind::search, note});
  for (std::size_t i = 0; i < std::min(most_lost, p.lost.size()); ++i)
    notes.push_back({NoteKind::search, fmt::format("{} lost: {}", p.lost[i].candidate, search::to_text(p.lost[i].why))});
}

}  // namespace

std::optional<base::Note> high_mfu_note(double mfu, double causal) {
  if (mfu <= 1) return std::nullopt;
  const char* why = causal <= 1
                        ? "it counts whole attention squares by convention, and masks leave part of them out"
                        : "some kernels do less work than the convention counts, or the device's profile has a peak that is too low";
  return base::Note{NoteKind::caution, fmt::format("MFU is above 100 %: {}", why)};
}

std::vector<base::Note> run_notes(const Run& run, std::size_t most_lost) {
  std::vector<base::Note> notes;
  if (run.base_gpus) notes.push_back({NoteKind::search, base_plan_text(*run.base_gpus, run.gpus)});
  if (run.simulation && !run.simulation->memory.fits()) notes.push_back({NoteKind::problem, shortage_text(run.simulation->memory)});
  if (run.simulation && run.simulation->memory.is_tight()) notes.push_back({NoteKind::caution, tight_text(run.simulation->memory)});
  if (run.planning) add_planning(*run.planning, most_lost, notes);
  notes.insert(notes.end(), run.notes.begin(), run.notes.end());
  std::ranges::stable_sort(notes, {}, &base::Note::kind);
  return notes;
}

}  // namespace scenarios
