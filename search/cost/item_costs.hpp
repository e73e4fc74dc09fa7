#pragma once
// Seconds of the items of a program: kernels as the program has them, movements as the oracle times them. Private to this folder.

#include <vector>

#include "sim/oracle.hpp"
#include "sim/program/program.hpp"

namespace search {

class ItemCosts {
 public:
  // Costs as a device of type `pace` sees them, an index into Program::device_types: an item that runs on such devices takes its time on
  // them, another item its time on the slowest of its own. `movement_s[m][r]`: round r of movement m. The references outlive the object.
  ItemCosts(const sim::Program& program, const topology::Cluster& cluster, const std::vector<std::vector<double>>& movement_s,
            std::uint32_t pace);

  // Call when the program has become another variant's: sets of devices and movements that are new get their costs.
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
  // How many times as long kernels take beside a collective.
  [[nodiscard]] double overlap_slowdown() const { return overlap_slowdown_; }

 private:
  struct Moved {
    double launch_s = 0;
    bool is_collective = false;
  };
  [[nodiscard]] std::vector<std::uint32_t> types_of(const std::vector<base::DeviceId>& devices) const;
  [[nodiscard]] Moved moved(const sim::Movement& movement) const;
  [[nodiscard]] double at_pace(const std::vector<double>& seconds, const sim::Compute& kernels) const;

  const sim::Program& program_;
  const topology::Cluster& cluster_;
  const std::vector<std::vector<double>>& movement_s_;
  std::vector<std::vector<std::uint32_t>> types_;  // per device set: indices into Program::device_types
  std::vector<Moved> moved_;                       // per movement
  std::uint32_t pace_;
  double overlap_slowdown_ = 1;
};

}  // namespace search
