// Joins nodes of a draft that belong together: linear layers with their biases and activations, and attention.

#include <optional>
#include <utility>

#include "pcg/models/onnx/draft.hpp"
#include "pcg/models/onnx/model.hpp"
#include "pcg/operators/operator_shapes.hpp"

namespace pcg::models::onnx {
namespace {

std::vector<int> reads_of(const Draft& draft) {
  std::vector<int> reads(draft.nodes().size(), 0);
  for (const DraftNode& n : draft.nodes())
    for (const GraphTensorRef t : n.inputs) ++reads[t.node.value];
  return reads;
}

std::optional<Activation> activation_of(const Operator& op) {
  const auto* unary = std::get_if<Unary>(&op);
  if (unary == nullptr) return std::nullopt;
  switch (unary->kind) {
    case Unary::Kind::relu: return Activation::relu;
    case Unary::Kind::sigmoid: return Activation::sigmoid;
    case Unary::Kind::tanh: return Activation::tanh;
    default: return std::nullopt;
  }
}

// Whether `n` puts another operator into the place of its only input, and makes nothing more.
bool join_linear(Draft& draft, std::size_t n, const std::vector<int>& reads) {
  DraftNode& node = draft.nodes()[n];
  if (node.inputs.empty() || reads[node.inputs[0].node.value] != 1) return false;
  const DraftNode before = draft.node(node.inputs[0]);
  if (const auto activation = activation_of(node.op)) {
    Operator op = before.op;
    if (auto* linear = std::get_if<Linear>(&op); linear != nullptr && linear->activation == Activation::none)
      linear->activation = *activation;
    else if (auto* conv = std::get_if<Conv2d>(&op); conv != nullptr && conv->activation == Activation::none) conv->activation = *activation;
    else return false;
    node = {before.name, std::move(op), before.inputs, before.outputs, before.scope};
    return true;
  }
  const auto* add = std::get_if<Binary>(&node.op);
  const auto* linear = std::get_if<Linear>(&before.op);
  if (add == nullptr || add->kind != Binary::Kind::add || linear == nullptr || linear->has_bias || linear->activation != Activation::none)
    return false;
  if (!std::holds_alternative<Weight>(draft.node(node.inputs[1]).op) || draft.shape(node.inputs[1]).sizes != Sizes{linear->out})
    return false;
  Linear biased = *linear;
  biased.has_bias = true;
  node = {before.name, biased, {before.inputs[0], before.inputs[1], node.inputs[1]}, before.outputs, before.scope};
  return true;
}

class AttentionMatcher {
 public:
  AttentionMatcher(Draft& draft, std::vector<int> reads) : draft_(draft), reads_(std::move(reads)) {}

  // Requires: the node reads the weighted values of heads. Whether it has become attention.
  bool join_at(std::size_t reshape) {
    DraftNode& last = draft_.nodes()[reshape];
    if (!std::holds_alternative<Reshape>(last.op)) return false;
    const auto merged = inner(last.inputs[0]);
    if (!merged || !is_transpose(*merged, {0, 2, 1, 3})) return false;
    const auto weighted = inner(merged->inputs[0]);
    if (!weighted || !is_product(*weighted, false)) return false;
    double dropout = 0;
    auto softmax = inner(weighted->inputs[0]);
    if (softmax)
      if (const auto* d = std::get_if<Dropout>(&softmax->op)) {
        dropout = d->rate;
        softmax = inner(softmax->inputs[0]);
      }
    if (!softmax || !is_softmax(*softmax)) return false;
    const auto product = unscaled(softmax->inputs[0]);
    if (!product) return false;
    const auto q = heads_of(product->inputs[0]), v = heads_of(weighted->inputs[1]);
    const auto k = is_product(*product, true)    ? heads_of(product->inputs[1])
                   : is_product(*product, false) ? transposed_heads_of(product->inputs[1])
                                                 : std::nullopt;
    if (!q || !k || !v || q->heads != k->heads || q->heads != v->heads) return false;
    const Attention op{.heads = q->heads, .kv_heads = q->heads, .packed = false, .causal = softmax->causal, .dropout = dropout};
    const std::vector<TensorShape> shapes = {draft_.shape(q->packed), draft_.shape(k->packed), draft_.shape(v->packed)};
    const auto outputs = try_infer_shapes(op, shapes);
    if (!outputs || *outputs != last.outputs) return false;
    last.op = op;
    last.inputs = {q->packed, k->packed, v->packed};
    return true;
  }

