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
        concerning_(block.items.size()),
        hosts_(folded.sizes.size()) {}

  CompiledBlock run() {
    look_at_hosts();
    for (std::size_t i = 0; i < block_.items.size(); ++i) {
      if (block_.items[i].stream == StreamKind::compute) add_compute(i);
      else add_movement(i);
    }
    std::sort(out_.signals.begin(), out_.signals.end());
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
  // What the host of a class does in this block, starting when the device does.
  struct Host {
    double launched_s = 0, computed_s = 0;  // sums so far
    double first_s = -1;                    // what the first kernels wait for; below 0: nothing runs here
    double most_waited_s = 0;               // by kernels after the first
    bool detailed = false;
    bool started = false;
  };
  void look_at_hosts();
  // Host time to launch the collective of an item's round: the slowest of n hosts whose lateness is exponential with mean j comes
  // j (1 + 1/2 + ... + 1/n) late, so j (1/2 + ... + 1/n) later than each alone.
  [[nodiscard]] double collective_launch_s(const Item& item, std::size_t round, std::uint32_t device_class) const;
  // Appends a launch of `seconds` by the host of a class; returns its number.
  std::uint32_t add_launch(std::uint32_t device_class, double seconds, std::uint32_t node);
  // The launch that a compute item has to wait for on a class, if there is one. after, waits_on: what the item waits for.
  std::optional<std::uint32_t> launch_of(const Item& item, std::uint32_t device_class, const std::vector<std::uint32_t>& after,
                                         const std::vector<Crossing>& waits_on);
  void add_compute(std::size_t item);
  void add_movement(std::size_t item);
  // Entries that an item's `after` names, as far as they concern a class. A run found there is closed if `close`.
  std::vector<std::uint32_t> dependencies(const Item& item, std::uint32_t device_class, bool movements_only, bool close);
  void signal(const Item& item, std::span<const ClassEntry> entries) {
    for (EventId b : item.signals) {
      for (const auto& [c, e] : entries) out_.signals.push_back({{b, c}, e});
    }
  }
  [[nodiscard]] std::uint32_t device_type(std::uint32_t device_class) const;
  // Sum over an item's parts, of Program::seconds or Program::host.
  [[nodiscard]] double sum(const std::vector<double>& times, const Item& item, std::uint32_t device_class) const;

  const Block& block_;
  const Program& program_;
  const Folded& folded_;
  const topology::Cluster& cluster_;
  CompiledBlock out_;
  std::vector<std::uint32_t> open_;                  // per class: the run that may still grow
  std::vector<std::vector<ClassEntry>> concerning_;  // per item
  std::map<std::uint32_t, std::vector<std::uint32_t>> set_classes_;
  std::vector<Host> hosts_;  // per class
};

std::uint32_t Compiler::device_type(std::uint32_t device_class) const {
  const std::string& type = cluster_.device(folded_.representatives[device_class]).type;
  return static_cast<std::uint32_t>(std::ranges::find(program_.device_types, type) - program_.device_types.begin());
}

double Compiler::sum(const std::vector<double>& times, const Item& item, std::uint32_t device_class) const {
  const std::uint32_t at = device_type(device_class);
  double s = 0;
  for (const Part& p : item.parts) s += times[p.seconds + at];
  return s;
}

double Compiler::collective_launch_s(const Item& item, std::size_t round, std::uint32_t device_class) const {
  double s = program_.collective_launch[device_type(device_class)].value();
  const Transfer& transfer = program_.movements[item.movement.value].rounds[round].front();
  if (transfer.kind == CollectiveKind::send) return s;
  for (std::size_t n = 2; n <= transfer.group.size(); ++n) s += program_.launch_jitter.value() / static_cast<double>(n);
  return s;
}

void Compiler::look_at_hosts() {
  for (const Item& item : block_.items) {
    if (item.stream != StreamKind::compute) {
      const auto& rounds = folded_.of_movement[item.movement.value];
      for (std::size_t r = 0; r < rounds.size(); ++r)
        for (std::uint32_t t : rounds[r])
          for (std::uint32_t c : folded_.transfers[t].waits_for) hosts_[c].launched_s += collective_launch_s(item, r, c);
      continue;
    }
    for (std::uint32_t c : classes_of(item.devices)) {
      Host& h = hosts_[c];
      h.launched_s += sum(program_.host, item, c);
      if (h.first_s < 0) h.first_s = h.launched_s;
      else h.most_waited_s = std::max(h.most_waited_s, h.launched_s - h.first_s - h.computed_s);
      h.computed_s += sum(program_.seconds, item, c);
    }
  }
  for (Host& h : hosts_) h.detailed = h.most_waited_s > kLaunchTolerance * h.computed_s;
}

std::uint32_t Compiler::add_launch(std::uint32_t device_class, double seconds, std::uint32_t node) {
  Entry e;
  e.device_class = device_class;
  e.stream = StreamKind::host;
  e.seconds = base::Seconds(seconds);
  e.node = node;
  e.streams = {device_class * kStreams + 3};
  out_.entries.push_back(std::move(e));
  return static_cast<std::uint32_t>(out_.entries.size() - 1);
}

