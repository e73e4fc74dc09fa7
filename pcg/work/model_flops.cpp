#include "pcg/work/model_flops.hpp"

#include "pcg/operators/attention_dims.hpp"

namespace pcg {
namespace {

using Shapes = std::span<const TensorShape>;

double count(const TensorShape& s) { return static_cast<double>(s.elements()); }
double last(const TensorShape& s) { return static_cast<double>(s.sizes.back()); }

std::int64_t key_count(const Attention& o, Shapes in) {
  const TensorShape& keys = in[o.packed ? 0 : 1];
  return keys.sizes[keys.sizes.size() - 2];
}

template <class Other>
double multiply_adds(const Other&, Shapes, Shapes) {
  return 0;
}
double multiply_adds(const Linear&, Shapes in, Shapes out) { return count(in[0]) * last(out[0]); }
double multiply_adds(const ExpertLinear&, Shapes in, Shapes out) { return count(in[0]) * last(out[0]); }
double multiply_adds(const BatchMatmul&, Shapes in, Shapes out) { return count(out[0]) * last(in[0]); }
double multiply_adds(const Conv2d&, Shapes in, Shapes out) { return count(out[0]) * count(in[1]) / static_cast<double>(in[1].sizes[0]); }
double multiply_adds(const StateSpace& o, Shapes, Shapes out) {
  // The state of each number of a head is decayed, added to and read: 7 FLOPs for each number of the state, as published counts have it
  // (Megatron-Bridge, training/utils/flop_utils.py).
  return 3.5 * count(out[0]) * static_cast<double>(o.state);
}
double multiply_adds(const Attention& o, Shapes in, Shapes out) {
  const HeadDims d = head_dims(o, in);
  const double rows = count(out[0]) / static_cast<double>(d.value);  // a query of one head each
  return rows * static_cast<double>(d.query + d.value) * static_cast<double>(keys_in_reach(o, key_count(o, in)));  // q.k and scores.v
}

}  // namespace

base::Flops model_flops(const Operator& op, Shapes inputs, Shapes outputs) {
  return base::Flops(2 * std::visit([&](const auto& o) { return multiply_adds(o, inputs, outputs); }, op));
}

base::Flops masked_flops(const Operator& op, Shapes inputs, Shapes outputs) {
  const auto* attention = std::get_if<Attention>(&op);
  if (attention == nullptr) return base::Flops(0);
  return (1 - share_met(*attention, key_count(*attention, inputs))) * model_flops(op, inputs, outputs);
}

}  // namespace pcg
