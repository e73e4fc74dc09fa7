#include "scenarios/run_notes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "search/problem/wording.hpp"

namespace scenarios {
namespace {

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

void add_planning(const Planning& p, std::size_t most_lost, std::vector<std::string>& notes) {
  notes.insert(notes.end(), p.notes.begin(), p.notes.end());
  if (!p.termination.has_plan()) notes.push_back(search::to_text(p.termination));
  for (std::size_t i = 0; i < std::min(most_lost, p.lost.size()); ++i)
    notes.push_back(fmt::format("{} lost: {}", p.lost[i].candidate, search::to_text(p.lost[i].why)));
}

}  // namespace

std::vector<std::string> run_notes(const Run& run, std::size_t most_lost) {
  std::vector<std::string> notes;
  if (run.base_gpus) notes.push_back(base_plan_text(*run.base_gpus, run.gpus));
  if (run.simulation && !run.simulation->memory.fits()) notes.push_back(shortage_text(run.simulation->memory));
  if (run.planning) add_planning(*run.planning, most_lost, notes);
  notes.insert(notes.end(), run.notes.begin(), run.notes.end());
  return notes;
}

}  // namespace scenarios
