#include "scenarios/capacity/result.hpp"

#include <fmt/core.h>

namespace scenarios {
namespace {

using base::NoteKind;

std::vector<base::Note> notes_on(const CapacityTerms& terms) {
  std::vector<base::Note> notes;
  if (!terms.reliability) {
    notes.push_back({NoteKind::assumption, "nothing fails and nothing is saved, as the scenario has no `reliability`: goodput is 1"});
    return notes;
  }
  const Reliability& r = *terms.reliability;
  if (r.mtbf_is_default)
    notes.push_back({NoteKind::assumption,
                     fmt::format("a GPU and its share of the machine fail every {:.0f} h: derived from 419 unexpected interruptions of "
                                 "Llama 3 405B in 54 days on 16,384 H100 (arXiv 2407.21783, section 3.3.4)",
                                 r.mtbf_per_gpu.value() / 3600)});
  if (r.restart_is_default)
    notes.push_back({NoteKind::assumption, fmt::format("after a failure the job trains again in {}", base::to_text(r.restart))});
  notes.push_back({NoteKind::detail, "intervals of time and cost are those of the iteration time: failures count as they come on average"});
  return notes;
}

}  // namespace

CapacityResult capacity_result(const CapacityTerms& terms, std::span<const CapacityCase> cases) {
  CapacityResult result{.terms = terms, .entries = capacity_entries(terms, cases), .choices = {}, .notes = notes_on(terms)};
  result.choices = capacity_choices(terms, result.entries);
  return result;
}

}  // namespace scenarios
