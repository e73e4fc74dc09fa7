// The tensors that the backward pass of each operator reads.
#include <algorithm>

#include "pcg/operators/head_dims.hpp"
#include "pcg/work/work.hpp"
#include "pcg/work/work_parts.hpp"

namespace pcg {

namespace work {
namespace {

// `s` comes in with nothing saved.
template <class Other>
void save(const Other&, const Shard&, Saved&) {}

// relu, tanh and sigmoid have their derivative from the output; gelu needs its input, which no other operator saves when it is fused.
void save_product(Activation a, const Shard& p, Saved& s) {
  s.inputs[0] = true;
  if (a == Activation::gelu) s.own += p.bytes_out();
  else if (a != Activation::none) s.outputs[0] = true;
}
void save(const Linear& o, const Shard& p, Saved& s) { save_product(o.activation, p, s); }
void save(const ExpertLinear& o, const Shard& p, Saved& s) { save_product(o.activation, p, s); }
void save(const Conv2d& o, const Shard& p, Saved& s) { save_product(o.activation, p, s); }
void save(const BatchMatmul&, const Shard&, Saved& s) { s.inputs = {true, true}; }
void save(const Pool2d& o, const Shard&, Saved& s) { s.inputs[0] = s.outputs[0] = o.kind == Pool2d::Kind::max; }
void save(const LayerNorm&, const Shard&, Saved& s) { s.inputs[0] = true; }
void save(const BatchNorm&, const Shard&, Saved& s) { s.inputs[0] = true; }
void save(const Softmax&, const Shard&, Saved& s) { s.outputs[0] = true; }
void save(const Attention& o, const Shard& p, Saved& s) {
  const AttentionSizes sizes = sizes_of(o, p);
  for (std::size_t i = 0; i < (o.packed ? 1U : 3U); ++i) s.inputs[i] = true;
  // Keys and values are kept as they are laid out for the products; laying them out is linear and needs nothing.
  if (o.latent) s.inputs[1] = s.inputs[2] = false;
  if (o.latent) s.own += s.own_joined = bytes_joined(p, sizes);
  if (const double copies = copies_of_keys(o); copies > 1) s.own += (copies - 1) * bytes_joined(p, sizes);
  // The normalised tensors are saved for the products, the inputs for the norms.
  for (const double elements : normalised_elements(o, sizes)) s.own += p.bytes_of_reals(elements);
  if (o.flash) {
    s.outputs[0] = true;
    return;
  }
  s.own_attention = p.bytes_of_reals(sizes.scores);                                                  // of the softmax
  if (o.dropout > 0) s.own_attention += base::Bytes(sizes.scores) + p.bytes_of_reals(sizes.scores);  // the mask and what it lets through
  s.own += s.own_attention;
}
// The input, and what the scan gave before and after its gate; the rest is computed again.
void save(const StateSpace&, const Shard& p, Saved& s) {
  s.inputs[0] = true;
  s.own += 2 * p.bytes_out();
}
void save(const Embedding&, const Shard&, Saved& s) { s.inputs[0] = true; }
void save(const EmbeddingBag&, const Shard&, Saved& s) { s.inputs[0] = true; }
void save(const Unary& o, const Shard&, Saved& s) {
  switch (o.kind) {
    case Unary::Kind::gelu:
    case Unary::Kind::relu2:
    case Unary::Kind::silu: s.inputs[0] = true; return;
    case Unary::Kind::relu:
    case Unary::Kind::tanh:
    case Unary::Kind::sigmoid:
    case Unary::Kind::exp: s.outputs[0] = true; return;
    case Unary::Kind::scale:
    case Unary::Kind::identity: return;
  }
}
void save(const Binary& o, const Shard&, Saved& s) {
  if (o.kind == Binary::Kind::multiply) s.inputs = {true, true};
}
void save(const Dropout& o, const Shard& p, Saved& s) {
  if (o.rate > 0) s.own = base::Bytes(count(p.in[0]));
}
// The softmax is kept in 32 bits whatever the precision: 4sbv bytes (Korthikanti et al., section 4.3); the logits are not.
void save(const CrossEntropy&, const Shard& p, Saved& s) {
  s.inputs[1] = true;
  s.own = base::Bytes(4 * count(p.in[0]));
}
void save(const SquaredError&, const Shard&, Saved& s) { s.inputs = {true, true}; }
void save(const MoeDispatch&, const Shard&, Saved& s) { s.inputs[1] = true; }  // who went where follows from the gates
// Gates weigh the input of an expert's last product, which is saved for that product, so that its output need not be saved
// (Megatron-Core's activation with probabilities; DeepSeek-V3 does the same).
void save(const MoeCombine&, const Shard&, Saved& s) { s.inputs[1] = true; }

}  // namespace
}  // namespace work

Saved saved_for_backward(const Operator& op, std::span<const TensorShape> inputs, std::span<const TensorShape> outputs, Precision p) {
  Saved saved{std::vector<bool>(inputs.size()), std::vector<bool>(outputs.size()), {}, {}, {}};
  const work::Shard shard{inputs, outputs, p};
  std::visit([&](const auto& o) { work::save(o, shard, saved); }, op);
  return saved;
}

bool keeps_scores(const Operator& op) {
  const auto* attention = std::get_if<Attention>(&op);
  return attention != nullptr && !attention->flash;
}

namespace {

using Shapes = std::span<const TensorShape>;
using work::count;

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

Operator shard_operator(const Operator& op, std::span<const TensorShape> whole_inputs, std::span<const TensorShape> shard_inputs) {
  Operator shard = op;
  const auto divide = [&](std::int64_t& heads) {  // keys and values alike
    heads = std::max<std::int64_t>(1, heads / (whole_inputs[0].sizes.back() / shard_inputs[0].sizes.back()));
  };
  if (auto* scan = std::get_if<StateSpace>(&shard)) {
    divide(scan->heads);
    divide(scan->groups);
  }
  if (auto* attention = std::get_if<Attention>(&shard)) {
    divide(attention->heads);
    divide(attention->kv_heads);
    const std::int64_t keys = key_count(*attention, whole_inputs);
    if (key_count(*attention, shard_inputs) < keys) attention->keys = keys;
  }
  return shard;
}

}  // namespace pcg