 private:
  struct Heads {
    GraphTensorRef packed;  // [b, s, heads d]
    std::int64_t heads = 0;
  };

  // The node that makes a tensor which nothing else reads.
  std::optional<DraftNode> inner(GraphTensorRef t) const {
    return reads_[t.node.value] == 1 ? std::optional(draft_.nodes()[t.node.value]) : std::nullopt;
  }
  static bool is_transpose(const DraftNode& n, const std::vector<int>& permutation) {
    const auto* t = std::get_if<Transpose>(&n.op);
    return t != nullptr && t->permutation == permutation;
  }
  static bool is_product(const DraftNode& n, bool transposed) {
    const auto* p = std::get_if<BatchMatmul>(&n.op);
    return p != nullptr && p->transpose_b == transposed && n.outputs[0].sizes.size() == 4;
  }
  static bool is_softmax(const DraftNode& n) {
    const auto* s = std::get_if<Softmax>(&n.op);
    return s != nullptr && (s->axis == -1 || s->axis == 3);
  }
  // The inner node before any number of scalings.
  std::optional<DraftNode> unscaled(GraphTensorRef t) const {
    const auto is_scaling = [](const Operator& op) {
      const auto* unary = std::get_if<Unary>(&op);
      return unary != nullptr && unary->kind == Unary::Kind::scale;
    };
    auto n = inner(t);
    while (n && is_scaling(n->op)) n = inner(n->inputs[0]);
    return n;
  }
  // [b, s, heads d] as [b, s, heads, d].
  std::optional<Heads> unpacked(GraphTensorRef t) const {
    const auto n = inner(t);
    if (!n || !std::holds_alternative<Reshape>(n->op)) return std::nullopt;
    const Sizes &from = draft_.shape(n->inputs[0]).sizes, &to = n->outputs[0].sizes;
    if (from.size() != 3 || to.size() != 4 || from[0] != to[0] || from[1] != to[1]) return std::nullopt;
    return Heads{n->inputs[0], to[2]};
  }
  std::optional<Heads> heads_of(GraphTensorRef t) const {
    const auto n = unscaled(t);
    return n && is_transpose(*n, {0, 2, 1, 3}) ? unpacked(n->inputs[0]) : std::nullopt;
  }
  // [b, heads, d, s]: in one transposition or two.
  std::optional<Heads> transposed_heads_of(GraphTensorRef t) const {
    const auto n = unscaled(t);
    if (!n) return std::nullopt;
    if (is_transpose(*n, {0, 2, 3, 1})) return unpacked(n->inputs[0]);
    return is_transpose(*n, {0, 1, 3, 2}) ? heads_of(n->inputs[0]) : std::nullopt;
  }

  Draft& draft_;
  std::vector<int> reads_;
};

}  // namespace

void join_linears(Draft& draft, const std::vector<GraphTensorRef>& outputs) {
  std::vector<int> reads = reads_of(draft);
  for (const GraphTensorRef t : outputs) ++reads[t.node.value];
  for (std::size_t n = 0; n < draft.nodes().size(); ++n) {
    const std::vector<GraphTensorRef> inputs = draft.nodes()[n].inputs;
    if (!join_linear(draft, n, reads)) continue;
    DraftNode& gone = draft.node(inputs[0]);  // nothing reads it any more, and it reads nothing
    gone.inputs.clear();
    gone.name.clear();
    reads[inputs[0].node.value] = 0;
  }
}

std::size_t join_attention(Draft& draft) {
  AttentionMatcher matcher(draft, reads_of(draft));
  std::size_t found = 0;
  for (std::size_t n = 0; n < draft.nodes().size(); ++n) found += matcher.join_at(n) ? 1 : 0;
  return found;
}

}  // namespace pcg::models::onnx
