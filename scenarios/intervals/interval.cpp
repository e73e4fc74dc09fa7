#include "scenarios/intervals/interval.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <ranges>
#include <set>

#include "base/embedded/embedded_files.hpp"
#include "base/yaml/reader.hpp"

namespace scenarios {
namespace {

using base::MapReader;
using base::Yaml;

// Without any measurement the interval is an assumption: rooflines with default efficiencies are taken to be within 30 %.
constexpr double kUncalibrated = 0.30;

std::string text_of(const WorkloadKind& k) {
  return fmt::format("{}{}, {}, {}{}, {} precision, {} replicas, {} layers{}", k.framework, k.own.framework ? " of the scenario" : "",
                     k.own.device ? "of a file" : k.device, k.fabric, k.own.network ? ", its profile of a file" : "", k.precision,
                     k.replicas, k.layers, k.trained == "all" ? "" : ", frozen weights");
}

Measured measured_for(const IntervalModel& model, const Workload& w) {
  Measured measured;
  for (const IntervalGroup& g : model.groups) measured.add(g.kind, g.most_gpus, w.kind);
  return measured;
}

std::string software_of(const WorkloadKind& k) {
  return fmt::format("{}{}{}", k.framework, k.replicas == "sharded" ? " with sharded replicas" : "",
                     k.trained == "part" ? " with frozen weights" : "");
}

// Why a share of the time makes a forecast less sure, by kShares.
std::string reason(std::size_t which, const Workload& w, const Measured& measured) {
  const double share = 100 * w.shares[which];
  switch (which) {
    case 0: return fmt::format("the GPUs wait for their host {:.0f} % of the time, and hosts differ from system to system", share);
    case 1: return fmt::format("{:.0f} % of the time is in kernels whose sort was not measured on such a GPU", share);
    case 2:
      return fmt::format("{}, and {:.0f} % of the time hangs on what it does",
                         w.kind.framework == pcg::name_of(pcg::Framework::generic)
                             ? "no software is named"
                             : fmt::format("no run of {} was measured", software_of(w.kind)),
                         share);
    default:
      return fmt::format("no run {}on {} was measured, and the GPUs wait for that network {:.0f} % of the time",
                         measured.gpus > 0 ? fmt::format("of more than {} GPUs ", measured.gpus) : "", w.kind.fabric, share);
  }
}

constexpr double kWorthSaying = 1.1;  // times as wide

// One sentence: that a trace narrows the interval; else what widens it most; else what of its kind was measured.
base::Note note_for(const IntervalModel& model, const Workload& w) {
  if (w.held_out_spread > 0)
    return {
        base::NoteKind::detail, "interval-calibrated",
        fmt::format("{:.0f} % of the time is in kernels and launches as a trace has them: there the interval is that of what was held out",
                    100 * w.calibrated)};
  const Measured measured = measured_for(model, w);
  const Shares unsure = unsure_shares(w, measured);
  Shares widening{};
  for (std::size_t i = 0; i < kShares.size(); ++i) widening[i] = std::exp(model.growth.rate[i] * unsure[i]);
  const auto most = static_cast<std::size_t>(std::ranges::max_element(widening) - widening.begin());
  if (widening[most] >= kWorthSaying)
    return {base::NoteKind::caution, "interval-widened",
            fmt::format("{}: the interval is {:.1f} times as wide for it", reason(most, w, measured), widening[most])};
  std::size_t all = 0;
  for (const IntervalGroup& g : model.groups) all += g.points;
  const std::size_t points = points_of_kind(model, w);
  if (points == 0)
    return {
        base::NoteKind::caution, "interval-other-kinds",
        fmt::format("no run of this kind was measured ({}): the interval is that of {} iterations of other kinds", text_of(w.kind), all)};
  return {base::NoteKind::detail, "interval",
          fmt::format("the interval is that of measured runs: {} iterations are of this kind ({})", points, text_of(w.kind))};
}

// Errors of what a trace measured and of the rest are independent. Before, both were taken to be off by as much as the whole is.
Spread calibrated_spread(const Spread& before, const Workload& w) {
  if (w.held_out_spread == 0) return before;
  const double rest = std::sqrt(1 - w.calibrated * w.calibrated);
  const auto side = [&](double log) { return std::hypot(w.calibrated * w.held_out_spread, rest * log); };
  return {-side(before.low), side(before.high)};
}

constexpr double kMostRatio = 10;  // a factor of 22,000: nothing that was measured is so far off

// A similarity of 0 would leave nothing where all groups are unlike.
constexpr double kLeastSimilarity = 0.001;
constexpr double kMostGrowth = 5;
constexpr std::array<std::string_view, 3> kSimilarityKeys = {"other_software", "other_feature", "per_doubling"};

// A map with a number for each name.
template <std::size_t n>
void read_numbers(MapReader& in, std::string_view key, const std::array<std::string_view, n>& names, double least, double most,
                  const std::array<double*, n>& into) {
  const Yaml* y = in.required(key);
  if (y == nullptr) return;
  MapReader map(*y, in.path_of(key), in.sink());
  for (std::size_t i = 0; i < n; ++i) {
    map.require(names[i]);
    *into[i] = map.number(names[i], least, most).value_or(least);
  }
  map.finish();
}

std::vector<double> read_ascending(MapReader& in, std::string_view key, const char* example) {
  std::vector<double> values;
  const Yaml* y = in.required(key);
  if (y == nullptr) return values;
  for (const Yaml& item : y->items) values.push_back(base::as_number(item, in.path_of(key), in.sink()).value_or(0));
  if (values.empty() || !std::ranges::is_sorted(values))
    in.complain(key, "expected numbers in ascending order", fmt::format("write e.g. {}", example));
  return values;
}

IntervalGroup read_group(const Yaml& y, const std::string& path, base::Diagnostics& sink) {
  MapReader in(y, path, sink);
  IntervalGroup g;
  const auto text = [&](std::string_view key) {
    in.require(key);
    return in.text(key).value_or("");
  };
  g.source = text("source");
  g.kind = {text("framework"), text("device"), text("fabric"), text("precision"), text("replicas"), text("layers"), text("trained")};
  in.require("points");
  g.points = static_cast<std::size_t>(in.integer("points", 1).value_or(1));
  in.require("gpus");
  g.most_gpus = static_cast<int>(in.integer("gpus", 1, 1'000'000).value_or(1));
  in.require("weight");
  g.weight = in.number("weight", 1e-6, 1e6).value_or(1);
  const std::vector<double> range = read_ascending(in, "log2_parameters", "[30, 33]");
  if (range.size() == 2) {
    g.least_log2_parameters = range.front();
    g.most_log2_parameters = range.back();
  } else if (!range.empty()) {
    in.complain("log2_parameters", "expected the least and the greatest value", "write e.g. [30, 33]");
  }
  g.quantiles = read_ascending(in, "quantiles", "[-0.08, 0.01, 0.11]");
  if (!g.quantiles.empty() && (g.quantiles.front() < -kMostRatio || g.quantiles.back() > kMostRatio))
    in.complain("quantiles", fmt::format("log ratios must lie within {}", kMostRatio));
  in.finish();
  return g;
}

// Four digits: residuals are no better known, and a file that is made again differs only where it must. No "-0", no zeros at the end.
std::string number(double x) {
  const std::string text = fmt::format("{:.4f}", std::abs(x) < 5e-5 ? 0.0 : x);
  return text.substr(0, text.find_last_not_of('0') + (text[text.find_last_not_of('0')] == '.' ? 0 : 1));
}

std::string list_text(const std::vector<double>& values) {
  return fmt::format("[{}]", fmt::join(values | std::views::transform(number), ", "));
}

std::string group_text(const IntervalGroup& g) {
  std::string text = fmt::format("    - source: {}\n", g.source);
  const auto features = g.kind.features();
  for (std::size_t i = 0; i < features.size(); ++i) text += fmt::format("      {}: {}\n", kFeatureNames[i], features[i].value);
  return text + fmt::format("      points: {}\n      gpus: {}\n      weight: {}\n      log2_parameters: {}\n      quantiles: {}\n",
                            g.points, g.most_gpus, number(g.weight), list_text({g.least_log2_parameters, g.most_log2_parameters}),
                            list_text(g.quantiles));
}

}  // namespace

double scale_of(const SpreadGrowth& growth, const Shares& unsure) {
  return std::exp(std::inner_product(unsure.begin(), unsure.end(), growth.rate.begin(), 0.0));
}

Difference difference_of(const IntervalGroup& g, const Workload& w) {
  const auto a = g.kind.features(), b = w.kind.features();
  Difference d;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (a[i].is_software) d.software = true;
    else ++d.other_features;
  }
  d.doublings = std::max({0.0, g.least_log2_parameters - w.log2_parameters, w.log2_parameters - g.most_log2_parameters});
  return d;
}

