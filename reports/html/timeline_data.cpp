#include "reports/html/page_data.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "reports/json_numbers.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

enum class SpanKind { forward, backward, recomputation, update, collective, message, copy, host };

constexpr double kUnitsPerIteration = 4e6;  // far finer than a screen at the deepest zoom that is of use
constexpr std::string_view kMicroBatch = ", micro-batch ";

// Facts of all spans of one name.
struct SpanName {
  std::string text;   // without its micro-batch
  std::string group;  // the layer and pass that it belongs to: what it is called when it is joined with its neighbours
  SpanKind kind = SpanKind::forward;
  int stage = -1;
  double bytes = 0;
};

struct PlacedSpan {
  std::size_t name = 0;
  int micro_batch = -1;
  std::int64_t begin = 0, end = 0;
};

struct Lane {
  std::string stream;
  std::vector<PlacedSpan> spans;
};

struct DeviceLanes {
  std::uint32_t device = 0;
  std::vector<Lane> lanes;
};

SpanKind kind_of_span(const sim::Span& span, std::string_view what) {
  if (span.stream == "host" || span.stream == "host update") return SpanKind::host;
  if (span.stream == "to host" || span.stream == "from host") return SpanKind::copy;
  if (span.stream != "compute") return span.message != 0 || span.stream == "pipeline" ? SpanKind::message : SpanKind::collective;
  if (what.ends_with("forward")) return SpanKind::forward;
  if (what.ends_with("recompute")) return SpanKind::recomputation;
  if (what.ends_with("update")) return SpanKind::update;
  return SpanKind::backward;
}

// The operator that a name is about: "layer0.mlp.up" of "layer0.mlp.up weight gradient" and of "all_reduce gradients of layer0.mlp.up".
class Operators {
 public:
  explicit Operators(const pcg::Plan* plan) {
    if (plan == nullptr) return;
    for (std::size_t n = 0; n < plan->pcg.nodes().size(); ++n) stage_.emplace(plan->pcg.nodes()[n].name, plan->stage[n]);
  }
  [[nodiscard]] std::string_view operator_of(std::string_view text) const {
    if (const std::size_t of = text.rfind(" of "); of != std::string_view::npos && stage_.contains(std::string(text.substr(of + 4))))
      return text.substr(of + 4);
    // Names of operators may hold spaces: the longest that is one counts.
    for (std::size_t space = text.rfind(' '); space != std::string_view::npos && space > 0; space = text.rfind(' ', space - 1))
      if (stage_.contains(std::string(text.substr(0, space)))) return text.substr(0, space);
    return text.substr(0, text.find(' '));
  }
  [[nodiscard]] int stage_of(std::string_view name) const {
    const auto at = stage_.find(std::string(name));
    return at == stage_.end() ? -1 : at->second;
  }

 private:
  std::unordered_map<std::string, int> stage_;
};

// The spans of a run, placed on whole units of time.
class Timeline {
 public:
  Timeline(const scenarios::Run& run, const sim::SimulationResult& s) : operators_(run.made ? &*run.made : nullptr) {
    const double end = std::max(s.iteration_time.value(), 1e-9);
    unit_s_ = std::pow(10, std::floor(std::log10(end / kUnitsPerIteration)));
    end_ = units(s.iteration_time.value());
    for (const sim::Span& span : s.spans) place(span);
    for (const auto& same : s.stands_for) stands_for_[same.front()] = device_ranges(same);
  }

  // Returns the spans with those joined that belong together and lie at most `gap` apart; below 0: all as they are.
  [[nodiscard]] std::vector<DeviceLanes> joined(std::int64_t gap) {
    std::vector<DeviceLanes> result;
    for (const DeviceLanes& d : devices_) {
      DeviceLanes& to = result.emplace_back(DeviceLanes{d.device, {}});
      for (const Lane& lane : d.lanes) to.lanes.push_back({lane.stream, gap < 0 ? lane.spans : joined(lane.spans, gap)});
    }
    return result;
  }

  [[nodiscard]] std::int64_t iteration() const { return end_; }

  [[nodiscard]] Json json(const std::vector<DeviceLanes>& devices) const {
    Json j{{"unit_s", unit_s_}, {"end", end_}};
    for (const char* key : {"names", "kinds", "stages", "bytes", "devices"}) j[key] = Json::array();
    std::vector<std::size_t> number(names_.size(), names_.size());  // of a name among those that are used
    for (const DeviceLanes& d : devices) {
      Json lanes = Json::array();
      for (const Lane& lane : d.lanes) lanes.push_back(lane_json(lane, number, j));
      const auto same = stands_for_.find(d.device);
      j["devices"].push_back(
          {{"device", d.device}, {"stands_for", same == stands_for_.end() ? device_ranges({d.device}) : same->second}, {"lanes", lanes}});
    }
    return j;
  }

 private:
  [[nodiscard]] std::int64_t units(double seconds) const { return std::llround(seconds / unit_s_); }

