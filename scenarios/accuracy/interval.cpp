#include "scenarios/accuracy/interval.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "pcg/work/model_flops.hpp"

namespace scenarios {
namespace {

// Without any measurement the interval is an assumption: rooflines with default efficiencies are taken to be within 30 %.
constexpr double kUncalibrated = 0.30;

std::string device_generation(const topology::Cluster& cluster, int gpus) {
  std::set<std::string> generations;
  for (const topology::Device& d : cluster.devices().first(static_cast<std::size_t>(gpus)))
    generations.insert(d.type.substr(0, d.type.find('-')));
  return generations.size() == 1 ? *generations.begin() : "mixed";
}

std::string fabric_of(const topology::Cluster& cluster, int gpus) {
  if (gpus == 1) return "one GPU";
  return cluster.devices()[static_cast<std::size_t>(gpus) - 1].domain == cluster.devices()[0].domain ? "one node" : "several nodes";
}

std::string precision_family(pcg::Precision p) {
  switch (p) {
    case pcg::Precision::fp32:
    case pcg::Precision::tf32: return "single";
    case pcg::Precision::fp16:
    case pcg::Precision::bf16: return "half";
    case pcg::Precision::fp8:
    case pcg::Precision::mxfp8:
    case pcg::Precision::nvfp4: return std::string(pcg::to_text(p));
  }
  return "";
}

// Replicas: how many ways the inputs' samples are cut.
int data_degree(const pcg::Pcg& pcg) {
  int degree = 1;
  for (const pcg::PcgNode& n : pcg.nodes())
    if (n.is_input() && !n.outputs.empty() && !n.outputs[0].dims.empty()) degree = std::max(degree, n.outputs[0].dims[0].degree);
  return degree;
}

double parameters(const pcg::Pcg& pcg) {
  double sum = 0;
  for (const pcg::PcgNode& n : pcg.nodes()) {
    if (!n.is_weight()) continue;
    double elements = 1;
    for (const auto& dim : n.outputs[0].dims) elements *= static_cast<double>(dim.size);
    sum += elements;
  }
  return sum;
}

double forward_flops(const pcg::Pcg& pcg) {
  double sum = 0;
  for (std::size_t i = 0; i < pcg.nodes().size(); ++i) {
    const pcg::NodeId id(i);
    if (pcg.node(id).computes()) sum += pcg::model_flops(*pcg.node(id).operation(), pcg.whole_inputs(id), pcg.whole_outputs(id)).value();
  }
  return sum;
}

double log2_of(double x) { return std::log2(std::max(1.0, x)); }

const IntervalGroup* find_group(const IntervalModel& model, const QuestionKind& kind) {
  const auto at = std::ranges::find(model.groups, kind, &IntervalGroup::kind);
  return at == model.groups.end() ? nullptr : &*at;
}

Spread scaled(Spread s, double k) { return {s.low * k, s.high * k}; }
Spread widest(Spread a, Spread b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

base::Note note_for(const IntervalModel& model, const FoundSpread& found) {
  if (found.group == nullptr)
    return {base::NoteKind::caution,
            fmt::format("the interval rests on leave-one-group-out residuals of {} group{}, because none of them is like this question{}",
                        model.groups.size(), model.groups.size() == 1 ? "" : "s",
                        found.distance > 0 ? "; it is widened, because the question lies beyond their range" : "")};
  const IntervalGroup& g = *found.group;
  std::string text = fmt::format("the interval rests on residuals of {} measured iterations ({}, {}, {}, {} precision, {} replicas)",
                                 g.points, g.kind.framework, g.kind.device, g.kind.fabric, g.kind.precision, g.kind.replicas);
  if (found.distance > 0)
    text += fmt::format("; it is widened, because the question lies {:.1f} range widths beyond what they cover", found.distance);
  return {found.distance > 0 ? base::NoteKind::caution : base::NoteKind::detail, std::move(text)};
}

}  // namespace

Question question_of(const pcg::Plan& plan, const topology::Cluster& cluster, const sim::SimulationResult& s) {
  Question q;
  q.kind = {pcg::framework_names()[static_cast<std::size_t>(plan.training.framework)], device_generation(cluster, plan.gpus),
            fabric_of(cluster, plan.gpus), precision_family(plan.training.precision), plan.zero >= 2 ? "sharded" : "whole"};
  const int pipeline = std::max(1, plan.stages / std::max(1, plan.chunks));
  const double tensor = static_cast<double>(plan.gpus) / (pipeline * data_degree(plan.pcg));
  const double time_s = s.iteration_time.value();
  q.features = {log2_of(parameters(plan.pcg)),
                log2_of(plan.gpus),
                log2_of(forward_flops(plan.pcg) / plan.gpus),
                log2_of(plan.micro_batches),
                log2_of(tensor),
                log2_of(pipeline),
                time_s > 0 ? s.breakdown.exposed_communication.value() / time_s : 0};
  return q;
}

double distance_beyond(const Features& x, const Features& low, const Features& high) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double beyond = std::max({0.0, low[i] - x[i], x[i] - high[i]}) / std::max(high[i] - low[i], kFeatures[i].least_width);
    sum += beyond * beyond;
  }
  return std::sqrt(sum);
}

FoundSpread spread_for(const IntervalModel& model, const Question& q) {
  FoundSpread found;
  found.group = find_group(model, q.kind);
  if (found.group != nullptr) {
    const IntervalGroup& g = *found.group;
    found.distance = distance_beyond(q.features, g.low, g.high);
    const Spread outside = widest(g.spread, model.pooled_spread);
    const double blend = std::min(1.0, found.distance);
    found.spread = {g.spread.low + blend * (outside.low - g.spread.low), g.spread.high + blend * (outside.high - g.spread.high)};
  } else {
    found.distance = std::numeric_limits<double>::infinity();
    for (const IntervalGroup& g : model.groups) found.distance = std::min(found.distance, distance_beyond(q.features, g.low, g.high));
    found.spread = model.pooled_spread;
  }
  found.spread = scaled(found.spread, 1 + model.extrapolation_rate * found.distance);
  return found;
}

Interval interval_for(const IntervalModel& model, const Question& q, base::Seconds forecast) {
  if (model.groups.empty())
    return {forecast * (1 - kUncalibrated),
            forecast * (1 + kUncalibrated),
            {base::NoteKind::assumption, "the interval of +-30 % is an assumption, because no residuals are known"}};
  const FoundSpread found = spread_for(model, q);
  return {forecast * std::exp(std::min(0.0, found.spread.low)), forecast * std::exp(std::max(0.0, found.spread.high)),
          note_for(model, found)};
}

}  // namespace scenarios
