#include "profiles/imports/import.hpp"

#include <algorithm>

namespace imports {
namespace {

bool is_shaped(const ImportedTrace& t, const ImportedKernel& k) {
  return k.operation != kNoOperation && t.operations[k.operation].work.has_value();
}

std::vector<KindTotal> kinds_of(const ImportedTrace& t) {
  std::map<std::string, KindTotal> by_kind;
  for (const ImportedKernel& k : t.kernels) {
    const std::string kind(k.kind ? pcg::to_text(*k.kind) : std::string_view("other"));
    KindTotal& total = by_kind[kind];
    total.kind = kind;
    ++total.count;
    total.time += k.duration;
    if (is_shaped(t, k)) ++total.shaped;
  }
  std::vector<KindTotal> kinds;
  for (auto& [kind, total] : by_kind) kinds.push_back(std::move(total));
  std::ranges::stable_sort(kinds, std::ranges::greater(), &KindTotal::time);
  return kinds;
}

std::vector<StreamTotal> streams_of(const ImportedTrace& t) {
  std::map<std::pair<int, std::int64_t>, StreamTotal> by_stream;
  const auto add = [&](const auto& item) -> StreamTotal& {
    StreamTotal& total = by_stream[{item.device, item.stream}];
    total.device = item.device;
    total.stream = item.stream;
    total.time += item.duration;
    return total;
  };
  for (const ImportedKernel& k : t.kernels) ++add(k).kernels;
  for (const ImportedCollective& c : t.collectives) ++add(c).collectives;
  std::vector<StreamTotal> streams;
  for (const auto& [key, total] : by_stream) streams.push_back(total);
  return streams;
}

// The name of one that has no kind, without its arguments: "ncclDevKernel_Reduce_Sum_f32_RING_LL".
std::string kind_text(const ImportedTrace& t, const ImportedCollective& c) {
  if (c.kind) return std::string(to_text(*c.kind));
  const std::string& name = t.names[c.name];
  return name.substr(0, std::min<std::size_t>(name.find('('), 60));
}

// Means over the collectives whose size is known; busbw needs the group's size, too.
void add_bandwidths(const ImportedCollective& c, CollectiveTotal& total) {
  if (total.sized == 0 || !(total.sized_time.value() > 0)) return;
  total.algbw = total.bytes / total.sized_time;
  if (c.kind && total.group_size > 0) total.busbw = total.algbw * bus_factor(*c.kind, total.group_size);
}

std::vector<CollectiveTotal> collectives_of(const ImportedTrace& t) {
  std::map<std::tuple<std::string, std::string, int>, CollectiveTotal> groups;
  for (const ImportedCollective& c : t.collectives) {
    CollectiveTotal& total = groups[{kind_text(t, c), c.element, c.group_size}];
    total.kind = kind_text(t, c);
    total.element = c.element;
    total.group_size = c.group_size;
    ++total.count;
    total.time += c.duration;
    if (c.bytes) {
      ++total.sized;
      total.bytes += *c.bytes;
      total.sized_time += c.duration;
    }
    add_bandwidths(c, total);
  }
  std::vector<CollectiveTotal> totals;
  for (auto& [key, total] : groups) totals.push_back(std::move(total));
  std::ranges::stable_sort(totals, std::ranges::greater(), &CollectiveTotal::time);
  return totals;
}

}  // namespace

TraceSummary summarise(const ImportedTrace& t) { return {kinds_of(t), streams_of(t), collectives_of(t)}; }

}  // namespace imports
