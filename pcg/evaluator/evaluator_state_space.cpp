#include "pcg/evaluator/evaluator_operator.hpp"

#include "pcg/operators/head_dims.hpp"

namespace pcg {
namespace {

using field::Hash;
using Vector = std::vector<std::uint32_t>;

enum StateSpaceTag : std::uint64_t { kSilu = 201, kSoftplus, kDecay, kGate, kGroupNorm };

// The weights, in the order of the operator's inputs.
enum Slot : std::size_t { kFilters = 1, kFilterBiases, kDecays, kStepBiases, kSkips, kGains };

// One group of heads of one sample. Positions are taken in order: each adds to the states.
class Group {
 public:
  Group(const StateSpace& op, const ShardTask& t, std::int64_t group) : op_(op), t_(t), group_(group) {}

  [[nodiscard]] std::int64_t input_width() const { return heads_ * (2 * head_ + 1) + 2 * op_.state; }
  [[nodiscard]] std::int64_t output_width() const { return heads_ * head_; }

  // `row`: the group's part of the input at the next position, of a sample's rows `stride` numbers apart, the first of them `first`.
  void step(const std::uint32_t* row, const std::uint32_t* first, std::int64_t stride, std::uint32_t* out) {
    const Vector mixed = convolved(row, first, stride);
    const std::uint32_t* steps = row + 2 * output_width() + 2 * op_.state;
    for (std::int64_t h = 0; h < heads_; ++h) {
      const std::int64_t own = group_ * heads_ + h;
      const std::uint32_t dt = Hash(kSoftplus)(field::add(steps[h], weight(kStepBiases, own))).element();
      const std::uint32_t decay = Hash(kDecay)(weight(kDecays, own))(dt).element();
      for (std::int64_t c = 0; c < head_; ++c) out[h * head_ + c] = scan(mixed, h * head_ + c, decay, dt, weight(kSkips, own));
    }
    normalise(row, out);
  }

 private:
  [[nodiscard]] std::uint32_t weight(Slot slot, std::int64_t i) const {
    return t_.inputs[slot].values->values[static_cast<std::size_t>(i)];
  }
  // x, B and C of one position.
  [[nodiscard]] Vector convolved(const std::uint32_t* row, const std::uint32_t* first, std::int64_t stride) const {
    const std::int64_t channels = output_width() + 2 * op_.state;
    Vector result;
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t own = group_ * channels + c;
      std::uint32_t sum = weight(kFilterBiases, own);
      for (std::int64_t k = 0; k < op_.kernel && row - k * stride >= first; ++k)
        sum = field::add(sum, field::multiply(row[output_width() + c - k * stride], weight(kFilters, own * op_.kernel + k)));
      result.push_back(Hash(kSilu)(sum).element());
    }
    return result;
  }
  // For head c of the group.
  std::uint32_t scan(const Vector& mixed, std::int64_t c, std::uint32_t decay, std::uint32_t dt, std::uint32_t skip) {
    const std::uint32_t x = mixed[static_cast<std::size_t>(c)], taken = field::multiply(dt, x);
    std::uint32_t y = field::multiply(skip, x);
    for (std::int64_t n = 0; n < op_.state; ++n) {
      std::uint32_t& state = states_[static_cast<std::size_t>(c * op_.state + n)];
      const auto b = static_cast<std::size_t>(output_width() + n), along = b + static_cast<std::size_t>(op_.state);
      state = field::add(field::multiply(decay, state), field::multiply(taken, mixed[b]));
      y = field::add(y, field::multiply(state, mixed[along]));
    }
    return y;
  }
  void normalise(const std::uint32_t* row, std::uint32_t* out) const {
    Hash statistics(kGroupNorm);
    for (std::int64_t c = 0; c < output_width(); ++c) {
      out[c] = field::multiply(out[c], Hash(kGate)(row[c]).element());
      statistics(out[c]);
    }
    for (std::int64_t c = 0; c < output_width(); ++c)
      out[c] = field::multiply(Hash(statistics)(out[c]).element(), weight(kGains, group_ * output_width() + c));
  }

  const StateSpace& op_;
  const ShardTask& t_;
  std::int64_t group_;  // the group's number among the shard's
  std::int64_t head_ = state_space_dims(op_, t_.inputs[0].place.whole.back()).head, heads_ = op_.heads / op_.groups;
  Vector states_ = Vector(static_cast<std::size_t>(heads_ * head_ * op_.state), 0);  // [heads of the group, numbers of a head, state]
};

}  // namespace

FieldTensor run_state_space(const StateSpace& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const FieldTensor& x = *t.inputs[0].values;
  const std::size_t rank = x.shape.sizes.size();
  const std::int64_t width = x.shape.sizes[rank - 1], rows = x.shape.sizes[rank - 2], leads = x.shape.elements() / (rows * width);
  const std::int64_t groups = width / Group(op, t, 0).input_width(), out_width = y.shape.sizes[rank - 1];
  for (std::int64_t lead = 0; lead < leads; ++lead)
    for (std::int64_t g = 0; g < groups; ++g) {
      Group group(op, t, g);
      const std::uint32_t* first = x.values.data() + lead * rows * width + g * group.input_width();
      std::uint32_t* out = y.values.data() + lead * rows * out_width + g * group.output_width();
      for (std::int64_t row = 0; row < rows; ++row) group.step(first + row * width, first, width, out + row * out_width);
    }
  return y;
}

}  // namespace pcg
