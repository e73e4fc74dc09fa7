#include "scenarios/confidence/iteration_facts.hpp"

#include <fmt/core.h>

#include "base/numbers.hpp"
#include "base/yaml/parse.hpp"

namespace confidence {
namespace {

// A size distinguishes members of a family; of the word or the switch beside it (activation, gated, ...) all members have the same. Whether
// there are experts is a switch, how many is a size.
void add_part(std::string& family, const std::string& key, const base::Yaml& value) {
  if (!value.is_scalar()) return;
  if (!base::parse_number(value.scalar).has_value()) family += fmt::format(" {}={}", key, value.scalar);
  else if (key == "experts") family += " experts";
}

std::string family_of(const measured::Point& p) {
  if (!p.model.empty()) return p.model.substr(0, p.model.find('-'));
  std::string family = "transformer";
  for (const auto& e : p.transformer.entries) add_part(family, e.key, e.value);
  for (const auto& s : p.settings)
    if (s.path.starts_with("model.")) add_part(family, s.path.substr(s.path.rfind('.') + 1), s.value);
  return family;
}

// Megatron pads a vocabulary to a multiple of 128 x tensor degree: plans of one model differ by that, up to degree 8.
base::Yaml without_padding(base::Yaml transformer) {
  constexpr std::int64_t kLargestMultiple = 1024;
  if (base::Yaml* vocabulary = transformer.find("vocab"))
    if (const auto entries = base::parse_integer(vocabulary->scalar))
      vocabulary->scalar = std::to_string((*entries + kLargestMultiple - 1) / kLargestMultiple * kLargestMultiple);
  return transformer;
}

std::string training_of(const measured::Point& p) {
  std::string text = p.model.empty() ? base::emit_yaml(without_padding(p.transformer)) : p.model;
  for (const auto& s : p.settings)
    if (s.path.starts_with("model.")) text += fmt::format("\n{}: {}", s.path, base::emit_yaml(s.value));
  return fmt::format("{}\n{} {}", text, p.optimizer, p.framework);
}

std::string question_of(const measured::Point& p) {
  return fmt::format("{}\n{} {} {} {}", training_of(p), p.cluster, p.gpus, p.global_batch, p.precision);
}

// The software's own memory is no choice of the plan's, and costs no time.
std::string plan_of(const measured::Point& p) {
  base::Yaml scenario = measured::scenario_of(p);
  std::erase_if(scenario.entries, [](const auto& e) { return e.key == "name"; });
  if (base::Yaml* framework = scenario.find("training")->find("framework"); framework != nullptr && framework->is_map())
    std::erase_if(framework->entries, [](const auto& e) { return e.key.starts_with("memory."); });
  return base::emit_yaml(scenario);
}

}  // namespace

IterationFacts iteration_facts(const measured::Point& p, const scenarios::WorkloadKind& kind, base::Seconds at_peak) {
  return {at_peak, kind.device, kind.precision, family_of(p), question_of(p), plan_of(p), training_of(p)};
}

}  // namespace confidence
