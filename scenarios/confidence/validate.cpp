#include "scenarios/confidence/validate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "profiles/device_profile.hpp"
#include "profiles/fit/network_fit.hpp"
#include "scenarios/confidence/fit/pair_fit.hpp"
#include "scenarios/confidence/forecasts.hpp"
#include "scenarios/confidence/steps.hpp"
#include "sim/collectives/plan_collective.hpp"

namespace confidence {
namespace {

Item item_of(const measured::Point& p, const Forecast& f) {
  Item i;
  i.subject = p.measured ? Subject::iteration : Subject::memory;
  i.group = p.group;
  i.id = p.id;
  i.where = fmt::format("{}:{}", p.mark.source->name, p.mark.line);
  i.measured = p.measured.value_or(base::Seconds(0));
  i.failure = f.failure;
  if (!f.failure.empty()) return i;
  i.out_of_memory = f.out_of_memory;
  i.memory = f.memory;
  if (p.measured_peak) i.peak_bytes = Pair{p.measured_peak->value(), f.peak.value()};
  if (p.measured_reserved) i.reserved_bytes = Pair{p.measured_reserved->value(), f.reserved.value()};
  if (!p.measured) return i;
  i.predicted = f.predicted;
  i.interval = std::pair(f.low, f.high);
  i.facts = iteration_facts(p, f.question.kind, f.at_peak);
  return i;
}

// Plans pad vocabularies, and are of one training all the same.
Residual residual_of(const measured::Point& p, const Forecast& f, const IterationFacts& facts) {
  Residual r{.question = f.question,
             .source = p.group,
             .family = facts.family,
             .log_ratio = std::log(*p.measured / f.predicted),
             .facts = f.facts,
             .publication = p.source.empty() ? p.group : publication_of(p.source)};
  r.facts.work = facts.training;
  return r;
}

void add_points(Validation& v, const std::vector<measured::Point>& points, const ValidationOptions& options) {
  ForecastOptions forecasts{options.jobs, [&](std::size_t done) {
                              if (options.progress) options.progress(fmt::format("{} of {} points", done, points.size()));
                            }};
  const std::vector<Forecast> found = forecast(points, forecasts);
  for (std::size_t i = 0; i < points.size(); ++i) {
    v.items.push_back(item_of(points[i], found[i]));
    if (found[i].failure.empty() && points[i].measured) v.residuals.push_back(residual_of(points[i], found[i], *v.items.back().facts));
  }
}

std::string first_message(const base::InputError& e) { return e.diagnostics().front().message; }

Item item_of(const measured::KernelMeasurement& m) {
  Item i;
  i.subject = Subject::kernel;
  i.group = fmt::format("{} {} {}", m.device, pcg::to_text(m.precision), pcg::to_text(m.kernel.kind));
  i.id = m.kernel.m > 0 ? fmt::format("{} x {} x {} x {}", m.kernel.batch, m.kernel.m, m.kernel.n, m.kernel.k)
                        : fmt::format("{:.4g} FLOP, {:.4g} B", m.kernel.flops.value(), m.kernel.bytes.value());
  i.where = m.source;
  i.measured = m.time;
  try {
    const profiles::DeviceProfile& device = profiles::device_profile(m.device);
    if (const auto why = profiles::unsupported(device, m.precision)) i.failure = *why;
    else i.predicted = profiles::kernel_time(device, m.kernel, m.precision).time;
  } catch (const base::InputError& e) { i.failure = first_message(e); }
  return i;
}

// By name and number of nodes. They are kept: a table has thousands of rows on a handful of them.
using Clusters = std::map<std::pair<std::string, int>, topology::Cluster>;

base::Seconds predict(const measured::CollectiveMeasurement& m, Clusters& clusters) {
  const auto key = std::pair(m.cluster, m.nodes);
  auto at = clusters.find(key);
  if (at == clusters.end()) at = clusters.emplace(key, fit::cluster_of(m.cluster, m.nodes)).first;
  const std::vector<topology::DeviceId> group = fit::group_of(m, at->second);
  if (m.gpus % m.nodes != 0 || group.empty())
    base::refuse("", fmt::format("{} GPUs do not fit on {} nodes of {}", m.gpus, m.nodes, m.cluster));
  return sim::plan_collective(m.kind, m.bytes, group, at->second).estimate;
}

Item item_of(const measured::CollectiveMeasurement& m, Clusters& clusters) {
  Item i;
  i.subject = Subject::collective;
  i.group = fmt::format("{} {} on {} of {} node{}, {} 1 MB", m.cluster, profiles::to_text(m.kind), m.gpus, m.nodes, m.nodes > 1 ? "s" : "",
                        m.bytes < fit::kShortMessage ? "below" : "from");
  i.machine = fmt::format("{}, {} node{}", m.cluster, m.nodes, m.nodes > 1 ? "s" : "");
  i.bytes = m.bytes;
  i.id = base::to_text(m.bytes);
  i.where = m.source;
  i.measured = m.time;
  try {
    i.predicted = predict(m, clusters);
    if (i.predicted.value() <= 0) i.failure = "nothing moves";
  } catch (const base::InputError& e) { i.failure = first_message(e); }
  return i;
}

}  // namespace

Table read_table(std::string text, const std::string& file) {
  if (measured::is_points_header(text)) return measured::read_points(std::move(text), file);
  if (measured::is_step_table(text)) return measured::read_steps(std::move(text), file);
  return measured::read_measurements(text, file);
}

// Points of all files are forecast together, so that workers stay busy; kernels and collectives follow.
Validation validate(const std::vector<Table>& tables, const ValidationOptions& options) {
  Validation v;
  std::vector<measured::Point> points;
  for (const Table& t : tables)
    if (const auto* p = std::get_if<std::vector<measured::Point>>(&t)) points.insert(points.end(), p->begin(), p->end());
  add_points(v, points, options);
  points.insert(points.end(), options.points_of_steps.begin(), options.points_of_steps.end());
  for (const Table& t : tables)
    if (const auto* steps = std::get_if<measured::StepTable>(&t))
      std::ranges::move(items_of(*steps, points, v.notes), std::back_inserter(v.items));
  for (const Table& t : tables) {
    const auto* measured = std::get_if<measured::Measurements>(&t);
    if (measured == nullptr) continue;
    const std::vector<Item> items = items_of(*measured);
    v.items.insert(v.items.end(), items.begin(), items.end());
    v.notes.insert(v.notes.end(), measured->notes.begin(), measured->notes.end());
  }
  return v;
}

std::vector<Item> items_of(const measured::Measurements& measured) {
  std::vector<Item> items;
  for (const auto& k : measured.kernels) items.push_back(item_of(k));
  Clusters clusters;
  for (const auto& c : measured.collectives) items.push_back(item_of(c, clusters));
  return items;
}

}  // namespace confidence
