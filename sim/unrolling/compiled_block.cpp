#include "sim/unrolling/compiled_block.hpp"

#include <algorithm>
#include <optional>

namespace sim {
namespace {

double sum(const std::vector<double>& seconds, std::span<const Part> parts, std::uint32_t device_type) {
  double s = 0;
  for (const Part& p : parts) s += seconds[p.seconds + device_type];
  return s;
}

// The work of the hosts of one block: whether they keep ahead of their devices, so that two launches can represent all.

// The host of a device class works without a pause from the moment when its device starts the block.
struct HostWork {
  double launches_s = 0;          // all of the block's
  double reached_s = 0;           // when it has launched what was added, counting its waits for the device (Compute::host_drains)
  double kernels_s = 0;           // of the device
  std::optional<double> first_s;  // up to the launch of the first kernels; nullopt: the class runs no kernels here
  double most_waited_s = 0;       // how long the device would wait for the launch of any later kernels at most
};

class Counter {
 public:
  Counter(const Program& program, const Folded& folded, const ClassTimes& times)
      : program_(program), folded_(folded), times_(times), work_(folded.sizes.size()) {}

  void operator()(const Compute& kernels) { add(kernels.devices, kernels.parts, kernels.host_drains); }
  // A mark waits for the launches before it, as kernels that take no time would.
  void operator()(const Mark& mark) { add(mark.devices, {}, false); }
  void operator()(const Copy&) {}  // one command, small against its bytes
  void operator()(const Move& move) {
    const auto& rounds = folded_.of_movement[move.movement.value];
    for (std::size_t r = 0; r < rounds.size(); ++r) {
      const Transfer& transfer = program_.movements[move.movement.value].rounds[r].front();
      for (std::uint32_t t : rounds[r])
        for (std::uint32_t c : folded_.transfers[t].waits_for) launch(work_[c], times_.launch_s(transfer, c));
    }
  }
  [[nodiscard]] std::vector<HostWork> result() && { return std::move(work_); }

 private:
  static void launch(HostWork& h, double seconds) {
    h.launches_s += seconds;
    h.reached_s += seconds;
  }

  void add(DeviceSetId devices, std::span<const Part> parts, bool drains) {
    for (std::uint32_t c : times_.classes_of(devices)) {
      HostWork& h = work_[c];
      if (drains && h.first_s) h.reached_s = std::max(h.reached_s, *h.first_s + h.kernels_s);
      launch(h, times_.launch_s(parts, c));
      // The device begins with the first kernels, and is at these when all before them have run: a launch that ends later holds it up.
      if (!h.first_s) {
        if (!parts.empty()) h.first_s = h.reached_s;
      } else h.most_waited_s = std::max(h.most_waited_s, h.reached_s - *h.first_s - h.kernels_s);
      h.kernels_s += times_.kernels_s(parts, c);
    }
  }

  const Program& program_;
  const Folded& folded_;
  const ClassTimes& times_;
  std::vector<HostWork> work_;
};

// One per device class.
std::vector<HostWork> host_work(const Block& block, const Program& program, const Folded& folded, const ClassTimes& times) {
  Counter counter(program, folded, times);
  for (const Item& item : block.items) std::visit(counter, item.work);
  return std::move(counter).result();
}

constexpr std::uint32_t kNoRun = 0xffffffff;

// The entries that some work waits for on one device class.
struct Waits {
  std::vector<std::uint32_t> after;  // entries of the block
  std::vector<Crossing> waits_on;
};

class Compiler {
 public:
  Compiler(const Block& block, const Program& program, const Folded& folded, const ClassTimes& times, bool merged)
      : block_(block),
        program_(program),
        folded_(folded),
        times_(times),
        merged_(merged),
        growing_(folded.sizes.size(), kNoRun),
        concerning_(block.items.size()),
        hosts_(host_work(block, program, folded, times)),
        host_started_(folded.sizes.size(), false) {}

  CompiledBlock run() {
    for (std::size_t i = 0; i < block_.items.size(); ++i) {
      std::visit([&](const auto& work) { add(i, work); }, block_.items[i].work);
      signal(i);
    }
    std::ranges::sort(out_.signals);
    return std::move(out_);
  }

 private:
  using ClassEntry = std::pair<std::uint32_t, std::uint32_t>;  // device class, entry

  void add(std::size_t index, const Compute& kernels) {
    for (std::uint32_t c : times_.classes_of(kernels.devices)) add_run(index, kernels, c);
  }
  void add(std::size_t index, const Mark& mark) { add(index, Compute{mark.devices, {}}); }  // a run of no kernels
  void add(std::size_t index, const Move& move) {
    const auto& rounds = folded_.of_movement[move.movement.value];
    for (std::size_t r = 0; r < rounds.size(); ++r) {
      std::vector<ClassEntry> delivered;
      for (std::uint32_t t : rounds[r]) {
        const std::uint32_t entry = add_entry(transfer_entry(index, move, r, t));
        for (std::uint32_t c : folded_.transfers[t].delivers_to) delivered.push_back({c, entry});
      }
      concerning_[index].insert(concerning_[index].end(), delivered.begin(), delivered.end());
    }
  }

