#include "reports/answer.hpp"

#include <fmt/core.h>
#include <algorithm>

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

// "0-3, 8, 10": the numbers of devices, neighbours as a range.
std::string numbers_text(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (const Json& range : device_ranges(numbers)) {
    text += (text.empty() ? "" : ", ") + range[0].dump();
    if (range[0] != range[1]) text += "-" + range[1].dump();
  }
  return text;
}

// A simulated device, with those that it represents.
std::string device_text(const sim::SimulationResult& s, std::uint32_t device) {
  for (const auto& same : s.stands_for)
    if (same.front() == device && same.size() > 1) return fmt::format("GPU {}, as GPUs {} are", device, numbers_text(same));
  return fmt::format("GPU {}", device);
}

// The category that viewers filter and colour by.
const char* category_of(const sim::Span& span) {
  if (span.stream == "compute") return "compute";
  if (span.stream == "host" || span.stream == "host update") return "host";
  if (span.stream == "to host" || span.stream == "from host") return "copy";
  return span.message != 0 || span.stream == "pipeline" ? "message" : "collective";
}

constexpr double kInside = 0.999;  // of a span: its end is no longer part of it for viewers

// An arrow from where a message leaves to where it arrives. Both ends lie inside their spans, which is how viewers find them.
void add_arrow(const sim::Span& span, int thread, Json& events) {
  if (span.message == 0) return;
  Json e = {{"ph", span.receives ? "f" : "s"},
            {"name", "message"},
            {"cat", "message"},
            {"id", span.message},
            {"pid", span.device},
            {"tid", thread},
            {"ts", microseconds(span.start + span.duration * (span.receives ? kInside : 1 - kInside))}};
  if (span.receives) e["bp"] = "e";
  events.push_back(std::move(e));
}

Streams name_threads(const sim::SimulationResult& s, Json& events) {
  Streams streams;
  std::map<std::uint32_t, int> threads;
  for (const sim::Span& span : s.spans) {
    int& count = threads[span.device];
    if (count == 0) {
      // Without a sort index viewers order processes by name: GPU 10 would come before GPU 2.
      events.push_back(name_event("process_name", span.device, 0, device_text(s, span.device)));
      events.push_back(
          {{"ph", "M"}, {"name", "process_sort_index"}, {"pid", span.device}, {"tid", 0}, {"args", {{"sort_index", span.device}}}});
    }
    if (const auto [it, added] = streams.emplace(std::pair{span.device, span.stream}, count + 1); added)
      events.push_back(name_event("thread_name", span.device, ++count, span.stream));
  }
  return streams;
}

// What a reader aligns the span by (scenarios/comparison/own_trace.hpp reads it back).
Json arguments_of(const sim::Span& span) {
  const sim::SpanWork& w = span.work;
  Json args = {{"pass", to_text(w.pass)}};
  if (!w.operation.empty()) args["operator"] = w.operation;
  for (const auto& [key, number] : {std::pair("layer", w.layer), std::pair("stage", w.stage), std::pair("micro_batch", w.micro_batch)})
    if (number >= 0) args[key] = number;
  if (w.computes()) args["kernels"] = w.kernels;
  if (!w.moves.empty()) args["moves"] = w.moves;
  if (w.group > 0) {
    args["group"] = w.group;
    args["buffer"] = w.buffer.value();
  }
  if (span.message != 0 && !span.receives) args["sends"] = true;
  if (span.bytes.value() > 0) args["bytes"] = count(span.bytes);
  return args;
}

// A list of kernels that spans name by its number: each with its sizes and its time alone.
Json kernels_json(const sim::TimedKernels& kernels) {
  Json list = Json::array();
  for (const sim::TimedKernel& t : kernels) {
    const pcg::Kernel& k = t.kernel;
    Json one = {{"kind", to_text(k.kind)},
                {"precision", pcg::to_text(t.precision)},
                {"flops", k.flops.value()},
                {"bytes", k.bytes.value()},
                {"us", microseconds(t.time)}};
    if (k.m > 0) one["sizes"] = {k.batch, k.m, k.n, k.k};
    if (k.serial_launches > 1) one["launches"] = k.serial_launches;
    list.push_back(std::move(one));
  }
  return list;
}

Json span_event(const sim::Span& span, int thread) {
  Json e = {{"ph", "X"},
            {"name", span.name},
            {"cat", category_of(span)},
            {"pid", span.device},
            {"tid", thread},
            {"ts", microseconds(span.start)},
            {"dur", microseconds(span.duration)}};
  e["args"] = arguments_of(span);
  return e;
}

const scenarios::Run* run_to_show(const scenarios::ScenarioResult& result) {
  const auto has_spans = [](const scenarios::Run& r) { return r.simulation && !r.simulation->spans.empty(); };
  const scenarios::Run* best = result.best_of_base();
  if (best != nullptr && has_spans(*best)) return best;
  const auto first = std::ranges::find_if(result.runs, has_spans);
  return first != result.runs.end() ? &*first : nullptr;
}

}  // namespace

std::string chrome_trace(const scenarios::ScenarioResult& result) {
  Json events = Json::array();
  Json about = Json::object(), kernels = Json::array();
  if (const scenarios::Run* run = run_to_show(result);
      run != nullptr) {  // a viewer has one axis of time: a second run would lie on top of the first
    const sim::SimulationResult& simulation = *run->simulation;
    about = {{"scenario", result.scenario}, {"plan", run->plan}, {"summary", run->plan_summary}, {"variant", run->variant}};
    const Streams streams = name_threads(simulation, events);
    for (const sim::Span& span : simulation.spans) {
      const int thread = streams.at({span.device, span.stream});
      events.push_back(span_event(span, thread));
      add_arrow(span, thread, events);
    }
    for (const sim::TimedKernels& list : simulation.kernels) kernels.push_back(kernels_json(list));
    for (const sim::MemorySample& m : simulation.memory_over_time)
      events.push_back({{"ph", "C"},
                        {"name", "memory"},
                        {"pid", m.device},
                        {"tid", 0},
                        {"ts", microseconds(m.time)},
                        {"args", {{"bytes", count(m.used)}}}});
  }
  // One event a line: large traces stay readable for tools that go by lines.
  std::string out = "{\"foreshard_trace\": 1, \"displayTimeUnit\": \"ms\", \"otherData\": " + about.dump() +
                    ",\n\"kernels\": " + kernels.dump() + ",\n\"traceEvents\": [";
  for (std::size_t i = 0; i < events.size(); ++i) out += (i == 0 ? "\n" : ",\n") + events[i].dump();
  return out + "\n]}\n";
}

}  // namespace reports
