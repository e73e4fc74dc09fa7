#include "profiles/imports/traces/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/ids.hpp"
#include "profiles/device_profile.hpp"

namespace imports {
namespace {

using base::Seconds;

struct Interval {
  Seconds from, to;
};

template <class Item>
void add_intervals(const std::vector<Item>& items, std::vector<Interval>& all) {
  for (const Item& i : items)
    if (i.start) all.push_back({*i.start, *i.start + i.duration});
}

// Disjoint, in order: whenever anything ran.
std::vector<Interval> busy_intervals(const ImportedTrace& t) {
  std::vector<Interval> all, merged;
  add_intervals(t.kernels, all);
  add_intervals(t.collectives, all);
  std::ranges::sort(all, {}, &Interval::from);
  for (const Interval& i : all) {
    if (!merged.empty() && i.from <= merged.back().to) merged.back().to = std::max(merged.back().to, i.to);
    else merged.push_back(i);
  }
  return merged;
}

Seconds busy_within(const std::vector<Interval>& busy, Interval window) {
  Seconds total;
  auto at = std::ranges::upper_bound(busy, window.from, {}, &Interval::to);
  for (; at != busy.end() && at->from < window.to; ++at) total += std::min(at->to, window.to) - std::max(at->from, window.from);
  return total;
}

// Without starts nothing is known of overlaps: the sum of durations is the span of a device that does one thing at a time.
void set_span(ImportedTrace& t, const std::vector<Interval>& busy) {
  if (!busy.empty()) {
    t.span = busy.back().to - busy.front().from;
    return;
  }
  for (const ImportedKernel& k : t.kernels) t.span += k.duration;
  for (const ImportedCollective& c : t.collectives) t.span += c.duration;
}

// Drivers of different years write "Tesla V100-SXM2-16GB", "NVIDIA Tesla ..." and "NVIDIA V100-SXM2-16GB" of the same device.
std::string_view bare(std::string_view vendor_name) {
  for (const std::string_view brand : {"NVIDIA ", "Tesla "})
    if (vendor_name.starts_with(brand)) vendor_name.remove_prefix(brand.size());
  return vendor_name;
}

std::string profile_of(const std::string& vendor_name) {
  for (const std::string& name : profiles::device_names())
    if (!vendor_name.empty() && bare(profiles::device_profile(name).vendor_name) == bare(vendor_name)) return name;
  return {};
}

std::string share(std::size_t part, std::size_t all, std::string_view what) { return fmt::format("{} of {} {}", part, all, what); }

void note_kernels(ImportedTrace& t) {
  const auto unknown = static_cast<std::size_t>(std::ranges::count_if(t.kernels, [](const ImportedKernel& k) { return !k.kind; }));
  if (unknown > 0)
    t.notes.push_back(share(unknown, t.kernels.size(), "kernels are of a kind that neither their name nor their operation shows"));
  std::set<std::string> unnamed;
  for (const ImportedDevice& d : t.devices)
    if (!d.name.empty() && d.profile.empty()) unnamed.insert(d.name);
  for (const std::string& name : unnamed) t.notes.push_back(fmt::format("no device profile has the vendor name \"{}\"", name));
}

void note_collectives(ImportedTrace& t) {
  const auto count = [&](auto unknown) { return static_cast<std::size_t>(std::ranges::count_if(t.collectives, unknown)); };
  const std::size_t kind = count([](const ImportedCollective& c) { return !c.kind; });
  if (kind > 0)
    t.notes.push_back(
        share(kind, t.collectives.size(), "collectives are of a kind that the file does not name or that the simulator does not know"));
  const std::size_t group = count([](const ImportedCollective& c) { return c.kind && c.sent && !c.bytes; });
  if (group > 0)
    t.notes.push_back(share(group, t.collectives.size(),
                            "collectives are all-gathers of a group whose size the file does not give: their full buffer is unknown"));
  const std::size_t size = count([](const ImportedCollective& c) { return c.kind && !c.sent && !c.bytes; });
  if (size > 0) t.notes.push_back(share(size, t.collectives.size(), "collectives have no size in the file"));
  if (t.format != TraceFormat::nccl_tests && !t.collectives.empty())
    t.notes.emplace_back("the time of a traced collective includes waiting for the slowest rank: bandwidths are lower bounds");
}

}  // namespace

std::string_view to_text(TraceFormat f) {
  constexpr std::array<std::string_view, 4> kNames = {"kineto", "nsight-systems", "nccl-tests", "chakra"};
  return base::nth(kNames, static_cast<int>(f));
}

std::uint32_t Names::id(const std::string& name) {
  const auto [at, added] = ids_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (added) names_.push_back(name);
  return at->second;
}

std::optional<base::Bytes> full_buffer(profiles::CollectiveKind kind, base::Bytes sent, int group_size) {
  if (kind != profiles::CollectiveKind::all_gather) return sent;
  if (group_size < 1) return std::nullopt;
  return sent * group_size;
}

double bus_factor(profiles::CollectiveKind kind, int group_size) {
  const double others = static_cast<double>(group_size - 1) / group_size;
  switch (kind) {
    case profiles::CollectiveKind::all_reduce: return 2 * others;
    case profiles::CollectiveKind::all_gather:
    case profiles::CollectiveKind::reduce_scatter:
    case profiles::CollectiveKind::all_to_all: return others;
    case profiles::CollectiveKind::broadcast:
    case profiles::CollectiveKind::send: return 1;
  }
  return 1;
}

void finish_trace(ImportedTrace& t) {
  std::ranges::stable_sort(t.kernels, {}, &ImportedKernel::start);
  std::ranges::stable_sort(t.collectives, {}, &ImportedCollective::start);
  std::ranges::stable_sort(t.iterations, {}, &ImportedIteration::start);
  std::ranges::stable_sort(t.allocated, {}, &ImportedAllocation::at);
  const std::vector<Interval> busy = busy_intervals(t);
  set_span(t, busy);
  for (ImportedIteration& i : t.iterations)
    if (i.start && !busy.empty()) i.busy = busy_within(busy, {*i.start, *i.start + i.duration});
  for (ImportedDevice& d : t.devices)
    if (d.profile.empty()) d.profile = profile_of(d.name);
  if (t.kernels.empty() && t.collectives.empty())
    t.notes.insert(t.notes.begin(), "no device events: nothing ran on a GPU, or the profiler did not record it");
  note_kernels(t);
  note_collectives(t);
}

}  // namespace imports
