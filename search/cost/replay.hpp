#pragma once
// Seconds of the items of a program: kernels as the program has them, movements as the oracle times them. Private to this folder.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "sim/oracle.hpp"
#include "sim/program/program.hpp"

namespace search {

class ItemCosts {
 public:
  // Costs as a device of type `pace` sees them, an index into Program::device_types: an item that runs on such devices takes its time on
  // them, another item its time on the slowest of its own. `movement_s[m][r]`: round r of movement m. The references outlive the object.
  ItemCosts(const sim::Program& program, const topology::Cluster& cluster, const std::vector<std::vector<double>>& movement_s,
            std::uint32_t pace)
      : program_(program), cluster_(cluster), movement_s_(movement_s), pace_(pace) {}

  // Call first, and when the program has become another variant's: sets of devices and movements that are new get their costs.
  // Cost: O(devices in new sets + members of new movements).
  void extend();

  [[nodiscard]] double kernels_s(const sim::Compute& kernels) const { return at_pace(program_.seconds, kernels); }
  [[nodiscard]] double seconds(const sim::Copy& copy) const;
  // Host time to launch the kernels, and to launch all rounds of a movement.
  [[nodiscard]] double launch_s(const sim::Compute& kernels) const { return at_pace(program_.host, kernels); }
  [[nodiscard]] double launch_s(const sim::Move& move) const { return moved_[move.movement.value].launch_s; }
  // One per round of the movement.
  [[nodiscard]] const std::vector<double>& rounds_s(const sim::Move& move) const { return movement_s_[move.movement.value]; }
  // Whether a collective is among the rounds: it takes a stream of its devices, messages do not.
  [[nodiscard]] bool is_collective(const sim::Move& move) const { return moved_[move.movement.value].is_collective; }
  // The device types that set the pace of such a set of devices: `pace` where it is among them, else all of them.
  [[nodiscard]] const std::vector<std::uint32_t>& types_of(sim::DeviceSetId devices) const { return types_[devices.value]; }
  // How many times as long kernels take while a collective runs.
  [[nodiscard]] double overlap_slowdown() const { return overlap_slowdown_; }

 private:
  struct Moved {
    double launch_s = 0;
    bool is_collective = false;
  };
  [[nodiscard]] std::vector<std::uint32_t> types_among(const std::vector<base::DeviceId>& devices) const;
  [[nodiscard]] double at_pace(const std::vector<double>& seconds, const sim::Compute& kernels) const;

  const sim::Program& program_;
  const topology::Cluster& cluster_;
  const std::vector<std::vector<double>>& movement_s_;
  std::vector<std::vector<std::uint32_t>> types_;  // per device set: indices into Program::device_types
  std::vector<Moved> moved_;                       // per movement
  std::uint32_t pace_;
  double overlap_slowdown_ = profiles::device_profile(program_.device_types[pace_].type).overlap_slowdown;
};

// The pipeline ranks that the items of a program concern.
class RankMap {
 public:
  // One rank, number 0, for everything.
  RankMap() = default;
  // For the ranks of the plan's pipeline. A device belongs to the rank of the first stage that runs kernels on it. The program outlives the
  // object.
  // Cost: O(devices in the sets of forward items).
  RankMap(const sim::Program& program, const pcg::Plan& plan);

  // Call first, and when the program has become another variant's.
  // Cost: O(members of new movements).
  void extend();

  // The rank of the first device.
  [[nodiscard]] std::size_t of(sim::DeviceSetId set) const { return program_ == nullptr ? 0 : of_set_[set.value]; }
  // Ascending.
  [[nodiscard]] std::span<const std::size_t> of(sim::MovementId movement) const {
    return program_ == nullptr ? std::span(&kOnly, 1) : std::span(of_movement_[movement.value]);
  }

 private:
  static constexpr std::size_t kOnly = 0;

  const sim::Program* program_ = nullptr;  // none: one rank
  std::vector<std::size_t> of_device_, of_set_;
  std::vector<std::vector<std::size_t>> of_movement_;
};

// The streams of the devices of one pipeline rank, which do the same at the same time.
class RankStreams {
 public:
  // The streams are free at these times, in seconds; until then they are at work.
  explicit RankStreams(double compute = 0, double networks = 0, double host = 0);

  // Kernels of `work` seconds that may start at `ready`, after the kernels before them. While a collective runs, they take `slowdown` times
  // as long.
  // Returns: their end.
  double compute(double ready, double work, double slowdown);
  // A collective of `seconds` on its stream, after those before it.
  // Returns: its end.
  double collective(sim::StreamKind stream, double ready, double seconds);
  // A message that the compute stream waits for.
  // Returns: its end.
  double blocking_message(double ready, double seconds) { return compute_ = std::max(ready, compute_) + seconds; }
  // A copy to the host or back, or the host's work on what lies there, after those of its kind.
  // Returns: its end.
  double copy(sim::StreamKind stream, double ready, double seconds) { return free_[stream] = std::max(ready, free_[stream]) + seconds; }
  // The host works for `seconds` from `ready` on, after what it did before.
  // Returns: its end.
  double launch(double ready, double seconds) { return host_ = std::max(ready, host_) + seconds; }

  [[nodiscard]] double computed() const { return compute_; }
  [[nodiscard]] double host() const { return host_; }
  // The collectives of gradients and weights have ended.
  [[nodiscard]] double synchronised() const { return free_[sim::StreamKind::gradients]; }
  // Seconds of them.
  [[nodiscard]] double synchronising() const { return synchronising_; }
  // The moment from which all streams of the device are free.
  [[nodiscard]] double drained() const { return std::max(compute_, std::ranges::max(free_)); }

 private:
  struct Interval {
    double start, end;
  };
  // The collectives of a stream.
  struct Busy {
    std::vector<Interval> intervals;  // ascending
    std::size_t passed = 0;           // those that ended before the kernels' time
  };
  // The collective that runs at time t or next after it; advances with t. nullptr: none.
  static const Interval* at(Busy& busy, double t);

  double compute_, host_, synchronising_ = 0;
  base::ByEnum<sim::StreamKind, sim::StreamKind::host_update, double> free_;  // of what is neither kernels nor launches
  base::ByEnum<sim::StreamKind, sim::StreamKind::experts, Busy> busy_;
};

enum class Hosts {
  ahead,   // whatever the device runs has been launched
  in_step  // the host starts the block together with the device
};

struct Signal {
  sim::EventId event;
  double time = 0;
  bool synchronises = false;  // of a collective of gradients or weights
};

// The item is on the stream of gradients and weights.
[[nodiscard]] bool synchronises(const sim::Item& item);

// Runs the items of a block once, one after another as each stream takes them, without contention for links. `arrival` gives the time of an
// event of another block. Changes the streams.
// Returns: the events that the block signals.
// Cost: O(items, their dependencies and the ranks that they concern).
std::vector<Signal> replay(const sim::Block& block, const sim::Program& program, const ItemCosts& costs, const RankMap& map, Hosts hosts,
                           const std::function<double(sim::EventId)>& arrival, std::span<RankStreams> streams);

}  // namespace search