std::optional<std::uint32_t> Compiler::launch_of(const Item& item, std::uint32_t device_class, const std::vector<std::uint32_t>& after,
                                                 const std::vector<Crossing>& waits_on) {
  Host& h = hosts_[device_class];
  const double seconds = h.detailed ? sum(program_.host, item, device_class) : h.started ? 0 : h.first_s;
  if (seconds <= 0) return std::nullopt;
  const std::uint32_t launch = add_launch(device_class, seconds, item.node);
  if (item.host_drains)
    out_.entries[launch].streams.push_back(device_class * kStreams);  // a place in the device's stream is what it waits for
  if (item.host_waits) {
    out_.entries[launch].after = after;
    out_.entries[launch].waits_on = waits_on;
  }
  if (!h.detailed && h.launched_s > h.first_s) add_launch(device_class, h.launched_s - h.first_s, item.node);
  h.started = true;
  return launch;
}

std::vector<std::uint32_t> Compiler::dependencies(const Item& item, std::uint32_t device_class, bool movements_only, bool close) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i : item.after) {
    if (movements_only && block_.items[i].stream == StreamKind::compute) continue;  // the compute stream keeps this order by itself
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
    auto after = dependencies(item, c, /*movements_only=*/true, /*close=*/false);
    std::vector<Crossing> waits_on;
    for (EventId b : item.waits_on) waits_on.push_back({b, c});
    std::sort(waits_on.begin(), waits_on.end());
    if (const auto launch = launch_of(item, c, after, waits_on)) after.push_back(*launch);  // the newest entry: still sorted
    const bool grows = open_[c] != kNone && std::ranges::includes(out_.entries[open_[c]].after, after) &&
                       std::ranges::includes(out_.entries[open_[c]].waits_on, waits_on);
    if (!grows) {
      Entry e;
      e.device_class = c;
      e.streams = {c * kStreams};
      e.after = after;
      e.waits_on = std::move(waits_on);
      e.node = item.node;
      out_.entries.push_back(std::move(e));
      open_[c] = static_cast<std::uint32_t>(out_.entries.size() - 1);
    }
    Entry& run = out_.entries[open_[c]];
    run.parts.insert(run.parts.end(), item.parts.begin(), item.parts.end());
    run.seconds += base::Seconds(sum(program_.seconds, item, c));
    concerning_[index].push_back({c, open_[c]});
    if (item.cut || !item.signals.empty()) open_[c] = kNone;
  }
  signal(item, concerning_[index]);
}

void Compiler::add_movement(std::size_t index) {
  const Item& item = block_.items[index];
  std::vector<ClassEntry>& concerning = concerning_[index];
  const auto& rounds = folded_.of_movement[item.movement.value];
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    std::vector<ClassEntry> delivered;
    for (std::uint32_t t : rounds[r]) {
      const TransferClass& transfer = folded_.transfers[t];
      Entry e;
      e.device_class = Entry::kTransfer;
      e.transfer = t;
      e.stream = item.stream;
      e.node = item.node;
      e.what = item.what;
      for (std::uint32_t c : transfer.waits_for) {
        if (hosts_[c].detailed) e.after.push_back(add_launch(c, collective_launch_s(item, r, c), item.node));
        for (std::uint32_t d : dependencies(item, c, false, true)) e.after.push_back(d);
        for (EventId b : item.waits_on) e.waits_on.push_back({b, c});
        for (const auto& [other, entry] : concerning) {
          if (other == c) e.after.push_back(entry);
        }
        if (transfer.kind != CollectiveKind::send && item.stream != StreamKind::pipeline)
          e.streams.push_back(c * kStreams + (item.stream == StreamKind::gradients ? 2 : 1));
        // Not the gather that follows at the receiver: its compute stream has an order of its own.
        if (item.stream == StreamKind::pipeline && transfer.kind == CollectiveKind::send && !program_.overlap_stage_boundary) {
          e.streams.push_back(c * kStreams);
          open_[c] = kNone;
        }
      }
      std::sort(e.after.begin(), e.after.end());
      e.after.erase(std::unique(e.after.begin(), e.after.end()), e.after.end());
      std::sort(e.waits_on.begin(), e.waits_on.end());
      out_.entries.push_back(std::move(e));
      for (std::uint32_t c : transfer.delivers_to) delivered.push_back({c, static_cast<std::uint32_t>(out_.entries.size() - 1)});
    }
    concerning.insert(concerning.end(), delivered.begin(), delivered.end());
  }
  signal(item, concerning);
}

}  // namespace

CompiledBlock compile(const Block& block, const Program& program, const Folded& folded, const topology::Cluster& cluster) {
  return Compiler(block, program, folded, cluster).run();
}

}  // namespace sim
