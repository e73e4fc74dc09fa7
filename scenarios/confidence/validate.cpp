#include "scenarios/confidence/validate.hpp"

#include <fmt/core.h>

#include <cmath>

#include "scenarios/confidence/forecasts.hpp"
#include "scenarios/confidence/measured.hpp"

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

void add_points(Validation& v, const std::vector<measured::Point>& points, const ValidationOptions& options) {
  ForecastOptions forecasts{options.jobs, [&](std::size_t done) {
                              if (options.progress) options.progress(fmt::format("{} of {} points", done, points.size()));
                            }};
  const std::vector<Forecast> found = forecast(points, forecasts);
  for (std::size_t i = 0; i < points.size(); ++i) {
    v.items.push_back(item_of(points[i], found[i]));
    if (found[i].failure.empty() && points[i].measured)
      v.residuals.push_back(
          {found[i].question, points[i].group, v.items.back().facts->family, std::log(*points[i].measured / found[i].predicted)});
  }
}

}  // namespace

Table read_table(std::string text, const std::string& file) {
  if (measured::is_points_header(text)) return measured::read_points(std::move(text), file);
  return measured::read_measurements(text, file);
}

// Points of all files are forecast together, so that workers stay busy; kernels and collectives follow.
Validation validate(const std::vector<Table>& tables, const ValidationOptions& options) {
  Validation v;
  std::vector<measured::Point> points;
  for (const Table& t : tables)
    if (const auto* p = std::get_if<std::vector<measured::Point>>(&t)) points.insert(points.end(), p->begin(), p->end());
  add_points(v, points, options);
  for (const Table& t : tables) {
    const auto* measured = std::get_if<measured::Measurements>(&t);
    if (measured == nullptr) continue;
    const std::vector<Item> items = items_of(*measured);
    v.items.insert(v.items.end(), items.begin(), items.end());
    v.notes.insert(v.notes.end(), measured->notes.begin(), measured->notes.end());
  }
  return v;
}

}  // namespace confidence
