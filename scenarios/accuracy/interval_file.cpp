// The text form of interval models, and the one that ships.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cmath>

#include "scenarios/accuracy/accuracy_files.hpp"
#include "scenarios/accuracy/interval.hpp"

namespace scenarios {
namespace {

using base::MapReader;
using base::Yaml;

constexpr double kMostSpread = 10;  // a factor of 22,000: nothing that was measured is so far off

Spread read_spread(MapReader& in, std::string_view key) {
  Spread s;
  const Yaml* y = in.required(key);
  if (y == nullptr) return s;
  if (!y->is_sequence() || y->items.size() != 2) {
    in.complain(key, "expected two log ratios", "write e.g. [-0.08, 0.11]");
    return s;
  }
  s.low = base::as_number(y->items[0], in.path_of(key), in.sink()).value_or(0);
  s.high = base::as_number(y->items[1], in.path_of(key), in.sink()).value_or(0);
  if (s.low > 0 || s.high < 0 || s.low < -kMostSpread || s.high > kMostSpread)
    in.complain(key, fmt::format("log ratios must hold 0 and lie within {}", kMostSpread));
  return s;
}

void read_ranges(MapReader& in, IntervalGroup& g) {
  const Yaml* y = in.required("covers");
  if (y == nullptr) return;
  MapReader ranges(*y, in.path_of("covers"), in.sink());
  for (std::size_t i = 0; i < kFeatureNames.size(); ++i) {
    const Yaml* range = ranges.required(kFeatureNames[i]);
    if (range == nullptr) continue;
    if (!range->is_sequence() || range->items.size() != 2) {
      ranges.complain(kFeatureNames[i], "expected the least and the greatest value", "write e.g. [3, 6]");
      continue;
    }
    g.low[i] = base::as_number(range->items[0], ranges.path_of(kFeatureNames[i]), in.sink()).value_or(0);
    g.high[i] = base::as_number(range->items[1], ranges.path_of(kFeatureNames[i]), in.sink()).value_or(0);
    if (g.low[i] > g.high[i]) ranges.complain(kFeatureNames[i], "the least value is above the greatest");
  }
  ranges.finish();
}

IntervalGroup read_group(const Yaml& y, const std::string& path, base::Diagnostics& sink) {
  MapReader in(y, path, sink);
  IntervalGroup g;
  const auto text = [&](std::string_view key) {
    in.require(key);
    return in.text(key).value_or("");
  };
  g.kind = {text("framework"), text("device"), text("fabric"), text("precision"), text("replicas")};
  in.require("points");
  g.points = static_cast<std::size_t>(in.integer("points", 1).value_or(1));
  if (const Yaml* sources = in.required("sources"))
    for (const Yaml& s : sources->items) g.sources.push_back(base::as_text(s, in.path_of("sources"), sink).value_or(""));
  g.spread = read_spread(in, "log_ratio");
  read_ranges(in, g);
  in.finish();
  return g;
}

std::string number(double x) {
  const std::string text = fmt::format("{:.4f}", std::abs(x) < 5e-5 ? 0.0 : x);
  return text.substr(0, text.find_last_not_of('0') + (text[text.find_last_not_of('0')] == '.' ? 0 : 1));
}

std::string group_text(const IntervalGroup& g) {
  std::string text = fmt::format("    - framework: {}\n      device: {}\n      fabric: {}\n      precision: {}\n      replicas: {}\n",
                                 g.kind.framework, g.kind.device, g.kind.fabric, g.kind.precision, g.kind.replicas);
  text += fmt::format("      points: {}\n      sources: [{}]\n", g.points, fmt::join(g.sources, ", "));
  text += fmt::format("      log_ratio: [{}, {}]\n      covers:\n", number(g.spread.low), number(g.spread.high));
  for (std::size_t i = 0; i < kFeatureNames.size(); ++i)
    text += fmt::format("        {}: [{}, {}]\n", kFeatureNames[i], number(g.low[i]), number(g.high[i]));
  return text;
}

IntervalModel load_shipped() {
  for (const auto& [name, text] : accuracy_files())
    if (name == "iterations") return read_intervals(base::parse_yaml(std::string(text), fmt::format("<accuracy {}>", name)));
  return {};
}

}  // namespace

const IntervalModel& shipped_intervals() {
  static const IntervalModel kShipped = load_shipped();  // constant data, read once
  return kShipped;
}

IntervalModel read_intervals(const Yaml& document) {
  base::Diagnostics sink;
  MapReader top(document, "", sink);
  top.format();
  IntervalModel model;
  if (const Yaml* section = top.required("accuracy")) {
    MapReader in(*section, "accuracy", sink);
    in.require("level");
    model.level = in.number("level", 0.5, 0.999).value_or(model.level);
    in.require("extrapolation_rate");
    model.extrapolation_rate = in.number("extrapolation_rate", 0, 100).value_or(0);
    model.pooled_spread = read_spread(in, "pooled_spread");
    if (const Yaml* groups = in.required("groups"))
      for (std::size_t i = 0; i < groups->items.size(); ++i)
        model.groups.push_back(read_group(groups->items[i], fmt::format("accuracy.groups[{}]", i), sink));
    in.finish();
  }
  top.finish();
  sink.throw_if_any();
  return model;
}

std::string write_intervals(const IntervalModel& model, const std::string& made_by) {
  std::string text = fmt::format(
      "# How far forecasts were from measurements: quantiles of ln(measured / predicted) and the ranges that the points cover.\n# Made by: "
      "{}\n"
      "foreshard: 1\naccuracy:\n  level: {}\n",
      made_by, number(model.level));
  text +=
      fmt::format("  # A spread grows by this share of itself per range width beyond what its group covers.\n  extrapolation_rate: {}\n",
                  number(model.extrapolation_rate));
  text += fmt::format("  # For questions of a kind that no group has: leave-one-group-out.\n  pooled_spread: [{}, {}]\n  groups:{}\n",
                      number(model.pooled_spread.low), number(model.pooled_spread.high), model.groups.empty() ? " []" : "");
  for (const IntervalGroup& g : model.groups) text += group_text(g);
  return text;
}

}  // namespace scenarios
