#include "search/planners/megatron/wishes.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/yaml/parse.hpp"

namespace search {
namespace {

using pcg::ScheduleKind;

// Of a configuration in which the axis means nothing: no value.
struct Axis {
  const char* key;
  AllowedValues type;
  const char* help;
  std::optional<std::int64_t> (*value)(const GridConfig& c);
  Wishes::Decided by = Wishes::Decided::point;
};

template <class T>
std::optional<std::int64_t> only_if(bool matters, T value) {
  return matters ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
}
template <auto member>
std::optional<std::int64_t> always(const GridConfig& c) {
  return static_cast<std::int64_t>(c.*member);
}

std::optional<std::int64_t> schedule_of(const GridConfig& c) {
  return only_if(c.pipeline > 1, std::ranges::find(kBoundedSchedules, c.schedule) - kBoundedSchedules.begin());
}

std::optional<std::int64_t> zero_of(const GridConfig& c) { return only_if(c.data * c.context > 1, c.zero); }
std::optional<std::int64_t> zero_with_pipeline_of(const GridConfig& c) { return c.pipeline > 1 ? zero_of(c) : std::nullopt; }
std::optional<std::int64_t> dispatch_of(const GridConfig& c) { return only_if(c.expert > 1, c.dispatch); }
std::optional<std::int64_t> sequence_parallel_of(const GridConfig& c) { return only_if(c.tensor > 1, c.sequence_parallel); }

const std::vector<Axis>& axes() {
  static const std::vector<Axis> all = [] {
    std::vector<std::string> schedules;
    for (const ScheduleKind k : kBoundedSchedules) schedules.push_back(pcg::name_of(k));
    return std::vector<Axis>{
        {"tensor", {}, "degrees", always<&GridConfig::tensor>},
        {"pipeline", {}, "degrees", always<&GridConfig::pipeline>},
        {"data", {}, "degrees", always<&GridConfig::data>},
        {"context", {}, "degrees", always<&GridConfig::context>},
        {"expert", {}, "degrees", always<&GridConfig::expert>},
        {"micro_batch", {}, "samples", always<&GridConfig::micro_batch>},
        {"chunks", {}, "virtual stages per GPU", [](const GridConfig& c) { return only_if(c.pipeline > 1, c.chunks); }},
        {"zero", {{}, 0, 3}, "stages", zero_of, Wishes::Decided::all},
        {"zero_with_pipeline", {{}, 0, 3}, "stages beside stages of a pipeline", zero_with_pipeline_of, Wishes::Decided::all},
        {"recompute", {pcg::names<pcg::Recompute>()}, "kinds", always<&GridConfig::recompute>, Wishes::Decided::all},
        {"schedule", {std::move(schedules)}, "schedules of pipelines", schedule_of},
        {"dispatch", {pcg::names<pcg::Dispatch>()}, "ways of tokens to experts", dispatch_of},
        {"sequence_parallel", {{"false", "true"}}, "values beside tensor ranks", sequence_parallel_of}};
  }();
  return all;
}

std::vector<Option> axis_options() {
  std::vector<Option> options;
  for (const Axis& a : axes()) options.push_back({a.key, a.type, fmt::format("allowed {}", a.help), "all"});
  return options;
}

OptionValues read_runs(const std::string& runs) {
  base::Diagnostics sink;
  const base::Yaml document = base::parse_yaml(runs, "framework.runs");
  base::MapReader in(document, "", sink);
  OptionValues values = read_options(in, axis_options(), {});
  in.finish();
  sink.throw_if_any();
  return values;
}

}  // namespace

std::vector<Option> Wishes::options() {
  std::vector<Option> options = axis_options();
  options.push_back({"tensor_within_node", Flag{}, "no tensor group is larger than a node"});
  options.push_back({"framework_can", Flag{}, "plans that the framework's profile says it runs alone"});
  options.push_back(space_option());
  return options;
}

Wishes::Wishes(const OptionValues& values, const std::string& runs) : tensor_within_node_(values.flag("tensor_within_node")) {
  // Narayanan et al., SC'21: three degrees, the micro-batch and chunks; recomputation of whole layers.
  static const std::map<std::string, std::vector<std::int64_t>, std::less<>> published{
      {"context", {1}}, {"expert", {1}}, {"zero", {0}}, {"recompute", {0, 2}}, {"schedule", {1, 2}}, {"sequence_parallel", {0}}};
  if (is_of_paper(values)) allowed_ = published;
  for (const Axis& a : axes())
    if (values.given(a.key)) allowed_.erase(a.key);
  narrow(values);
  if (values.flag("framework_can") && !runs.empty()) narrow(read_runs(runs));
}

void Wishes::narrow(const OptionValues& values) {
  for (const Axis& a : axes()) {
    if (!values.given(a.key)) continue;
    const std::vector<std::int64_t>& wish = values.allowed(a.key);
    const auto [at, is_new] = allowed_.try_emplace(a.key, wish);
    if (!is_new) std::erase_if(at->second, [&](std::int64_t v) { return std::ranges::find(wish, v) == wish.end(); });
  }
}

bool Wishes::allow(const GridConfig& c, Decided decided) const {
  return allowed_.empty() || std::ranges::all_of(axes(), [&](const Axis& a) {
           const auto wish = allowed_.find(a.key);
           if (wish == allowed_.end() || a.by > decided) return true;
           const std::optional<std::int64_t> value = a.value(c);
           return !value || std::ranges::find(wish->second, *value) != wish->second.end();
         });
}

void Wishes::adapt(GridConfig& point) const {
  if (const auto wish = allowed_.find("dispatch");
      wish != allowed_.end() && !wish->second.empty() && point.expert > 1 &&
      std::ranges::find(wish->second, static_cast<std::int64_t>(point.dispatch)) == wish->second.end())
    point.dispatch = static_cast<pcg::Dispatch>(wish->second.front());
  const auto wish = allowed_.find("schedule");
  if (wish == allowed_.end() || allow(point, Decided::point)) return;
  for (const std::int64_t i : wish->second) {
    const ScheduleKind kind = kBoundedSchedules[static_cast<std::size_t>(i)];
    const bool is_chunked = kind == ScheduleKind::interleaved || kind == ScheduleKind::breadth_first;
    if (is_chunked == (point.chunks > 1)) point.schedule = kind;
  }
}

std::vector<std::pair<std::string, Wishes>> Wishes::each_given_up() const {
  std::vector<std::pair<std::string, Wishes>> each;
  for (const auto& [key, values] : allowed_) {
    each.emplace_back(key, *this);
    each.back().second.allowed_.erase(key);
  }
  return each;
}

std::string Wishes::text() const {
  std::vector<std::string> parts;
  for (const Axis& a : axes()) {
    const auto wish = allowed_.find(a.key);
    if (wish == allowed_.end()) continue;
    std::vector<std::string> values;
    for (const std::int64_t v : wish->second)
      values.push_back(a.type.words.empty() ? std::to_string(v) : a.type.words.at(static_cast<std::size_t>(v)));
    parts.push_back(values.empty() ? fmt::format("no {} that is wished for and that the framework runs", a.key)
                                   : fmt::format("{} {}", a.key, fmt::join(values, " or ")));
  }
  if (tensor_within_node_) parts.emplace_back("tensor groups inside nodes");
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace search
