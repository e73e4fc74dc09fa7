#include "scenarios/comparison/alignment.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace comparison {
namespace {

// Pass and kind; "" stands for any pass.
using Key = std::pair<std::string_view, std::string_view>;
using Sizes = std::array<std::int64_t, 4>;
using SizedKey = std::pair<Key, Sizes>;
using Indices = std::vector<std::uint32_t>;

constexpr std::string_view kPointwise = "elementwise and the like";

// Kinds whose time is that of reading and writing, which frameworks fuse, split and name differently.
bool is_pointwise(std::string_view kind) {
  constexpr std::array<std::string_view, 5> kKinds = {"elementwise", "strided", "copy", "permutation", "reduction"};
  return std::ranges::find(kKinds, kind) != kKinds.end();
}

Sizes ordered(Sizes s) {
  std::sort(s.begin() + 1, s.end());
  return s;
}

class Forecast {
 public:
  explicit Forecast(const DeviceTimeline& device) {
    for (std::uint32_t i = 0; i < device.activities.size(); ++i) {
      const Activity& a = device.activities[i];
      for (const std::string_view pass : {text_of(a.pass), std::string_view()}) {
        of_kind_[{pass, a.kind}].push_back(i);
        if (a.work == Work::kernel && is_pointwise(a.kind)) of_kind_[{pass, kPointwise}].push_back(i);
        if (a.sizes[1] > 0) of_sizes_[{{pass, a.kind}, ordered(a.sizes)}].push_back(i);
      }
    }
  }

  struct Match {
    const Indices* found = nullptr;
    std::string_view why;
  };
  [[nodiscard]] Match match(const Activity& a) const {
    const Key key{text_of(a.pass), a.kind};
    if (a.work == Work::transfer) {
      if (a.kind.empty()) return {nullptr, "a collective of no known kind"};
      if (const Indices* same = kind(key)) return {same, {}};
      return {kind({"", a.kind}), "the forecast has no such transfer"};
    }
    if (a.kind.empty()) return {nullptr, "neither its name nor its operation says what it does"};
    if (a.sizes[1] > 0) {
      if (const Indices* sized = of_sizes(key, ordered(a.sizes))) return {sized, {}};
      return {kind(key) != nullptr ? fused(key, ordered(a.sizes)) : nullptr, "the forecast has none of these sizes in the pass"};
    }
    if (const Indices* same = kind(key)) return {same, {}};
    return {is_pointwise(a.kind) ? kind({key.first, kPointwise}) : nullptr, "the forecast has none in the pass"};
  }

 private:
  [[nodiscard]] const Indices* kind(const Key& key) const {
    const auto at = of_kind_.find(key);
    return at == of_kind_.end() ? nullptr : &at->second;
  }
  [[nodiscard]] const Indices* of_sizes(const Key& key, const Sizes& sizes) const {
    const auto at = of_sizes_.find({key, sizes});
    return at == of_sizes_.end() ? nullptr : &at->second;
  }
  // Two or three products that agree in all sizes but one, which adds up to the measured one's, as queries, keys and values do.
  [[nodiscard]] const Indices* fused(const Key& key, const Sizes& sizes) const {
    for (std::size_t summed = 1; summed < 4; ++summed) {
      std::vector<std::pair<std::int64_t, const Indices*>> parts;  // by the size that is to be summed
      for (auto at = of_sizes_.lower_bound({key, Sizes{}}); at != of_sizes_.end() && at->first.first == key; ++at)
        for (std::size_t own = 1; own < 4; ++own)
          if (agree(at->first.second, own, sizes, summed)) parts.emplace_back(at->first.second[own], &at->second);
      for (const auto& [x, of_x] : parts)
        for (const auto& [y, of_y] : parts)
          if (x + y == sizes[summed] || x + 2 * y == sizes[summed]) return of_x;
    }
    return nullptr;
  }
  // Equal in batch and in the two sizes beside these.
  static bool agree(const Sizes& a, std::size_t without_a, const Sizes& b, std::size_t without_b) {
    std::vector<std::int64_t> rest_a, rest_b;
    for (std::size_t i = 0; i < 4; ++i) {
      if (i != without_a) rest_a.push_back(a[i]);
      if (i != without_b) rest_b.push_back(b[i]);
    }
    return rest_a == rest_b;
  }

  std::map<Key, Indices> of_kind_;
  std::map<SizedKey, Indices> of_sizes_;
};

}  // namespace

bool is_same_size(const Sizes& a, const Sizes& b) { return ordered(a) == ordered(b); }

Alignment align(const DeviceTimeline& measured, const DeviceTimeline& predicted) {
  const Forecast forecast(predicted);
  const std::size_t n = measured.activities.size();
  Alignment result{std::vector(n, Alignment::kNone), std::vector<std::string_view>(n)};
  std::vector<const Indices*> lists(n, nullptr);
  std::map<const Indices*, std::size_t> asking, given;
  for (std::size_t i = 0; i < n; ++i) {
    const Forecast::Match match = forecast.match(measured.activities[i]);
    if (match.found == nullptr) result.why[i] = match.why;
    else ++asking[lists[i] = match.found];
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (lists[i] == nullptr) continue;
    const std::size_t place = given[lists[i]]++, all = lists[i]->size(), asked = asking[lists[i]];
    const bool one_by_one = measured.activities[i].sizes[1] > 0 && asked > all;
    if (one_by_one && place >= all) result.why[i] = "more of these sizes than the forecast has";
    else result.counterpart[i] = (*lists[i])[one_by_one ? place : place * all / asked];
  }
  return result;
}

}  // namespace comparison
