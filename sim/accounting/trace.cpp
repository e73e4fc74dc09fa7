#include "sim/accounting/trace.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include "profiles/device_profile.hpp"

namespace sim {
namespace {

std::string micro_batch_suffix(const Accounts& a, const BlockInstance& instance) {
  return instance.pass == Pass::update || a.plan.micro_batches == 1 ? "" : fmt::format(", micro-batch {}", instance.micro_batch);
}

std::string_view stream_name(StreamKind stream) {
  switch (stream) {
    case StreamKind::compute: return "compute";
    case StreamKind::communication: return "communication";
    case StreamKind::gradients: return "gradients";
    case StreamKind::replicas: return "replicas";
    case StreamKind::experts: return "experts";
    case StreamKind::pipeline: return "pipeline";
    case StreamKind::host: return "host";
    case StreamKind::to_host: return "to host";
    case StreamKind::from_host: return "from host";
    case StreamKind::host_update: return "host update";
  }
  return "";
}

// A fused run as its parts, each with its share of the time.
void add_spans(const Accounts& a, const BlockInstance& instance, const KernelRun& run, Interval when, std::vector<Span>& out) {
  const std::uint32_t device = a.folded.representatives[run.device_class].value;
  const auto type = static_cast<std::uint32_t>(std::ranges::find(a.program.device_types, topology::kind_of(a.cluster.devices()[device])) -
                                               a.program.device_types.begin());
  const double stretch = run.seconds.value() > 0 ? (when.end - when.begin).value() / run.seconds.value() : 0;
  base::Seconds at = when.begin;
  for (const Part& p : run.parts) {
    const base::Seconds duration(a.program.seconds[p.seconds + type] * stretch);
    if (duration.value() > 0) {
      out.push_back({device, "compute", fmt::format("{} {}{}", a.plan.pcg.nodes()[p.node].name, p.what, micro_batch_suffix(a, instance)),
                     at, duration, base::Bytes(0)});
    }
    at += duration;
  }
}

void add_spans(const Accounts& a, const BlockInstance& instance, const HostLaunch& launch, Interval when, std::vector<Span>& out) {
  if (launch.seconds.value() <= 0) return;
  out.push_back({a.folded.representatives[launch.device_class].value, "host", fmt::format("launch{}", micro_batch_suffix(a, instance)),
                 when.begin, when.end - when.begin, base::Bytes(0)});
}

void add_spans(const Accounts& a, const BlockInstance& instance, const CopyRun& copy, Interval when, std::vector<Span>& out) {
  out.push_back({a.folded.representatives[copy.device_class].value, std::string(stream_name(copy.stream)),
                 fmt::format("{} of {}{}", copy.what, a.plan.pcg.nodes()[copy.node].name, micro_batch_suffix(a, instance)), when.begin,
                 when.end - when.begin, base::Bytes(0)});
}

// One span for every device class that takes part.
void add_spans(const Accounts& a, const BlockInstance& instance, const TransferRun& moved, Interval when, std::vector<Span>& out) {
  const TransferClass& t = a.folded.transfers[moved.transfer];
  base::Bytes bytes;
  for (const TrafficFlow& f : a.traffic.flows_of(a.traffic.transfers[t.representative])) bytes += f.bytes;
  const std::string name =
      fmt::format("{} {} of {}{}", to_text(t.kind), moved.what, a.plan.pcg.nodes()[moved.node].name, micro_batch_suffix(a, instance));
  std::vector<std::uint32_t> classes = t.delivers_to;
  if (t.kind == CollectiveKind::send) classes.insert(classes.end(), t.waits_for.begin(), t.waits_for.end());
  std::ranges::sort(classes);
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  for (std::uint32_t c : classes)
    out.push_back(
        {a.folded.representatives[c].value, std::string(stream_name(moved.stream)), name, when.begin, when.end - when.begin, bytes});
}

}  // namespace

std::vector<Span> spans_of(const Accounts& a) {
  std::vector<Span> out;
  for_each_task(a, [&](const Entry& e, Interval when, const BlockInstance& instance) {
    std::visit([&](const auto& work) { add_spans(a, instance, work, when, out); }, e.work);
  });
  std::ranges::stable_sort(
      out, [](const Span& x, const Span& y) { return std::tie(x.device, x.stream, x.start) < std::tie(y.device, y.stream, y.start); });
  return out;
}

}  // namespace sim
