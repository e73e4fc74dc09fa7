#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "reports/compare/compare.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

// One event a line, as in traces of run.
class EventWriter {
 public:
  void name(const char* what, int pid, int tid, const std::string& text) {
    push({{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", {{"name", text}}}});
  }
  void span(int pid, double begin_s, const comparison::Activity& a, const std::string& text, Json args) {
    args["kind"] = a.kind;
    args["pass"] = comparison::text_of(a.pass);
    if (a.layer >= 0) args["layer"] = a.layer;
    const int thread = a.work == comparison::Work::kernel ? 1 : 2;
    push({{"ph", "X"},
          {"name", text.empty() ? std::string(a.kind) : text},
          {"cat", a.kind},
          {"pid", pid},
          {"tid", thread},
          {"ts", (a.start_s - begin_s) * 1e6},
          {"dur", a.duration_s * 1e6},
          {"args", std::move(args)}});
  }
  void memory(int pid, const comparison::DeviceTimeline& d) {
    for (const sim::MemorySample& m : d.memory)
      push({{"ph", "C"},
            {"name", "memory"},
            {"pid", pid},
            {"ts", (m.time.value() - d.begin_s) * 1e6},
            {"args", {{"bytes", m.used.value()}}}});
  }
  [[nodiscard]] std::string text() && { return text_ + "\n]}\n"; }

 private:
  void push(const Json& event) {
    text_ += (text_.back() == '[' ? "\n" : ",\n") + event.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  std::string text_ = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
};

}  // namespace

std::string compare_trace(const comparison::Comparison& c) {
  EventWriter writer;
  int pid = 0;
  for (std::size_t d = 0; d < c.devices.size(); ++d) {
    const comparison::DeviceTimeline& measured = c.devices[d].timeline;
    const comparison::DeviceTimeline& forecast = c.predicted[d];
    const comparison::Alignment& alignment = c.alignments[d];
    for (const char* side : {"measured", "forecast"}) {
      writer.name("process_name", ++pid, 0, fmt::format("{} GPU {}", side, c.devices[d].rank));
      writer.name("thread_name", pid, 1, "kernels");
      writer.name("thread_name", pid, 2, "transfers");
    }
    for (std::size_t i = 0; i < measured.activities.size(); ++i) {
      const comparison::Activity& a = measured.activities[i];
      const bool aligned = alignment.counterpart[i] != comparison::Alignment::kNone;
      Json args{{"not_aligned", alignment.why[i]}};
      if (aligned) {
        const comparison::Activity& b = forecast.activities[alignment.counterpart[i]];
        args = {{"forecast_us", b.duration_s * 1e6}};
        if (b.layer >= 0) args["layer"] = b.layer;
      }
      writer.span(pid - 1, measured.begin_s, a, c.measured_names[a.name], std::move(args));
    }
    for (const comparison::Activity& a : forecast.activities)
      writer.span(pid, forecast.begin_s, a, c.predicted_names[a.name], Json::object());
    writer.memory(pid - 1, measured);
    writer.memory(pid, forecast);
  }
  return std::move(writer).text();
}

}  // namespace reports