double similarity_of(const Similarity& similarity, const Difference& d) {
  double product = d.software ? similarity.other_software : 1;
  for (int i = 0; i < d.other_features; ++i) product *= similarity.other_feature;
  return d.doublings > 0 ? product * std::pow(similarity.per_doubling, d.doublings) : product;
}

SortedQuantiles::SortedQuantiles(std::span<const IntervalGroup> groups) {
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const double value : groups[g].quantiles) entries_.push_back({value, g, 1.0 / static_cast<double>(groups[g].quantiles.size())});
  std::ranges::sort(entries_);
}

Spread SortedQuantiles::spread(std::span<const double> weights, double tail) const {
  // Rounding must not skip a value that is just enough.
  const double wanted = tail * std::accumulate(weights.begin(), weights.end(), 0.0) * (1 - 1e-12);
  const auto quantile = [&](const auto& entries) {
    double sum = 0, last = 0;
    for (const Entry& e : entries) {
      if (weights[e.group] == 0) continue;
      last = e.value;
      if ((sum += weights[e.group] * e.share) >= wanted) break;
    }
    return last;
  };
  return {std::min(-kLeastSpread, quantile(entries_)), std::max(kLeastSpread, quantile(entries_ | std::views::reverse))};
}

std::optional<Spread> scaled_spread(const IntervalModel& model, const SortedQuantiles& sorted, const Differences& differences) {
  std::vector<double> all(model.groups.size(), 0), own = all;
  std::size_t own_points = 0;
  for (std::size_t g = 0; g < all.size(); ++g) {
    if (!differences[g]) continue;
    all[g] = model.groups[g].weight * similarity_of(model.similarity, *differences[g]);
    if (!differences[g]->is_none()) continue;
    own[g] = all[g];
    own_points += model.groups[g].points;
  }
  if (std::ranges::all_of(all, [](double w) { return w == 0; })) return std::nullopt;
  const Spread mixed = sorted.spread(all, model.tail);
  if (own_points < kLeastOfKind) return mixed;
  const Spread of_kind = sorted.spread(own, (1 - model.level) / 2);
  return Spread{std::min(mixed.low, of_kind.low), std::max(mixed.high, of_kind.high)};
}