  Json lane_json(const Lane& lane, std::vector<std::size_t>& number, Json& j) const {
    Json l{{"stream", lane.stream}};
    for (const char* key : {"name", "micro_batch", "start", "duration"}) l[key] = Json::array();
    std::int64_t before = 0;
    for (const PlacedSpan& s : lane.spans) {
      const SpanName& name = names_[s.name];
      if (number[s.name] == names_.size()) {
        number[s.name] = j["names"].size();
        j["names"].push_back(name.text);
        j["kinds"].push_back(static_cast<int>(name.kind));
        j["stages"].push_back(name.stage);
        j["bytes"].push_back(reports::count(base::Bytes(name.bytes)));
      }
      l["name"].push_back(number[s.name]);
      l["micro_batch"].push_back(s.micro_batch);
      l["start"].push_back(s.begin - before);
      l["duration"].push_back(s.end - s.begin);
      before = s.begin;
    }
    return l;
  }

  std::size_t name_number(SpanName name) {
    const auto [at, added] = numbers_.emplace(fmt::format("{}\n{}\n{}", name.text, static_cast<int>(name.kind), name.bytes), names_.size());
    if (added) names_.push_back(std::move(name));
    return at->second;
  }

  void place(const sim::Span& span) {
    std::string_view text = span.name;
    PlacedSpan placed;
    if (const std::size_t at = text.rfind(kMicroBatch); at != std::string_view::npos) {
      const std::string_view number = text.substr(at + kMicroBatch.size());
      std::from_chars(number.data(), number.data() + number.size(), placed.micro_batch);
      text = text.substr(0, at);
    }
    const std::string_view what_for = operators_.operator_of(text);
    SpanName name{.text = std::string(text),
                  .group = {},
                  .kind = kind_of_span(span, text),
                  .stage = operators_.stage_of(what_for),
                  .bytes = span.bytes.value()};
    name.group = fmt::format("{} {}", what_for.substr(0, what_for.find('.')), pass_text(name.kind, text));
    placed.name = name_number(std::move(name));
    placed.begin = units(span.start.value());
    placed.end = units((span.start + span.duration).value());
    if (devices_.empty() || devices_.back().device != span.device) devices_.push_back({span.device, {}});
    auto& lanes = devices_.back().lanes;
    if (lanes.empty() || lanes.back().stream != span.stream) lanes.push_back({span.stream, {}});
    lanes.back().spans.push_back(placed);
  }

  // The names of joined spans: kernels have their pass, transfers their sort ("all_gather tensor").
  static std::string pass_text(SpanKind kind, std::string_view text) {
    switch (kind) {
      case SpanKind::forward: return "forward";
      case SpanKind::backward: return "backward";
      case SpanKind::recomputation: return "recompute";
      case SpanKind::update: return "update";
      default: return std::string(text.substr(0, text.rfind(" of ")));
    }
  }

  std::vector<PlacedSpan> joined(const std::vector<PlacedSpan>& spans, std::int64_t gap) {
    std::vector<PlacedSpan> result;
    for (const PlacedSpan& s : spans) {
      const SpanName name = names_[s.name];
      const std::size_t group = name_number({.text = name.group, .group = name.group, .kind = name.kind, .stage = name.stage, .bytes = 0});
      if (!result.empty() && result.back().name == group && result.back().micro_batch == s.micro_batch &&
          s.begin - result.back().end <= gap)
        result.back().end = std::max(result.back().end, s.end);
      else result.push_back({group, s.micro_batch, s.begin, s.end});
    }
    return result;
  }

  Operators operators_;
  double unit_s_ = 1;
  std::int64_t end_ = 0;
  std::vector<SpanName> names_;
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<DeviceLanes> devices_;
  std::map<std::uint32_t, Json> stands_for_;
};

std::size_t span_count(const std::vector<DeviceLanes>& devices) {
  std::size_t count = 0;
  for (const DeviceLanes& d : devices)
    for (const Lane& lane : d.lanes) count += lane.spans.size();
  return count;
}

}  // namespace

Json timeline_data(const scenarios::Run& run, std::size_t most_bytes) {
  if (!run.simulation || run.simulation->spans.empty()) return nullptr;
  constexpr std::size_t kLeastBytesPerSpan = 8;             // four numbers and their commas: no need to write what is longer by this alone
  constexpr std::array<int, 3> kParts = {8000, 2000, 400};  // gaps that are closed are at most so small a part of the iteration
  Timeline timeline(run, *run.simulation);
  std::vector<DeviceLanes> devices = timeline.joined(-1);
  const auto fits = [&](const Json& j) { return j.dump().size() <= most_bytes; };
  std::string said;
  for (std::size_t level = 0;; ++level) {
    if (span_count(devices) * kLeastBytesPerSpan <= most_bytes) {
      Json j = timeline.json(devices);
      if (!said.empty()) j["left_out"] = said;
      if (fits(j)) return j;
    }
    if (level == kParts.size()) break;
    devices = timeline.joined(timeline.iteration() / kParts[level]);
    said = fmt::format(
        "To keep the file small, what one layer does in one pass of a micro-batch is drawn as one span, and gaps below 1/{} of "
        "the iteration inside it are not drawn; --trace has every span.",
        kParts[level]);
  }
  const std::size_t all = devices.size();
  while (devices.size() > 1) {  // half as many, until they fit
    devices.resize((devices.size() + 1) / 2);
    Json j = timeline.json(devices);
    j["left_out"] = fmt::format("{} Only the first {} of {} simulated devices are drawn.", said, devices.size(), all);
    if (fits(j)) return j;
  }
  return Json{
      {"left_out", fmt::format("The timeline ({} spans) is too long for this file; --trace has it.", run.simulation->spans.size())}};
}

}  // namespace reports
