#include "reports/answer.hpp"

#include <fmt/core.h>

#include <cmath>

namespace reports {
namespace {

// Quoted where the text would break the row (RFC 4180).
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string csv(const scenarios::ScenarioResult& result) {
  std::string out =
      "scenario,variant,plan,framework,replanned,status,plan_summary,gpus,iteration_time_s,throughput_samples_per_s,tokens_per_s,mfu,mfu_"
      "causal,compute_s,"
      "exposed_communication_s,bubble_s,idle_s,communication_bytes,peak_memory_bytes,memory_capacity_bytes,search_time_s,simulation_time_"
      "s\n";
  for (const scenarios::Run& r : result.runs) {
    out += fmt::format("{},{},{},{},{},{},{},{},", field(result.scenario), field(r.variant), field(r.plan), r.framework, r.replanned,
                       scenarios::to_text(r.status), field(r.plan_summary), r.gpus);
    if (r.simulation) {
      const sim::SimulationResult& s = *r.simulation;
      const sim::Breakdown& b = s.breakdown;
      out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},", s.iteration_time.value(), r.samples_per_s, r.tokens_per_s, r.mfu,
                         r.mfu_causal, b.compute.value(), b.exposed_communication.value(), b.bubble.value(), b.idle.value(),
                         std::round(s.bytes.total.value()), std::round(s.memory.peak.value()), std::round(s.memory.capacity.value()));
    } else {
      out += std::string(12, ',');  // empty cells: a 0 could be taken for a time
    }
    out += fmt::format("{},{}\n", r.search_time.value(), r.simulation_time.value());
  }
  return out;
}

}  // namespace reports
