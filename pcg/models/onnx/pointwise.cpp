// Operators point by point, and masks of scores.

#include <fmt/core.h>

#include <cmath>

#include "pcg/models/onnx/importer.hpp"

namespace pcg::models::onnx {
namespace {

constexpr double kShut = -1e4;  // a score that leaves nothing after a softmax, in half precision too

// Whether a square of numbers lets each row see the columns up to its own place alone: open(number) says whether it lets a score through.
bool is_causal(const Tensor& t, const std::function<bool(double)>& open) {
  const std::size_t rank = t.sizes.size();
  if (!t.is_known() || rank < 2 || t.sizes[rank - 1] != t.sizes[rank - 2] || t.sizes[rank - 1] < 2) return false;
  const std::int64_t size = t.sizes[rank - 1];
  if (t.count() != size * size) return false;
  for (std::int64_t i = 0; i < size * size; ++i) {
    if (open(t.number(static_cast<std::size_t>(i))) != (i % size <= i / size)) return false;
  }
  return true;
}

}  // namespace

void Importer::unary(const Node& node, Unary::Kind kind, double factor) {
  put(node, add(name_of(node), Unary{.kind = kind, .factor = factor}, {tensor(node, 0)}));
}

// The tensor with dims in front, and dims of size 1 repeated, up to these sizes.
GraphTensorRef Importer::widened(const std::string& name, GraphTensorRef t, const Sizes& to) {
  if (sizes(t) == to) return t;
  Sizes from = sizes(t);
  from.insert(from.begin(), to.size() - from.size(), 1);
  if (from != sizes(t)) t = reshape(name + ".dims", t, from);
  for (std::size_t d = 0; d < to.size(); ++d)
    if (from[d] != to[d]) t = add(name + ".repeated", Broadcast{.axis = static_cast<int>(d), .size = to[d]}, {t});
  return t;
}

// Attention, and so scores before a softmax, takes what a mask shuts into account itself, at no cost: the mask is left out.
bool Importer::masked(const Node& node) {
  if (node.outputs.size() != 1 || (node.type != "Add" && node.type != "Where")) return false;
  const Node* reader = wiring_.only_reader(node.outputs[0]);
  if (reader == nullptr || reader->type != "Softmax") return false;
  const bool adds = node.type == "Add";
  for (const std::size_t i : adds ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{1, 2}) {
    const std::size_t other = adds ? 1 - i : 3 - i, mask = adds ? other : 0;
    if (!node.has_input(i) || !node.has_input(mask) || held(node.inputs[i]).kind != Held::Kind::tensor) continue;
    const Held &scores = held(node.inputs[i]), &m = held(node.inputs[mask]);
    if (scores.from_data || !m.from_data || (adds && m.kind == Held::Kind::constant && m.constant.count() == 1)) continue;
    if (!adds && !(number(node, other) && *number(node, other) <= kShut)) continue;
    const auto open = [&](double v) { return adds ? v > kShut : (v != 0) == (i == 1); };
    Held result = scores;
    const bool causal = m.kind == Held::Kind::constant && is_causal(m.constant, open);
    result.mask = causal || scores.mask == Held::Mask::causal ? Held::Mask::causal : Held::Mask::of_data;
    put(node, std::move(result));
    note(causal ? "causal masks of attention are part of it"
                : "masks of scores that are made of inputs and constants are left out: they cost nothing here");
    return true;
  }
  return false;
}

void Importer::binary(const Node& node) {
  const std::string name = name_of(node);
  if (node.inputs.size() != 2) throw Refused{fmt::format("has {} inputs, expected 2", node.inputs.size()), ""};
  const bool adds = node.type == "Add" || node.type == "Sub";
  // A number: a pass over the other input. What is added does not matter to what it costs.
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
    const auto c = number(node, i);
    if (!c || number(node, 1 - i)) continue;
    const GraphTensorRef x = tensor(node, 1 - i);
    if (sizes(x).size() < input(node, i).constant.sizes.size()) continue;
    double factor = adds ? (node.type == "Sub" && i == 0 ? -1 : 1) : node.type == "Mul" ? *c : 1 / *c;
    if (node.type == "Div" && i == 0) {
      note("quotients of tensors count as products: they read and write as much");
      factor = 1;
    }
    if (adds && *c == 0 && factor == 1) return put(node, x);
    if (!std::isfinite(factor)) throw Refused{"it divides by 0", ""};
    return put(node, add(name, Unary{.kind = Unary::Kind::scale, .factor = factor}, {x}));
  }
  GraphTensorRef a = tensor(node, 0), b = tensor(node, 1);
  const auto to = broadcast(sizes(a), sizes(b));
  if (!to) throw Refused{fmt::format("{} and {}", to_text(draft_.shape(a)), to_text(draft_.shape(b))), "the sizes do not fit"};
  if (node.type == "Div") note("quotients of tensors count as products: they read and write as much");
  const Binary::Kind kind = node.type == "Add" ? Binary::Kind::add : node.type == "Sub" ? Binary::Kind::subtract : Binary::Kind::multiply;
  // The second one may be narrower; of a difference the first one is repeated, if it is.
  if (sizes(a) != *to && sizes(b) == *to && kind != Binary::Kind::subtract) std::swap(a, b);
  a = widened(name, a, *to);
  put(node, add(name, Binary{.kind = kind}, {a, b}));
}

