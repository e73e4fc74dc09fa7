#include "scenarios/comparison/timeline.hpp"

#include <algorithm>

namespace comparison {
namespace {

constexpr double kRounding_s = 1e-12;  // of sums of times: no gap

struct Apart {
  double begin = 0, end = 0;
  const Activity* of = nullptr;
};

// Transfers overlap each other: a moment belongs to the first of those that are under way.
std::vector<Apart> transfers_apart(const DeviceTimeline& device) {
  std::vector<Apart> apart;
  for (const Activity& a : device.activities) {
    if (a.work != Work::transfer || !a.exposes) continue;
    const double begin = std::max({a.start_s, device.begin_s, apart.empty() ? device.begin_s : apart.back().end});
    const double end = std::min(a.end_s(), device.end_s);
    if (begin < end) apart.push_back({begin, end, &a});
  }
  return apart;
}

class PartSums {
 public:
  PartSums(const DeviceTimeline& device, bool pipelined)
      : device_(device), waiting_(pipelined ? "bubble" : "waiting"), transfers_(transfers_apart(device)) {}

  Parts run() {
    double now = device_.begin_s;
    for (const Activity& a : device_.activities) {
      PartTime& part = parts_[{a.work == Work::kernel ? Share::kernel : Share::exposed, text_of(a.pass), a.kind}];
      part.busy_s += a.duration_s;
      part.count += static_cast<double>(a.launches);
      if (a.work != Work::kernel) continue;
      const double begin = std::min(std::max(now, a.start_s), device_.end_s), end = std::min(a.end_s(), device_.end_s);
      add_gap(now, begin, &a);
      now = std::max(now, begin);
      if (end <= now) continue;
      part.seconds += end - now;
      now = end;
    }
    add_gap(now, device_.end_s, nullptr);
    return std::move(parts_);
  }

 private:
  // `next`: the kernel that ends the gap.
  void add_gap(double begin, double end, const Activity* next) {
    if (end <= begin) return;
    while (next_ < transfers_.size() && transfers_[next_].end <= begin) ++next_;
    double left = end - begin;
    for (std::size_t t = next_; t < transfers_.size() && transfers_[t].begin < end; ++t) {
      const double covered = std::min(end, transfers_[t].end) - std::max(begin, transfers_[t].begin);
      parts_[{Share::exposed, text_of(transfers_[t].of->pass), transfers_[t].of->kind}].seconds += covered;
      left -= covered;
    }
    if (left <= kRounding_s) return;
    const auto pass = next != nullptr ? next->pass : std::optional(sim::SpanPass::update);
    parts_[{Share::gap, text_of(pass), next != nullptr && next->late_launch ? "launch" : waiting_}].seconds += left;
  }

  const DeviceTimeline& device_;
  std::string_view waiting_;
  std::vector<Apart> transfers_;
  std::size_t next_ = 0;  // the first transfer that may still overlap a gap
  Parts parts_;
};

}  // namespace

std::string_view to_text(Share s) {
  constexpr std::array<std::string_view, 3> kNames = {"kernel", "exposed communication", "gap"};
  return kNames.at(static_cast<std::size_t>(s));
}

std::string_view text_of(std::optional<sim::SpanPass> pass) { return pass ? sim::to_text(*pass) : std::string_view(); }

Parts parts_of(const DeviceTimeline& device, bool pipelined) { return PartSums(device, pipelined).run(); }

}  // namespace comparison
