#pragma once
// The pipeline ranks that the items of a program concern. Private to this folder.

#include <cstddef>
#include <span>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "sim/program/program.hpp"

namespace search {

class RankMap {
 public:
  // One rank, number 0, for everything.
  RankMap() = default;
  // For the ranks of the plan's pipeline. A device belongs to the rank of the first stage that runs kernels on it. The program outlives the
  // object. Cost: O(devices in the sets of forward items + members of movements).
  RankMap(const sim::Program& program, const pcg::Plan& plan);

  // Call when the program has become another variant's.
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
  [[nodiscard]] std::vector<std::size_t> ranks_of(const sim::Movement& movement) const;

  const sim::Program* program_ = nullptr;  // none: one rank
  std::vector<std::size_t> of_device_, of_set_;
  std::vector<std::vector<std::size_t>> of_movement_;
};

}  // namespace search
