#include <fmt/core.h>
#include <fmt/ranges.h>

#include "pcg/models/onnx/importer.hpp"

namespace pcg::models::onnx {

// x . w, where w is an initializer of two dims, stored [out, k] if `transposed`. One that nothing else reads is turned to [k, out]: layouts
// of weights are the framework's own; one that is shared (a head that is tied to its embedding) stays as it is.
GraphTensorRef Importer::linear(const Node& node, GraphTensorRef x, std::size_t at, bool transposed, std::optional<GraphTensorRef> bias) {
  const Held& w = input(node, at);
  const bool stored_transposed = w.transposed != transposed;
  const bool shared = wiring_.readers(w.weight).size() > 1;
  const Sizes& stored = w.constant.sizes;
  std::vector<GraphTensorRef> inputs = {x, weight(w.weight, stored_transposed && !shared)};
  if (bias) inputs.push_back(*bias);
  return add(
      name_of(node),
      Linear{
          .out = stored_transposed ? stored[0] : stored[1], .has_bias = bias.has_value(), .transposed_weight = stored_transposed && shared},
      std::move(inputs));
}

void Importer::gemm(const Node& node) {
  if (node.integer("transA", 0) != 0) throw Refused{"transA", "transpose the input by a node of its own"};
  if (node.real("alpha", 1) != 1 || (node.has_input(2) && node.real("beta", 1) != 1))
    throw Refused{"alpha or beta other than 1", "scale by a node of its own"};
  const bool transposed = node.integer("transB", 0) != 0;
  const GraphTensorRef x = tensor(node, 0);
  if (sizes(x).size() != 2) throw Refused{fmt::format("its first input is {}", to_text(draft_.shape(x))), "Gemm multiplies matrices"};
  if (!is_weight(node, 1) || input(node, 1).constant.sizes.size() != 2)
    throw Refused{"its second input is no weight of two dims", "use MatMul for products of activations"};
  const Sizes& w = input(node, 1).constant.sizes;
  const std::int64_t out = w[transposed != input(node, 1).transposed ? 0 : 1];
  if (!node.has_input(2)) return put(node, linear(node, x, 1, transposed, std::nullopt));
  const GraphTensorRef c = tensor(node, 2);
  if (sizes(c) == Sizes{out} && std::holds_alternative<Weight>(draft_.node(c).op)) return put(node, linear(node, x, 1, transposed, c));
  const GraphTensorRef y = linear(node, x, 1, transposed, std::nullopt);
  put(node, add(name_of(node) + ".add", Binary{}, {y, c}));
}

void Importer::matmul(const Node& node) {
  if (is_weight(node, 1) && input(node, 1).constant.sizes.size() == 2)
    return put(node, linear(node, tensor(node, 0), 1, false, std::nullopt));
  const std::string name = name_of(node);
  GraphTensorRef a = tensor(node, 0), b = tensor(node, 1);
  if (sizes(a).size() < 2 || sizes(b).size() < 2)
    throw Refused{fmt::format("{} by {}", to_text(draft_.shape(a)), to_text(draft_.shape(b))), "give both inputs two dims at least"};
  // Leading dims that one of them lacks or has once are repeated.
  Sizes lead_a(sizes(a).begin(), sizes(a).end() - 2), lead_b(sizes(b).begin(), sizes(b).end() - 2);
  const auto lead = broadcast(lead_a, lead_b);
  if (!lead) throw Refused{fmt::format("{} by {}", to_text(draft_.shape(a)), to_text(draft_.shape(b))), "the sizes do not fit"};
  const auto with_lead = [&](GraphTensorRef t) {
    Sizes to = *lead;
    to.insert(to.end(), sizes(t).end() - 2, sizes(t).end());
    return widened(name, t, to);
  };
  a = with_lead(a);
  b = with_lead(b);
  put(node, add(name, BatchMatmul{}, {a, b}));
}

void Importer::convolution(const Node& node) {
  const GraphTensorRef x = tensor(node, 0);
  if (!is_weight(node, 1)) throw Refused{"its kernel is no weight", "kernels that are computed are not known here"};
  const Sizes w = input(node, 1).constant.sizes;
  if (sizes(x).size() != 4 || w.size() != 4)
    throw Refused{fmt::format("{} by a kernel [{}]", to_text(draft_.shape(x)), fmt::join(w, ", ")),
                  "convolutions have two dims of space here: give others a dim of 1"};
  const std::int64_t groups = node.integer("group", 1);
  if (groups < 1 || groups > sizes(x)[1]) throw Refused{fmt::format("{} groups of {} channels", groups, sizes(x)[1]), ""};
  const Windows found = windows(node, sizes(x), {w[2], w[3]});
  Conv2d op{.out = w[0], .rows = found.rows, .columns = found.columns, .groups = static_cast<int>(groups), .has_bias = node.has_input(2)};
  std::vector<GraphTensorRef> inputs = {x, tensor(node, 1)};
  if (op.has_bias) inputs.push_back(tensor(node, 2));
  put(node, add(name_of(node), op, std::move(inputs)));
}

}  // namespace pcg::models::onnx