Spread spread_for(const IntervalModel& model, const Workload& w) {
  const double scale = scale_of(model.growth, unsure_shares(w, measured_for(model, w)));
  Differences differences;
  for (const IntervalGroup& g : model.groups) differences.emplace_back(difference_of(g, w));
  const Spread scaled = *scaled_spread(model, SortedQuantiles(model.groups), differences);
  const Spread spread{scaled.low * scale, scaled.high * scale};
  if (w.kind.own == OwnProfiles{}) return spread;
  // Profiles of the scenario's own are no surer than any that ships.
  Workload shipped = w;
  shipped.kind.own = {};
  std::set<std::string> devices{w.kind.device};
  for (const IntervalGroup& g : model.groups)
    if (w.kind.own.device) devices.insert(g.kind.device);
  Spread widest = spread;
  for (const std::string& device : devices) {
    shipped.kind.device = device;
    const Spread least = spread_for(model, shipped);
    widest = {std::min(widest.low, least.low), std::max(widest.high, least.high)};
  }
  return widest;
}

double unmeasured_growth(const IntervalModel& model, const Workload& w) {
  const Shares unsure = unsure_shares(w, measured_for(model, w));
  return model.growth.rate[2] * unsure[2] + model.growth.rate[3] * unsure[3];
}

std::size_t points_of_kind(const IntervalModel& model, const Workload& w) {
  std::size_t points = 0;
  for (const IntervalGroup& g : model.groups) points += g.kind == w.kind ? g.points : 0;
  return points;
}

Interval interval_for(const IntervalModel& model, const Workload& w, base::Seconds forecast) {
  if (model.groups.empty())
    return {forecast * (1 - kUncalibrated),
            forecast * (1 + kUncalibrated),
            {base::NoteKind::assumption, "interval-assumed", "the interval of +-30 % is an assumption, because no residuals are known"}};
  const Spread found = calibrated_spread(spread_for(model, w), w);
  return {forecast * std::exp(found.low), forecast * std::exp(found.high), note_for(model, w)};
}

base::EmbeddedFiles accuracy_files();  // generated by cmake/embed.cmake

const IntervalModel& shipped_intervals() {
  static const base::ParsedFiles<IntervalModel> kShipped(accuracy_files(), read_intervals);
  return kShipped.at("iterations");
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
    Similarity& l = model.similarity;
    in.require("tail");
    model.tail = in.number("tail", 0.001, 0.25).value_or(model.tail);
    read_numbers(in, "similarity", kSimilarityKeys, kLeastSimilarity, 1, {&l.other_software, &l.other_feature, &l.per_doubling});
    Shares& rate = model.growth.rate;
    read_numbers(in, "growth", kShares, 0, kMostGrowth, {&rate[0], &rate[1], &rate[2], &rate[3]});
    model.pairs = read_pairs(in, model.level);
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
      "# How far forecasts were from measurements: quantiles of ln(measured / predicted), scaled. Made by: {}\n"
      "foreshard: 1\naccuracy:\n  level: {}\n  # Share of the weight on either side of an interval.\n  tail: {}\n",
      made_by, number(model.level), number(model.tail));
  text += "  # How much a group counts of other software, which differs in another feature, or in sizes.\n";
  text +=
      fmt::format("  similarity: {{{}: {}, {}: {}, {}: {}}}\n", kSimilarityKeys[0], number(model.similarity.other_software),
                  kSimilarityKeys[1], number(model.similarity.other_feature), kSimilarityKeys[2], number(model.similarity.per_doubling));
  std::vector<std::string> rates;
  for (std::size_t i = 0; i < kShares.size(); ++i) rates.push_back(fmt::format("{}: {}", kShares[i], number(model.growth.rate[i])));
  text += fmt::format("  # A spread grows by e^(this x share of the iteration).\n  growth: {{{}}}\n", fmt::join(rates, ", "));
  text += pairs_text(model.pairs);
  text += fmt::format("  groups:{}\n", model.groups.empty() ? " []" : "");
  for (const IntervalGroup& g : model.groups) text += group_text(g);
  return text;
}

}  // namespace scenarios
