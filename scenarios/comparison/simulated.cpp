#include "scenarios/comparison/simulated.hpp"

#include <algorithm>
#include <map>

namespace comparison {
namespace {

constexpr double kMicroseconds = 1e6;
constexpr double kSameMoment_s = 1e-9;  // a kernel that starts so soon after its launch was waiting for it

class Builder {
 public:
  Builder(const sim::SimulationResult& simulation, Times times) : simulation_(simulation), times_(times) {}

  Timeline run() {
    double end_s = 0;
    for (const sim::Span& span : simulation_.spans) {
      if (span.stream == "host") launches_[span.device].push_back(seconds(span.start) + seconds(span.duration));
      end_s = std::max(end_s, seconds(span.start) + seconds(span.duration));
    }
    for (auto& [device, ends] : launches_) std::ranges::sort(ends);
    for (const sim::Span& span : simulation_.spans) add(span);
    for (const sim::MemorySample& m : simulation_.memory_over_time) devices_[m.device].memory.push_back(m);
    for (auto& [number, device] : devices_) {
      device.device = number;
      device.end_s = end_s;
      std::ranges::stable_sort(device.activities, {}, &Activity::start_s);
      timeline_.devices.push_back(std::move(device));
    }
    return std::move(timeline_);
  }

 private:
  [[nodiscard]] double seconds(base::Seconds t) const {
    return times_ == Times::exact ? t.value() : t.value() * kMicroseconds / kMicroseconds;
  }

  void add(const sim::Span& span) {
    DeviceTimeline& device = devices_[span.device];
    if (span.stream == "host") return;
    const sim::SpanWork& w = span.work;
    Activity a{.pass = w.pass, .name = timeline_.names.id(w.operation), .layer = w.layer, .stage = w.stage, .micro_batch = w.micro_batch};
    a.start_s = seconds(span.start);
    a.duration_s = seconds(span.duration);
    if (w.computes()) return add_kernels(a, w.kernels, launches_[span.device], device);
    a.work = Work::transfer;
    a.kind = kind_of(w.moves);
    a.buffer = w.buffer;
    a.group = w.group;
    a.exposes = span.message == 0 || span.receives;
    device.activities.push_back(a);
  }

  static std::string_view kind_of(const std::string& moves) {
    if (const auto kind = profiles::collective_kind(moves)) return to_text(*kind);
    return moves == "host_copy" ? "host_copy" : "host_update";
  }

  // `launches`: when the device's host ends them, ascending.
  void add_kernels(Activity a, std::uint32_t list, const std::vector<double>& launches, DeviceTimeline& device) {
    const sim::TimedKernels& kernels = simulation_.kernels.at(list);
    double alone_s = 0;
    for (const sim::TimedKernel& k : kernels) alone_s += seconds(k.time);
    const double span_s = a.duration_s;
    const auto launch = std::ranges::lower_bound(launches, a.start_s - kSameMoment_s);
    a.late_launch = launch != launches.end() && *launch <= a.start_s + kSameMoment_s;
    a.list = list;
    for (std::uint32_t i = 0; i < kernels.size(); ++i) {
      const pcg::Kernel& k = kernels[i].kernel;
      a.kind = to_text(k.kind);
      if (k.m > 0) a.sizes = {k.batch, k.m, k.n, k.k};
      else a.sizes = {};
      a.launches = k.serial_launches;
      a.at = i;
      a.duration_s = alone_s > 0 ? span_s * (seconds(kernels[i].time) / alone_s) : span_s / static_cast<double>(kernels.size());
      device.activities.push_back(a);
      a.start_s = a.end_s();
      a.late_launch = false;
    }
  }

  const sim::SimulationResult& simulation_;
  Times times_;
  std::map<std::uint32_t, std::vector<double>> launches_;  // by device: the ends of its host's launches, ascending
  std::map<std::uint32_t, DeviceTimeline> devices_;
  Timeline timeline_;
};

}  // namespace

Timeline timeline_of(const sim::SimulationResult& simulation, Times times) { return Builder(simulation, times).run(); }

}  // namespace comparison