  void add(std::size_t index, const Copy& copy) {
    const Item& item = block_.items[index];
    for (const std::uint32_t c : times_.classes_of(copy.devices)) {
      std::vector<std::uint32_t> named = dependencies(item, c, Which::all);
      end_runs(named, c);
      Entry e{CopyRun{c, base::Seconds(times_.seconds(copy.seconds, c)), copy.stream, item.node, copy.what},
              {{c, copy.stream}},
              std::move(named),
              {}};
      for (const EventId event : item.waits_on) e.waits_on.push_back({event, c});
      std::ranges::sort(e.waits_on);
      concerning_[index].push_back({c, add_entry(std::move(e))});
    }
  }

  void add_run(std::size_t index, const Compute& kernels, std::uint32_t device_class) {
    const Item& item = block_.items[index];
    // Order among kernels is kept by the compute stream itself.
    Waits waits{dependencies(item, device_class, Which::transfers), {}};
    for (EventId e : item.waits_on) waits.waits_on.push_back({e, device_class});
    std::ranges::sort(waits.waits_on);
    if (const auto launch = launch_of(kernels, device_class, waits)) waits.after.push_back(*launch);  // the newest entry: still sorted
    std::uint32_t& growing = growing_[device_class];
    const bool grows = growing != kNoRun && std::ranges::includes(out_.entries[growing].after, waits.after) &&
                       std::ranges::includes(out_.entries[growing].waits_on, waits.waits_on);
    if (!grows)
      growing = add_entry(
          {KernelRun{device_class, {}, {}, {}}, {{device_class, StreamKind::compute}}, std::move(waits.after), std::move(waits.waits_on)});
    KernelRun& run = std::get<KernelRun>(out_.entries[growing].work);
    run.parts.insert(run.parts.end(), kernels.parts.begin(), kernels.parts.end());
    run.seconds += base::Seconds(times_.kernels_s(kernels.parts, device_class));
    const profiles::ByBasis<double> by_basis = times_.kernels_by_basis(kernels.parts, device_class);
    for (const profiles::Basis b : profiles::kBases) run.by_basis[b] += base::Seconds(by_basis[b]);
    concerning_[index].push_back({device_class, growing});
    if (kernels.ends_run || !item.signals.empty()) growing = kNoRun;
  }

  // A transfer may need several classes ready: it waits for all that the item names on each, and for the rounds before it.
  Entry transfer_entry(std::size_t index, const Move& move, std::size_t round, std::uint32_t transfer) {
    const Item& item = block_.items[index];
    const TransferClass& moved = folded_.transfers[transfer];
    Entry e{TransferRun{transfer, move.stream, item.node, move.what}, {}, {}, {}};
    for (std::uint32_t c : moved.waits_for) {
      if (is_held_up(c)) {
        const double seconds = times_.launch_s(program_.movements[move.movement.value].rounds[round].front(), c);
        e.after.push_back(add_launch(c, seconds, blocks(move, moved.kind)));
      }
      const std::vector<std::uint32_t> named = dependencies(item, c, Which::all);
      end_runs(named, c);
      e.after.insert(e.after.end(), named.begin(), named.end());
      for (EventId b : item.waits_on) e.waits_on.push_back({b, c});
      for (const auto& [other, entry] : concerning_[index])
        if (other == c) e.after.push_back(entry);
      hold_streams(e, move, moved.kind, c);
    }
    make_ascending(e.after);
    std::ranges::sort(e.waits_on);
    const auto is_launch = [&](std::uint32_t i) { return std::holds_alternative<HostLaunch>(out_.entries[i].work); };
    e.follows_passes = moved.kind == CollectiveKind::send && e.waits_on.empty() && std::ranges::all_of(e.after, is_launch);
    return e;
  }

  // Whether all its members wait for a transfer that they have launched. Of a message between stages the receiver cannot: it may have
  // sent nothing yet of what the sender waits for.
  [[nodiscard]] bool blocks(const Move& move, CollectiveKind kind) const {
    return program_.blocking_launches && kind != CollectiveKind::send && move.stream != StreamKind::pipeline;
  }
  void hold_streams(Entry& e, const Move& move, CollectiveKind kind, std::uint32_t device_class) {
    const bool sends = kind == CollectiveKind::send, between_stages = move.stream == StreamKind::pipeline;
    if (!sends && !between_stages) e.streams.push_back({device_class, move.stream});
    // A framework that does not overlap a stage boundary holds up the sender's kernels. The gather that may follow at the receiver does
    // not: the receiver's compute stream has an order of its own.
    if ((sends && between_stages && !program_.overlap_stage_boundary) || blocks(move, kind)) {
      e.streams.push_back({device_class, StreamKind::compute});
      growing_[device_class] = kNoRun;
    }
  }

  void signal(std::size_t index) {
    for (EventId event : block_.items[index].signals)
      for (const auto& [c, e] : concerning_[index]) out_.signals.push_back({{event, c}, e});
  }

