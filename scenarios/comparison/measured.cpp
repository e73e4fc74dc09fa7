#include "scenarios/comparison/measured.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

namespace comparison {
namespace {

using imports::LaunchedBy;
using sim::SpanPass;

std::optional<SpanPass> pass_of(LaunchedBy by) {
  switch (by) {
    case LaunchedBy::forward: return SpanPass::forward;
    case LaunchedBy::recompute: return SpanPass::recompute;
    case LaunchedBy::backward: return SpanPass::backward;
    case LaunchedBy::optimizer: return SpanPass::update;
    case LaunchedBy::unknown: break;
  }
  return std::nullopt;
}

bool has_word(std::string name, std::initializer_list<std::string_view> words) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(words, [&](std::string_view w) { return name.find(w) != std::string::npos; });
}

bool is_named_backward(const std::string& name) { return has_word(name, {"bwd", "backward", "dgrad", "wgrad", "grad_input", "gammabeta"}); }

class Reader {
 public:
  Reader(const imports::ImportedTrace& trace, int device, const Iteration& iteration)
      : trace_(trace), device_(device), begin_s_(iteration.begin_s), end_s_(iteration.end_s) {}

  DeviceTimeline run() {
    for (const imports::ImportedKernel& k : trace_.kernels)
      if (is_inside(k)) add(k);
    for (const imports::ImportedCollective& c : trace_.collectives)
      if (is_inside(c)) add(c);
    DeviceTimeline result{.device = static_cast<std::uint32_t>(std::max(device_, 0)), .begin_s = 0, .end_s = end_s_ - begin_s_};
    std::ranges::stable_sort(activities_, {}, &Activity::start_s);
    if (std::ranges::none_of(activities_, [](const Activity& a) { return a.pass == SpanPass::backward; })) pass_by_names();
    for (Activity& a : activities_)
      if (a.kind == to_text(pcg::KernelKind::attention) && (a.pass == SpanPass::backward || is_named_backward(trace_.names[a.name])))
        a.kind = to_text(pcg::KernelKind::attention_gradient);
    result.activities = std::move(activities_);
    result.memory = memory();
    return result;
  }

 private:
  template <class Event>
  [[nodiscard]] bool is_inside(const Event& e) const {
    return e.device == device_ && e.start && e.start->value() >= begin_s_ && e.start->value() < end_s_;
  }

  // From what was allocated before on. By the host's clock, which runs ahead of the device's.
  [[nodiscard]] std::vector<sim::MemorySample> memory() const {
    std::vector<sim::MemorySample> samples;
    for (const imports::ImportedAllocation& m : trace_.allocated) {
      if (m.device != device_ || m.at.value() >= end_s_) continue;
      if (m.at.value() <= begin_s_) samples.clear();
      samples.push_back(
          {static_cast<std::uint32_t>(std::max(device_, 0)), std::max(base::Seconds(0), m.at - base::Seconds(begin_s_)), m.allocated});
    }
    return samples;
  }

  template <class Event>
  [[nodiscard]] Activity activity_of(const Event& e) const {
    Activity a{.pass = pass_of(e.by), .name = e.name};
    a.start_s = e.start->value() - begin_s_;
    a.duration_s = e.duration.value();
    if (e.launched) a.launched_s = e.launched->value() - begin_s_;
    return a;
  }

  void add(const imports::ImportedKernel& k) {
    Activity a = activity_of(k);
    if (k.kind) a.kind = to_text(*k.kind);
    if (has_word(trace_.names[k.name], {"memcpy htod", "memcpy dtoh"})) {
      a.work = Work::transfer;
      a.kind = "host_copy";
    } else {
      a.late_launch = a.launched_s && *a.launched_s > free_s_;
      free_s_ = std::max(free_s_, a.end_s());
      take_sizes(k, a);
    }
    activities_.push_back(a);
  }

  // An operation's product is its first kernel; sums of split products have no sizes.
  void take_sizes(const imports::ImportedKernel& k, Activity& a) {
    if (k.operation == imports::kNoOperation || !k.kind) return;
    const auto& work = trace_.operations[k.operation].work;
    if (!work || work->m <= 0) return;
    const bool attends = pcg::is_attention(work->kind) && pcg::is_attention(*k.kind);
    if ((work->kind == *k.kind || attends) && sized_.insert(k.operation).second) a.sizes = {work->batch, work->m, work->n, work->k};
  }

  void add(const imports::ImportedCollective& c) {
    Activity a = activity_of(c);
    a.work = Work::transfer;
    if (c.kind) a.kind = to_text(*c.kind);
    if (c.bytes) a.buffer = *c.bytes;
    a.group = c.group_size;
    activities_.push_back(a);
  }

  // Kernels of a model's own, after those of the optimizer or of a backward pass, begin the next forward pass with an embedding.
  void pass_by_names() {
    SpanPass now = SpanPass::forward;
    for (Activity& a : activities_) {
      const std::string& name = trace_.names[a.name];
      const bool backward = is_named_backward(name);
      if (a.kind == to_text(pcg::KernelKind::optimizer)) now = SpanPass::update;
      else if (backward) now = SpanPass::backward;
      else if (a.kind == to_text(pcg::KernelKind::embedding)) now = SpanPass::forward;
      a.pass = now == SpanPass::backward && !backward && a.kind == to_text(pcg::KernelKind::attention) ? SpanPass::recompute : now;
      if (a.kind == to_text(pcg::KernelKind::loss) && now == SpanPass::forward) now = SpanPass::backward;
    }
  }

  const imports::ImportedTrace& trace_;
  int device_;
  double begin_s_, end_s_;
  double free_s_ = 0;              // when the kernels so far have ended
  std::set<std::uint32_t> sized_;  // operations whose product was met
  std::vector<Activity> activities_;
};

}  // namespace

DeviceTimeline measured_timeline(const imports::ImportedTrace& trace, int device, const Iteration& iteration) {
  return Reader(trace, device, iteration).run();
}

}  // namespace comparison
