#include "reports/chrome_trace.hpp"

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "reports/json_numbers.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

// The format counts in microseconds (Google, "Trace Event Format").
double microseconds(base::Seconds s) { return s.value() * 1e6; }

Json name_event(const char* what, std::uint32_t device, int thread, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", device}, {"tid", thread}, {"args", {{"name", name}}}};
}

// Threads of a device are numbered in the order in which their streams first come.
using Streams = std::map<std::pair<std::uint32_t, std::string>, int>;

Streams name_threads(const sim::SimulationResult& s, Json& events) {
  Streams streams;
  std::map<std::uint32_t, int> threads;
  for (const sim::Span& span : s.spans) {
    int& count = threads[span.device];
    if (count == 0) {
      // Without a sort index viewers order processes by name: GPU 10 would come before GPU 2.
      events.push_back(name_event("process_name", span.device, 0, fmt::format("GPU {}", span.device)));
      events.push_back(
          {{"ph", "M"}, {"name", "process_sort_index"}, {"pid", span.device}, {"tid", 0}, {"args", {{"sort_index", span.device}}}});
    }
    if (const auto [it, added] = streams.emplace(std::pair{span.device, span.stream}, count + 1); added)
      events.push_back(name_event("thread_name", span.device, ++count, span.stream));
  }
  return streams;
}

Json span_event(const sim::Span& span, int thread) {
  Json e = {{"ph", "X"},
            {"name", span.name},
            {"pid", span.device},
            {"tid", thread},
            {"ts", microseconds(span.start)},
            {"dur", microseconds(span.duration)}};
  if (span.bytes.value() > 0) e["args"] = {{"bytes", count(span.bytes)}};
  return e;
}

}  // namespace

std::string chrome_trace(const scenarios::ScenarioResult& result) {
  Json events = Json::array();
  Json about = Json::object();
  for (const scenarios::Run& r : result.runs) {
    if (!r.simulation || r.simulation->spans.empty()) continue;
    about = {{"scenario", result.scenario}, {"plan", r.plan}, {"summary", r.plan_summary}, {"variant", r.variant}};
    const Streams streams = name_threads(*r.simulation, events);
    for (const sim::Span& span : r.simulation->spans) events.push_back(span_event(span, streams.at({span.device, span.stream})));
    for (const sim::MemorySample& m : r.simulation->memory_over_time)
      events.push_back({{"ph", "C"},
                        {"name", "memory"},
                        {"pid", m.device},
                        {"tid", 0},
                        {"ts", microseconds(m.time)},
                        {"args", {{"bytes", count(m.used)}}}});
    break;  // a viewer has one axis of time: a second run would lie on top of the first
  }
  // One event a line: large traces stay readable for tools that go by lines.
  std::string out = "{\"displayTimeUnit\": \"ms\", \"otherData\": " + about.dump() + ", \"traceEvents\": [";
  for (std::size_t i = 0; i < events.size(); ++i) out += (i == 0 ? "\n" : ",\n") + events[i].dump();
  return out + "\n]}\n";
}

}  // namespace reports
