#pragma once
// The program under construction: its blocks, the times of its parts, its events. Internal to sim/lowering.

#include <string>
#include <string_view>

#include "sim/lowering/interning.hpp"
#include "sim/pricing/price_list.hpp"
#include "sim/program/program.hpp"

namespace sim {

class ProgramBuilder {
 public:
  ProgramBuilder(int stages, const PriceList& prices, const profiles::FrameworkProfile& framework);

  [[nodiscard]] Block& forward(int stage) { return program_.forward[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] Block& backward(MicroBatchPosition p, int stage) { return program_.backward[p][static_cast<std::size_t>(stage)]; }
  [[nodiscard]] Block& update() { return program_.update; }

  // Kernels of a node that cost `price`; what their times rest on is counted.
  [[nodiscard]] Part part(std::uint32_t node, std::string_view what, const Price& price);
  // The host works this much longer before it launches the first kernels of `block` from item `first` on.
  void add_host_time(const Block& block, std::size_t first, base::Seconds time);
  // An event that an item of this pass of the stage signals.
  [[nodiscard]] EventId new_event(Pass pass, int stage);
  void add_note(std::string note) { program_.notes.push_back(std::move(note)); }

  // The program with what `interned` has numbered, and notes of what the prices assume.
  [[nodiscard]] Program build(const Interning& interned, const PriceList& prices) &&;

 private:
  const profiles::FrameworkProfile& framework_;
  Program program_;
};

// An item that moves something.
[[nodiscard]] Item moving(StreamKind stream, MovementId movement, std::string_view what, std::uint32_t node,
                          std::vector<std::uint32_t> after, std::vector<EventId> waits_on = {});
// Puts an item at the end of a block, its dependencies in order.
// Returns: its number in the block.
std::uint32_t append(Block& block, Item item);

}  // namespace sim
