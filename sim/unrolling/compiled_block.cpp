#include "sim/unrolling/compiled_block.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace sim {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

class Compiler {
 public:
  Compiler(const Block& block, const Program& program, const Folded& folded, const topology::Cluster& cluster)
      : block_(block),
        program_(program),
        folded_(folded),
        cluster_(cluster),
        open_(folded.sizes.size(), kNone),
        concerning_(block.items.size()) {}

  CompiledBlock run() {
    for (std::size_t i = 0; i < block_.items.size(); ++i) {
      if (block_.items[i].lane == Lane::compute) add_compute(i);
      else add_movement(i);
    }
    std::sort(out_.announces.begin(), out_.announces.end());
    return std::move(out_);
  }

 private:
  using ClassEntry = std::pair<std::uint32_t, std::uint32_t>;  // device class, entry

  [[nodiscard]] const std::vector<std::uint32_t>& classes_of(DeviceSetId id) {
    auto& known = set_classes_[id.value];
    if (known.empty()) {
      std::set<std::uint32_t> s;
      for (base::DeviceId d : program_.device_sets[id.value]) s.insert(folded_.class_of[d.value]);
      known.assign(s.begin(), s.end());
    }
    return known;
  }
  void add_compute(std::size_t item);
  void add_movement(std::size_t item);
  // Entries that an item's `after` names, as far as they concern a class. A run found there is closed if `close`.
  std::vector<std::uint32_t> dependencies(const Item& item, std::uint32_t device_class, bool movements_only, bool close);
  void announce(const Item& item, std::span<const ClassEntry> entries) {
    for (BoundaryId b : item.announces) {
      for (const auto& [c, e] : entries) out_.announces.push_back({{b, c}, e});
    }
  }
  [[nodiscard]] double duration(const Item& item, std::uint32_t device_class) const;

  const Block& block_;
  const Program& program_;
  const Folded& folded_;
  const topology::Cluster& cluster_;
  CompiledBlock out_;
  std::vector<std::uint32_t> open_;                  // per class: the run that may still grow
  std::vector<std::vector<ClassEntry>> concerning_;  // per item
  std::map<std::uint32_t, std::vector<std::uint32_t>> set_classes_;
};

double Compiler::duration(const Item& item, std::uint32_t device_class) const {
  const std::string& type = cluster_.device(folded_.representatives[device_class]).type;
  const auto at = static_cast<std::uint32_t>(std::find(program_.device_types.begin(), program_.device_types.end(), type) -
                                             program_.device_types.begin());
  double s = 0;
  for (const Part& p : item.parts) s += program_.seconds[p.seconds + at];
  return s;
}

std::vector<std::uint32_t> Compiler::dependencies(const Item& item, std::uint32_t device_class, bool movements_only, bool close) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i : item.after) {
    if (movements_only && block_.items[i].lane == Lane::compute) continue;  // the compute stream keeps this order by itself
    for (const auto& [c, e] : concerning_[i]) {
      if (c != device_class) continue;
      found.push_back(e);
      if (close && open_[c] == e) open_[c] = kNone;
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void Compiler::add_compute(std::size_t index) {
  const Item& item = block_.items[index];
  for (std::uint32_t c : classes_of(item.devices)) {
    const auto after = dependencies(item, c, /*movements_only=*/true, /*close=*/false);
    std::vector<Crossing> awaits;
    for (BoundaryId b : item.awaits) awaits.push_back({b, c});
    std::sort(awaits.begin(), awaits.end());
    const bool grows = open_[c] != kNone && std::ranges::includes(out_.entries[open_[c]].after, after) &&
                       std::ranges::includes(out_.entries[open_[c]].awaits, awaits);
    if (!grows) {
      Entry e;
      e.device_class = c;
      e.streams = {c * kLanes};
      e.after = after;
      e.awaits = std::move(awaits);
      e.node = item.node;
      out_.entries.push_back(std::move(e));
      open_[c] = static_cast<std::uint32_t>(out_.entries.size() - 1);
    }
    Entry& run = out_.entries[open_[c]];
    run.parts.insert(run.parts.end(), item.parts.begin(), item.parts.end());
    run.seconds += base::Seconds(duration(item, c));
    concerning_[index].push_back({c, open_[c]});
    if (item.cut || !item.announces.empty()) open_[c] = kNone;
  }
  announce(item, concerning_[index]);
}

void Compiler::add_movement(std::size_t index) {
  const Item& item = block_.items[index];
  std::vector<ClassEntry>& concerning = concerning_[index];
  for (const auto& round : folded_.of_movement[item.movement.value]) {
    std::vector<ClassEntry> delivered;
    for (std::uint32_t t : round) {
      const TransferClass& transfer = folded_.transfers[t];
      Entry e;
      e.device_class = Entry::kTransfer;
      e.transfer = t;
      e.lane = item.lane;
      e.node = item.node;
      e.what = item.what;
      for (std::uint32_t c : transfer.waits_for) {
        for (std::uint32_t d : dependencies(item, c, false, true)) e.after.push_back(d);
        for (BoundaryId b : item.awaits) e.awaits.push_back({b, c});
        for (const auto& [other, entry] : concerning) {
          if (other == c) e.after.push_back(entry);
        }
        if (transfer.kind != CollectiveKind::send && item.lane != Lane::pipeline)
          e.streams.push_back(c * kLanes + (item.lane == Lane::gradients ? 2 : 1));
      }
      std::sort(e.after.begin(), e.after.end());
      e.after.erase(std::unique(e.after.begin(), e.after.end()), e.after.end());
      std::sort(e.awaits.begin(), e.awaits.end());
      out_.entries.push_back(std::move(e));
      for (std::uint32_t c : transfer.delivers_to) delivered.push_back({c, static_cast<std::uint32_t>(out_.entries.size() - 1)});
    }
    concerning.insert(concerning.end(), delivered.begin(), delivered.end());
  }
  announce(item, concerning);
}

}  // namespace

CompiledBlock compile(const Block& block, const Program& program, const Folded& folded, const topology::Cluster& cluster) {
  return Compiler(block, program, folded, cluster).run();
}

}  // namespace sim