// Additions, one after another.
void Importer::sum(const Node& node) {
  if (node.inputs.size() == 1) return put(node, tensor(node, 0));
  Node pair{.type = "Add", .inputs = {node.inputs.at(0), ""}, .outputs = {node.outputs.at(0)}};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const bool last = i + 1 == node.inputs.size();
    pair.inputs[1] = node.inputs[i];
    pair.name = name_of(node) + (last ? "" : fmt::format(".{}", i));
    pair.outputs[0] = node.outputs[0] + (last ? "" : fmt::format(".{}", i));
    binary(pair);
    pair.inputs[0] = pair.outputs[0];
  }
}

void Importer::local_norm(const Node& node) {
  note("norms over neighbouring channels (LRN) count as one pass over what they read");
  unary(node, Unary::Kind::scale);
}

void Importer::power(const Node& node) {
  if (number(node, 1) != 2.0) throw Refused{"a power other than 2", "write it with known operators"};
  const GraphTensorRef x = tensor(node, 0);
  put(node, add(name_of(node), Binary{.kind = Binary::Kind::multiply}, {x, x}));
}

void Importer::softmax(const Node& node) {
  GraphTensorRef x = tensor(node, 0);
  const Sizes from = sizes(x);
  const std::size_t at = axis(node.integer("axis", model_.opset < 13 ? 1 : -1), x);
  refuse_samples(x, at, "it goes over");
  // Before opset 13 its axis stood for all dims from there on.
  Sizes flat(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  for (std::size_t d = at + 1; d < from.size(); ++d) flat[at] *= from[d];
  const bool joined = model_.opset < 13 && flat[at] != from[at];
  const std::string name = name_of(node);
  if (joined) x = reshape(name + ".joined", x, flat);
  const bool causal = input(node, 0).mask == Held::Mask::causal;
  const GraphTensorRef y = add(name, Softmax{.axis = joined || at + 1 == from.size() ? -1 : static_cast<int>(at)}, {x});
  draft_.node(y).causal = causal;
  put(node, joined ? reshape(name + ".dims", y, from) : y);
}

// Precision is the training's: casts between reals are nothing. An input of integers that is looked up and computed with is two inputs.
void Importer::cast(const Node& node) {
  Held h = input(node, 0);
  if (h.kind != Held::Kind::tensor || node.type == "Identity") return put(node, std::move(h));
  const bool to_real = element_of(node.integer("to", 1)) == Element::real;
  if (draft_.shape(h.tensor).element == pcg::Element::index && to_real) {
    const DraftNode from = draft_.node(h.tensor);
    if (!std::holds_alternative<Input>(from.op)) throw Refused{"it makes numbers of indices that were moved", "cast the input itself"};
    h.tensor = add(from.name + ".numbers", Input{real(sizes(h.tensor))}, {});
    samples_of_[h.tensor] = {.dim = 0};
  } else if (draft_.shape(h.tensor).element == pcg::Element::real && !to_real && !h.from_data) {
    throw Refused{"it makes integers of numbers that were computed", "leave it out of the exported model"};
  }
  put(node, std::move(h));
}

void Importer::dropout(const Node& node) {
  const double rate = number(node, 1).value_or(node.real("ratio", 0.5));
  if (rate <= 0) return put(node, tensor(node, 0));
  put(node, add(name_of(node), Dropout{.rate = rate}, {tensor(node, 0)}));
}

void Importer::clip(const Node& node) {
  if (number(node, 1).value_or(node.real("min", -1)) != 0)
    throw Refused{"it clips at another place than 0", "write it with known operators"};
  note("activations that are clipped at 0 and above count as relu: they read and write as much");
  unary(node, Unary::Kind::relu);
}

}  // namespace pcg::models::onnx
