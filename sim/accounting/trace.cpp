#include <fmt/core.h>

#include <algorithm>

#include "profiles/device_profile.hpp"
#include "sim/accounting/accounting.hpp"

namespace sim {
namespace {

struct Interval {
  base::Seconds start, end;
};

std::string micro_batch_suffix(const Accounts& a, const BlockInstance& instance) {
  return instance.pass == Pass::update || a.plan.micro_batches == 1 ? "" : fmt::format(", micro-batch {}", instance.micro_batch);
}

std::string_view stream_name(StreamKind stream) {
  switch (stream) {
    case StreamKind::compute: return "compute";
    case StreamKind::communication: return "communication";
    case StreamKind::gradients: return "gradients";
    case StreamKind::pipeline: return "pipeline";
    case StreamKind::host: return "host";
  }
  return "";
}

// A fused run as its parts, each with its share of the time.
void add_spans(const Accounts& a, const BlockInstance& instance, const KernelRun& run, Interval when, std::vector<Span>& out) {
  const std::uint32_t device = a.folded.representatives[run.device_class].value;
  const auto type = static_cast<std::uint32_t>(std::ranges::find(a.program.device_types, a.cluster.devices()[device].type) -
                                               a.program.device_types.begin());
  const double stretch = run.seconds.value() > 0 ? (when.end - when.start).value() / run.seconds.value() : 0;
  base::Seconds at = when.start;
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
                 when.start, when.end - when.start, base::Bytes(0)});
}

// One span for every device class that takes part.
void add_spans(const Accounts& a, const BlockInstance& instance, const TransferRun& moved, Interval when, std::vector<Span>& out) {
  const TransferClass& t = a.folded.transfers[moved.transfer];
  base::Bytes bytes;
  for (const TrafficFlow& f : a.traffic.transfers[t.representative].flows) bytes += f.bytes;
  const std::string name =
      fmt::format("{} {} of {}{}", to_text(t.kind), moved.what, a.plan.pcg.nodes()[moved.node].name, micro_batch_suffix(a, instance));
  std::vector<std::uint32_t> classes = t.delivers_to;
  if (t.kind == CollectiveKind::send) classes.insert(classes.end(), t.waits_for.begin(), t.waits_for.end());
  std::ranges::sort(classes);
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  for (std::uint32_t c : classes)
    out.push_back(
        {a.folded.representatives[c].value, std::string(stream_name(moved.stream)), name, when.start, when.end - when.start, bytes});
}

}  // namespace

std::vector<Span> spans_of(const Accounts& a) {
  std::vector<Span> out;
  for (const BlockInstance& instance : a.unrolled.instances) {
    const auto& entries = a.unrolled.blocks[instance.block].entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Interval when{a.timeline.start[instance.first + i], a.timeline.end[instance.first + i]};
      std::visit([&](const auto& work) { add_spans(a, instance, work, when, out); }, entries[i].work);
    }
  }
  std::ranges::stable_sort(
      out, [](const Span& x, const Span& y) { return std::tie(x.device, x.stream, x.start) < std::tie(y.device, y.stream, y.start); });
  return out;
}

std::vector<MemorySample> memory_samples(const Accounts& a, std::span<const DeviceMemory> devices) {
  std::vector<MemorySample> out;
  for (std::uint32_t c = 0; c < a.folded.sizes.size(); ++c) {
    const std::uint32_t device = a.folded.representatives[c].value;
    const DeviceMemory& m = devices[device];
    std::vector<std::pair<double, double>> changes;  // time, bytes
    for (const BlockInstance& instance : a.unrolled.instances) {
      if (instance.pass == Pass::update) continue;
      const auto& entries = a.unrolled.blocks[instance.block].entries;
      double begin = -1, end = -1;
      for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto* run = std::get_if<KernelRun>(&entries[i].work);
        if (run == nullptr || run->device_class != c) continue;
        if (begin < 0) begin = a.timeline.start[instance.first + i].value();
        end = a.timeline.end[instance.first + i].value();
      }
      if (begin < 0) continue;
      const auto stage = static_cast<std::size_t>(instance.stage);
      if (instance.pass == Pass::forward) {
        changes.emplace_back(end, m.saved[stage].value());
      } else {
        changes.emplace_back(begin, m.transient[stage].value());
        changes.emplace_back(end, -m.transient[stage].value() - m.saved[stage].value());
      }
    }
    std::ranges::stable_sort(changes, {}, &std::pair<double, double>::first);
    const base::Bytes reserved = profiles::device_profile(a.cluster.devices()[device].type).reserved;
    base::Bytes used = m.states() + reserved;
    out.push_back({device, base::Seconds(0), used});
    for (const auto& [time, bytes] : changes) {
      used += base::Bytes(bytes);
      out.push_back({device, base::Seconds(time), used});
    }
  }
  return out;
}

}  // namespace sim
