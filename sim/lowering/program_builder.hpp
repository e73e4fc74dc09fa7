#pragma once
// The programs of a plan's variants under construction: what they share in tables that grow, and which blocks the present one is made of.
// Internal to sim/lowering.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/kernels/cost_table.hpp"
#include "sim/numbering/interning.hpp"
#include "sim/program/program.hpp"

namespace sim {

class ProgramBuilder {
 public:
  ProgramBuilder(const CostTable& costs, const profiles::FrameworkProfile& framework, const pcg::Plan& plan);

  // Kernels of a node that cost `cost`. One cost, by its number, has its seconds once.
  [[nodiscard]] Part part(std::uint32_t node, std::string_view what, const Cost& cost);
  // The kernels that do this share of a node's work, and the same share of the host's.
  [[nodiscard]] Part part(std::uint32_t node, std::string_view what, const Cost& cost, double share);
  // Times that nothing launches and no kernel rests on, one per device type. Returns: their index in Program::seconds.
  [[nodiscard]] std::uint32_t times(const std::vector<base::Seconds>& on_type);
  // The host works this much longer before it launches the first kernels of `block` from item `first` on.
  void add_host_time(Block& block, std::size_t first, base::Seconds time);
  // An event that an item of this pass of the stage signals.
  [[nodiscard]] EventId new_event(Pass pass, int stage);
  [[nodiscard]] BlockId add(Block block);
  // Whether some part is a share of a node's kernels.
  [[nodiscard]] bool has_shares() const { return !seconds_of_share_.empty(); }
  // Notes are kept once.
  void add_note(base::NoteKind kind, std::string text);

  // The program that these blocks make, with what `interned` has numbered, and notes of what the costs assume. It changes with the next.
  struct Blocks {
    std::vector<BlockId> forward, first_forward;
    ByPosition<std::vector<BlockId>> backward, inputs, weights;
    BlockId update;
  };
  const Program& build(Blocks blocks, const Interning& interned, const CostTable& costs);
  [[nodiscard]] Program take() && { return std::move(program_); }

 private:
  const profiles::FrameworkProfile& framework_;
  bool hosts_launch_;  // kernels one by one
  Program program_;
  std::uint32_t add_seconds(const Cost& cost, double share);

  std::vector<std::optional<std::uint32_t>> seconds_of_cost_;                   // by Cost::number: Part::seconds
  std::map<std::pair<std::uint32_t, double>, std::uint32_t> seconds_of_share_;  // the same by number and share
};

// An item that moves something.
[[nodiscard]] Item moving(StreamKind stream, MovementId movement, std::string_view what, std::uint32_t node,
                          std::vector<std::uint32_t> after, std::vector<EventId> waits_on = {});
// Puts an item at the end of a block, its dependencies in order.
// Returns: its number in the block.
std::uint32_t append(Block& block, Item item);

}  // namespace sim