  // Entries of the items that `item` names in `after`, as far as they concern a class.
  enum class Which { all, transfers };
  std::vector<std::uint32_t> dependencies(const Item& item, std::uint32_t device_class, Which which) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i : item.after) {
      const auto& work = block_.items[i].work;
      if (which == Which::transfers && !std::holds_alternative<Move>(work) && !std::holds_alternative<Copy>(work)) continue;
      for (const auto& [c, e] : concerning_[i])
        if (c == device_class) found.push_back(e);
    }
    make_ascending(found);
    return found;
  }

  // Runs among `entries` that could still grow do not: what waits for them waits for no more than they are now.
  void end_runs(std::span<const std::uint32_t> entries, std::uint32_t device_class) {
    if (std::ranges::find(entries, growing_[device_class]) != entries.end()) growing_[device_class] = kNoRun;
  }

  [[nodiscard]] bool is_held_up(std::uint32_t device_class) const {
    const HostWork& host = hosts_[device_class];
    if (!host.first_s) return false;  // what another stage's block launches here, as gathers after its messages, comes in no order
    return host.launches_s > 0 && (merged_ || program_.blocking_launches || host.most_waited_s > kLaunchTolerance * host.kernels_s);
  }
  // The launch that kernels have to wait for on a class, if there is one. `waits`: what the kernels wait for.
  std::optional<std::uint32_t> launch_of(const Compute& kernels, std::uint32_t device_class, const Waits& waits) {
    const HostWork& host = hosts_[device_class];
    const bool each = is_held_up(device_class);
    if (!each && (host_started_[device_class] || kernels.parts.empty())) return std::nullopt;
    const double seconds = each ? times_.launch_s(kernels.parts, device_class) : *host.first_s;
    if (seconds <= 0) return std::nullopt;
    const std::uint32_t launch = add_launch(device_class, seconds, kernels.host_drains || program_.blocking_launches);
    if (kernels.host_waits) {
      out_.entries[launch].after = waits.after;
      out_.entries[launch].waits_on = waits.waits_on;
    }
    if (!each && host.launches_s > *host.first_s) add_launch(device_class, host.launches_s - *host.first_s, false);
    host_started_[device_class] = true;
    return launch;
  }

  // `drains`: it takes a place in the device's compute stream, and so is reached when all before it is done.
  std::uint32_t add_launch(std::uint32_t device_class, double seconds, bool drains) {
    Entry launch{HostLaunch{device_class, base::Seconds(seconds)}, {{device_class, StreamKind::host}}, {}, {}};
    if (drains) launch.streams.push_back({device_class, StreamKind::compute});
    return add_entry(std::move(launch));
  }
  std::uint32_t add_entry(Entry e) {
    out_.entries.push_back(std::move(e));
    return static_cast<std::uint32_t>(out_.entries.size() - 1);
  }

  const Block& block_;
  const Program& program_;
  const Folded& folded_;
  const ClassTimes& times_;
  bool merged_;
  CompiledBlock out_;
  std::vector<std::uint32_t> growing_;               // per class: the run that may still grow, or kNoRun
  std::vector<std::vector<ClassEntry>> concerning_;  // per item
  std::vector<HostWork> hosts_;                      // per class
  std::vector<bool> host_started_;                   // per class: its first launch is there
};

}  // namespace

ClassTimes::ClassTimes(const Program& program, const Folded& folded, const topology::Cluster& cluster) : program_(program) {
  // Folding keeps device types apart, so the representative speaks for its class.
  for (const base::DeviceId d : folded.representatives) {
    const auto type = std::ranges::find(program.device_types, topology::kind_of(cluster.device(d)));
    device_type_.push_back(static_cast<std::uint32_t>(type - program.device_types.begin()));
  }
  for (const std::vector<base::DeviceId>& set : program.device_sets) {
    std::vector<std::uint32_t>& classes = classes_.emplace_back();
    for (const base::DeviceId d : set) classes.push_back(folded.class_of[d.value]);
    make_ascending(classes);
  }
}

double ClassTimes::kernels_s(std::span<const Part> parts, std::uint32_t device_class) const {
  return sum(program_.seconds, parts, device_type_[device_class]);
}

profiles::ByBasis<double> ClassTimes::kernels_by_basis(std::span<const Part> parts, std::uint32_t device_class) const {
  profiles::ByBasis<double> sums;
  for (const Part& p : parts)
    for (const profiles::Basis b : profiles::kBases) sums[b] += program_.by_basis[p.seconds + device_type_[device_class]][b];
  return sums;
}

double ClassTimes::launch_s(std::span<const Part> parts, std::uint32_t device_class) const {
  return sum(program_.host, parts, device_type_[device_class]);
}

double ClassTimes::launch_s(const Transfer& transfer, std::uint32_t device_class) const {
  return program_.launch_s(transfer, device_type_[device_class]);
}

CompiledBlock compile(const Block& block, const Program& program, const Folded& folded, const ClassTimes& times, bool merged) {
  return Compiler(block, program, folded, times, merged).run();
}

}  // namespace sim
