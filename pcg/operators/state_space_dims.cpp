#include "pcg/operators/state_space_dims.hpp"

#include "base/check.hpp"

namespace pcg {

std::optional<StateSpaceDims> try_state_space_dims(const StateSpace& op, std::int64_t width) {
  if (op.heads < 1 || op.groups < 1 || op.heads % op.groups != 0 || width % op.groups != 0) return std::nullopt;
  const std::int64_t heads = op.heads / op.groups, of_heads = width / op.groups - 2 * op.state;
  if (of_heads <= 0 || of_heads % heads != 0) return std::nullopt;
  const std::int64_t twice = of_heads / heads - 1;  // the gates and x of a head, without its step
  if (twice < 2 || twice % 2 != 0) return std::nullopt;
  const std::int64_t inner = op.heads * twice / 2;
  return StateSpaceDims{.head = twice / 2, .inner = inner, .channels = inner + 2 * op.groups * op.state};
}

StateSpaceDims state_space_dims(const StateSpace& op, std::int64_t width) {
  const auto dims = try_state_space_dims(op, width);
  BASE_CHECK(dims, "a width of {} for {} heads in {} groups with states of {}", width, op.heads, op.groups, op.state);
  return *dims;
}

std::int64_t state_space_width(const StateSpace& op, std::int64_t head) {
  return op.groups * (op.heads / op.groups * (2 * head + 1) + 2 * op.state);
}

}  // namespace pcg
