#include "sim/program/program.hpp"

namespace sim {
namespace {

// The last of a part: tokens leave.
bool ends_part(const Item& item) {
  const Move* move = std::get_if<Move>(&item.work);
  return move != nullptr && move->stream == StreamKind::experts;
}

// Where the parts of a block end.
std::vector<std::size_t> ends_of_parts(const Block& block) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i < block.items.size(); ++i)
    if (ends_part(block.items[i - 1]) && !ends_part(block.items[i])) ends.push_back(i);
  ends.push_back(block.items.size());
  return ends;
}

// One of the two passes on its way into the block of both.
class PassItems {
 public:
  explicit PassItems(const Block& block) : block_(block), ends_(ends_of_parts(block)) {}

  [[nodiscard]] std::size_t parts() const { return ends_.size(); }
  void move_part_to(Block& both) {
    for (; at_.size() < ends_[part_];) {
      Item item = block_.items[at_.size()];
      for (std::uint32_t& i : item.after) i = at_[i];
      at_.push_back(static_cast<std::uint32_t>(both.items.size()));
      both.items.push_back(std::move(item));
    }
    ++part_;
  }

 private:
  const Block& block_;
  std::vector<std::size_t> ends_;
  std::size_t part_ = 0;
  std::vector<std::uint32_t> at_;  // the places of the items that were moved
};

}  // namespace

std::vector<Pass> alternation(std::size_t forward_parts, std::size_t backward_parts) {
  std::vector<Pass> order;
  std::size_t forward = 0, backward = 0;
  while (forward < forward_parts || backward < backward_parts) {
    const bool back = forward == forward_parts || (backward < backward_parts && backward * forward_parts <= forward * backward_parts);
    order.push_back(back ? Pass::backward : Pass::forward);
    ++(back ? backward : forward);
  }
  return order;
}

Block merged(const Block& forward, const Block& backward) {
  Block both;
  both.items.reserve(forward.items.size() + backward.items.size());
  PassItems ahead(forward), back(backward);
  for (const Pass pass : alternation(ahead.parts(), back.parts())) (pass == Pass::forward ? ahead : back).move_part_to(both);
  return both;
}

}  // namespace sim
