#include "sim/accounting/over_time.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace sim {
namespace {

struct Spans {
  std::vector<Span> all;
  std::vector<TimedKernels> kernels;
  std::map<const TimedKernels*, std::uint32_t> known;  // lists that are in `kernels`
  std::uint32_t messages = 0;                          // so far

  std::uint32_t number_of(const TimedKernels* list) {
    const auto [at, is_new] = known.try_emplace(list, static_cast<std::uint32_t>(kernels.size()));
    if (is_new) kernels.push_back(*list);
    return at->second;
  }
};

std::string micro_batch_suffix(const Accounts& a, const BlockInstance& instance) {
  return instance.pass == Pass::update || a.plan.micro_batches == 1 ? "" : fmt::format(", micro-batch {}", instance.micro_batch);
}

std::string stream_name(StreamKind stream) {
  constexpr std::array kNames = {"compute",  "communication", "gradients", "replicas",  "experts",
                                 "pipeline", "host",          "to host",   "from host", "host update"};
  static_assert(kNames.size() == kStreamKinds);
  return kNames[static_cast<std::size_t>(stream)];
}

// Kernels and transfers that a backward pass has of forward passes are named as theirs.
SpanPass pass_of(const BlockInstance& instance, std::string_view what) {
  if (instance.pass == Pass::forward) return SpanPass::forward;
  if (instance.pass == Pass::update) return SpanPass::update;
  return what == "recompute" || what == "tensor" ? SpanPass::recompute : SpanPass::backward;
}

SpanWork work_of(const Accounts& a, const BlockInstance& instance, std::uint32_t node, std::string_view what) {
  const pcg::PcgNode& n = a.plan.pcg.nodes()[node];
  return {.pass = pass_of(instance, what),
          .operation = n.name,
          .layer = n.block,
          .stage = instance.pass == Pass::update ? -1 : instance.stage,
          .micro_batch = instance.pass == Pass::update ? -1 : instance.micro_batch};
}

// A fused run as its parts, each with its share of the time.
void add_spans(const Accounts& a, const BlockInstance& instance, const KernelRun& run, Interval when, Spans& out) {
  const std::uint32_t device = a.folded.representatives[run.device_class].value;
  const auto type = static_cast<std::uint32_t>(std::ranges::find(a.program.device_types, topology::kind_of(a.cluster.devices()[device])) -
                                               a.program.device_types.begin());
  const double stretch = run.seconds.value() > 0 ? (when.end - when.begin).value() / run.seconds.value() : 0;
  base::Seconds at = when.begin;
  for (const Part& p : run.parts) {
    const base::Seconds duration(a.program.seconds[p.seconds + type] * stretch);
    if (duration.value() > 0) {
      out.all.push_back({.device = device,
                         .stream = "compute",
                         .name = fmt::format("{} {}{}", a.plan.pcg.nodes()[p.node].name, p.what, micro_batch_suffix(a, instance)),
                         .start = at,
                         .duration = duration,
                         .work = work_of(a, instance, p.node, p.what)});
      out.all.back().work.kernels = out.number_of(a.program.kernels[p.seconds + type].get());
    }
    at += duration;
  }
}

void add_spans(const Accounts& a, const BlockInstance& instance, const HostLaunch& launch, Interval when, Spans& out) {
  if (launch.seconds.value() <= 0) return;
  out.all.push_back({a.folded.representatives[launch.device_class].value, "host", fmt::format("launch{}", micro_batch_suffix(a, instance)),
                     when.begin, when.end - when.begin, base::Bytes(0)});
  out.all.back().work = {.pass = pass_of(instance, ""), .stage = instance.stage, .micro_batch = instance.micro_batch};
}

void add_spans(const Accounts& a, const BlockInstance& instance, const CopyRun& copy, Interval when, Spans& out) {
  out.all.push_back({a.folded.representatives[copy.device_class].value, stream_name(copy.stream),
                     fmt::format("{} of {}{}", copy.what, a.plan.pcg.nodes()[copy.node].name, micro_batch_suffix(a, instance)), when.begin,
                     when.end - when.begin, base::Bytes(0)});
  out.all.back().work = work_of(a, instance, copy.node, copy.what);
  if (copy.stream != StreamKind::host_update) out.all.back().work.moves = "host_copy";
}

// One span for every device class that takes part; a message's ends have a span each, where they are not of one class.
void add_spans(const Accounts& a, const BlockInstance& instance, const TransferRun& moved, Interval when, Spans& out) {
  const TransferClass& t = a.folded.transfers[moved.transfer];
  base::Bytes bytes;
  for (const TrafficFlow& f : a.traffic.flows_of(a.traffic.transfers[t.representative])) bytes += f.bytes;
  const std::string name =
      fmt::format("{} {} of {}{}", to_text(t.kind), moved.what, a.plan.pcg.nodes()[moved.node].name, micro_batch_suffix(a, instance));
  SpanWork work = work_of(a, instance, moved.node, moved.what);
  work.moves = to_text(t.kind);
  const TrafficTransfer& one = a.traffic.transfers[t.representative];
  work.group = static_cast<int>(one.members.size());
  work.buffer = a.program.movements[one.movement.value].rounds[one.round].front().bytes;
  std::vector<std::uint32_t> classes = t.delivers_to;
  if (t.kind == CollectiveKind::send) classes.insert(classes.end(), t.waits_for.begin(), t.waits_for.end());
  make_ascending(classes);
  const auto is_in = [](const std::vector<std::uint32_t>& some, std::uint32_t c) { return std::ranges::find(some, c) != some.end(); };
  std::uint32_t message = 0;
  if (t.kind == CollectiveKind::send && t.waits_for != t.delivers_to) message = ++out.messages;
  for (std::uint32_t c : classes) {
    const bool both = is_in(t.waits_for, c) && is_in(t.delivers_to, c);
    out.all.push_back({a.folded.representatives[c].value, stream_name(moved.stream), name, when.begin, when.end - when.begin, bytes,
                       both ? 0 : message, is_in(t.delivers_to, c), work});
  }
}

}  // namespace

TracedSpans spans_of(const Accounts& a) {
  Spans out;
  for_each_task(a, [&](const Entry& e, Interval when, const BlockInstance& instance) {
    std::visit([&](const auto& work) { add_spans(a, instance, work, when, out); }, e.work);
  });
  std::ranges::stable_sort(
      out.all, [](const Span& x, const Span& y) { return std::tie(x.device, x.stream, x.start) < std::tie(y.device, y.stream, y.start); });
  return {std::move(out.all), std::move(out.kernels)};
}

std::vector<std::vector<std::uint32_t>> classes_of(const Folded& folded) {
  std::vector<std::vector<std::uint32_t>> members(folded.sizes.size());
  for (std::uint32_t d = 0; d < folded.class_of.size(); ++d)
    if (folded.class_of[d] != Folded::kUnused) members[folded.class_of[d]].push_back(d);
  return members;
}

}  // namespace sim
