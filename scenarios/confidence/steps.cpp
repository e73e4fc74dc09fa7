#include "scenarios/confidence/steps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "profiles/imports/traces/kernel_names.hpp"
#include "scenarios/answer/run.hpp"

namespace confidence {
namespace {

using SecondsByKind = std::map<std::string_view, base::Seconds>;

const measured::Point* point_of(const measured::Step& step, std::span<const measured::Point> points) {
  const auto at = std::ranges::find(points, step.point, &measured::Point::id);
  return at == points.end() ? nullptr : &*at;
}

void check_points(const measured::StepTable& table, std::span<const measured::Point> points) {
  std::vector<std::string> ids;
  for (const measured::Point& p : points) ids.push_back(p.id);
  base::Diagnostics sink;
  for (const measured::Step& s : table.steps)
    if (point_of(s, points) == nullptr)
      sink.add(s.mark, "point", fmt::format("no table of points has \"{}\"", s.point),
               ids.empty() ? "name one beside the table, or in it, in a line \"# points: FILE\"" : base::suggest(s.point, ids));
  sink.throw_if_any();
}

// Of the first GPU. A span's time is shared out among its kernels as they take alone.
SecondsByKind forecast_kernels(const measured::Point& p) {
  scenarios::RunOptions traced;
  traced.trace = true;
  const scenarios::Run run = scenarios::run_scenario(scenarios::load_scenario(measured::scenario_of(p), {}), traced).runs.at(0);
  if (!run.simulation) base::refuse(p.mark, "", "the point has no plan", "run it as a scenario to see why");
  SecondsByKind sums;
  for (const sim::Span& span : run.simulation->spans) {
    if (span.device != 0 || !span.work.computes()) continue;
    const sim::TimedKernels& kernels = run.simulation->kernels.at(span.work.kernels);
    base::Seconds alone;
    for (const sim::TimedKernel& k : kernels) alone += k.time;
    for (const sim::TimedKernel& k : kernels) sums[kind_in_steps(k.kernel.kind)] += span.duration * (k.time / alone);
  }
  return sums;
}

// The measured kernels of a step.
struct MeasuredKernels {
  SecondsByKind by_kind;
  base::Seconds all;                             // those of no known kind, too
  std::map<std::string, base::Seconds> unknown;  // by name

  explicit MeasuredKernels(const measured::Step& step) {
    for (const measured::StepKernel& k : step.kernels) {
      if (imports::is_collective_kernel(k.name)) continue;
      all += k.time;
      if (const auto kind = imports::kernel_kind(k.name)) by_kind[kind_in_steps(*kind)] += k.time;
      else unknown[k.name] += k.time;
    }
  }
};

// Libraries run some convolutions as products of the same names. Where a step has both, one kind has the time of both: that which takes
// longer in the forecast.
void join_convolutions(SecondsByKind& predicted, SecondsByKind& measured) {
  std::string_view kept = kind_in_steps(pcg::KernelKind::convolution), other = kind_in_steps(pcg::KernelKind::matmul);
  if (!predicted.contains(kept)) return;
  if (predicted[kept] < predicted[other]) std::swap(kept, other);
  for (SecondsByKind* times : {&predicted, &measured}) {
    (*times)[kept] += (*times)[other];
    times->erase(other);
  }
}

void add_step(std::vector<Item>& items, const measured::StepTable& table, const measured::Step& step, const measured::Point& point,
              MeasuredKernels measured) {
  Item whole{.subject = Subject::step, .group = point.group, .id = step.point, .where = fmt::format("{}:{}", table.file, step.mark.line)};
  whole.measured = measured.all;
  SecondsByKind predicted;
  try {
    predicted = forecast_kernels(point);
    for (const auto& [kind, time] : predicted) whole.predicted += time;
    join_convolutions(predicted, measured.by_kind);
  } catch (const base::InputError& e) { whole.failure = e.diagnostics().front().message; }
  StepDifferences differences;
  SecondsByKind kinds = predicted;
  kinds.insert(measured.by_kind.begin(), measured.by_kind.end());
  for (const auto& [kind, unused] : kinds) {
    Item i = whole;
    i.subject = Subject::step_kernel;
    i.group = kind;
    const auto at = measured.by_kind.find(kind);
    i.measured = at == measured.by_kind.end() ? base::Seconds(0) : at->second;
    i.predicted = predicted[kind];
    // A kind that one side lacks has no ratio.
    if (i.failure.empty() && i.predicted.value() <= 0) i.failure = "the forecast has no such kernels";
    if (i.measured.value() <= 0) i.failure = fmt::format("the step has no such kernels, the forecast {}", base::to_text(i.predicted));
    differences.by_kind += base::Seconds(std::abs((i.predicted - i.measured).value()));
    differences.known += i.measured;
    items.push_back(std::move(i));
  }
  whole.step = differences;
  items.push_back(std::move(whole));
}

// The longest first.
std::string unknown_kernels(const std::string& file, const std::map<std::string, base::Seconds>& unknown, base::Seconds all) {
  std::vector<std::pair<std::string, base::Seconds>> longest(unknown.begin(), unknown.end());
  std::ranges::stable_sort(longest, std::ranges::greater{}, &std::pair<std::string, base::Seconds>::second);
  base::Seconds sum;
  std::string names;
  for (const auto& [name, time] : longest) {
    sum += time;
    names += fmt::format("{}{} ({:.2g} %)", names.empty() ? "" : ", ", name, 100 * (time / all));
  }
  return fmt::format("{}: {:.2g} % of the kernels' time is of no known kind: {}", file, 100 * (sum / all), names);
}

}  // namespace

std::string_view kind_in_steps(pcg::KernelKind kind) {
  using enum pcg::KernelKind;
  constexpr std::array kPointwise{elementwise, embedding, pooling, reduction, copy, permutation, strided};
  if (std::ranges::find(kPointwise, kind) != kPointwise.end()) return "pointwise";
  return kind == softmax || kind == loss ? "softmax and loss" : pcg::to_text(kind);
}

std::vector<Item> items_of(const measured::StepTable& table, std::span<const measured::Point> points, std::vector<std::string>& notes) {
  check_points(table, points);
  std::vector<Item> items;
  std::map<std::string, base::Seconds> unknown;
  base::Seconds all;
  for (const measured::Step& step : table.steps) {
    const MeasuredKernels measured(step);
    add_step(items, table, step, *point_of(step, points), measured);
    all += measured.all;
    for (const auto& [name, time] : measured.unknown) unknown[name] += time;
  }
  if (!unknown.empty()) notes.push_back(unknown_kernels(table.file, unknown, all));
  return items;
}

}  // namespace confidence
