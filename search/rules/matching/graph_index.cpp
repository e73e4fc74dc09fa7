#include "search/rules/matching/graph_index.hpp"

#include <algorithm>
#include <numeric>

#include "pcg/operators/head_dims.hpp"

namespace rules {
namespace {

// The functions of rules and of graphs have the same order, which these casts rely on.
Function function_of(pcg::Activation a) { return static_cast<Function>(a); }
static_assert(static_cast<int>(pcg::Activation::sigmoid) == static_cast<int>(Function::sigmoid));
static_assert(static_cast<int>(pcg::Unary::Kind::silu) + 1 == static_cast<int>(Function::silu));
static_assert(static_cast<int>(pcg::Activation::gelu) == static_cast<int>(Function::gelu));

std::int8_t dim_of(int axis, std::size_t rank) { return static_cast<std::int8_t>(pcg::resolve_axis(axis, rank)); }

// The attributes of one node that a rule may name. Attributes that no kind of the rule language has leave it without a code.
class Describe {
 public:
  Describe(const pcg::Pcg& graph, const pcg::PcgNode& node, NodeFacts& facts) : graph_(graph), node_(node), f_(facts) {}

  void operator()(const pcg::Linear& o) {
    if (!o.transposed_weight) code(o.has_bias ? Kind::linear_bias : Kind::linear, function_of(o.activation));
  }
  void operator()(const pcg::BatchMatmul& o) {
    if (!o.transpose_b) code(Kind::batch_matmul);
  }
  void operator()(const pcg::Conv2d& o) {
    code(o.has_bias ? Kind::conv_bias : Kind::conv, function_of(o.activation));
    f_.window = {o.rows, o.columns};
  }
  void operator()(const pcg::Pool2d& o) {
    if (o.rows.kernel == 0 || o.columns.kernel == 0) return;
    code(o.kind == pcg::Pool2d::Kind::max ? Kind::max_pool : Kind::average_pool);
    f_.window = {o.rows, o.columns};
  }
  void operator()(const pcg::LayerNorm& o) { code(o.rms ? Kind::rms_norm : Kind::layer_norm); }
  void operator()(const pcg::BatchNorm&) { code(Kind::batch_norm); }
  void operator()(const pcg::Softmax& o) {
    if (dim_of(o.axis, rank()) + 1 == static_cast<int>(rank())) code(Kind::softmax);
  }
  void operator()(const pcg::Attention& o) {
    if (o.packed && pcg::attention_weights(o) == 0) code(Kind::attention);
  }
  void operator()(const pcg::Embedding&) { code(Kind::embedding); }
  void operator()(const pcg::EmbeddingBag&) { code(Kind::embedding_bag); }
  void operator()(const pcg::Unary& o) {
    if (o.kind <= pcg::Unary::Kind::silu) code(Kind::unary, static_cast<Function>(static_cast<int>(o.kind) + 1));
    if (o.kind == pcg::Unary::Kind::relu2) code(Kind::unary, Function::relu2);
    if (o.kind != pcg::Unary::Kind::scale) return;
    f_.factor = o.factor;
    code(Kind::scale);
  }
  void operator()(const pcg::Dropout&) { code(Kind::dropout); }
  void operator()(const pcg::Binary& o) {  // a rule's operands have equal shapes
    if (graph_.shape(node_.inputs[0]).whole() != graph_.shape(node_.inputs[1]).whole()) return;
    if (o.kind == pcg::Binary::Kind::add) code(Kind::add);
    if (o.kind == pcg::Binary::Kind::multiply) code(Kind::multiply);
  }
  void operator()(const pcg::Concat& o) {
    if (node_.inputs.size() < 2) return;
    code(Kind::concat);
    f_.dim = dim_of(o.axis, rank());
  }
  void operator()(const pcg::Split& o) {
    if (o.sizes.size() != 2) return;
    code(Kind::split0);
    f_.dim = dim_of(o.axis, rank());
    f_.at = o.sizes[0];
  }
  void operator()(const pcg::Slice& o) {
    const std::int8_t dim = dim_of(o.axis, rank());
    const std::int64_t size = graph_.shape(node_.inputs[0]).dims[static_cast<std::size_t>(dim)].size;
    const bool first = o.begin == 0, last = o.begin + o.length == size;
    // A slice that is both the first and the last part is the whole; one that is neither has no form in rules.
    if (first == last) return;
    f_.code = first ? kFirstPart : kLastPart;
    f_.dim = dim;
    f_.at = first ? o.length : o.begin;
  }
  void operator()(const pcg::Transpose& o) {
    if (o.permutation.size() < 2 || o.permutation != last_two_swapped(o.permutation.size())) return;
    code(Kind::transpose);
    f_.dim = static_cast<std::int8_t>(o.permutation.size() - 2);
  }
  void operator()(const pcg::Reduction& o) {
    if (o.kind != pcg::Reduction::Kind::sum) return;
    code(Kind::sum);
    f_.dim = dim_of(o.axis, rank());
  }
  void operator()(const pcg::Summands&) {
    if (node_.inputs.size() == 2) code(Kind::summands);
  }
  void operator()(const pcg::Partition& o) { move(Kind::partition, o.degree, o.dim); }
  void operator()(const pcg::Combine& o) { move(Kind::combine, o.degree, o.dim); }
  void operator()(const pcg::Replicate& o) { move(Kind::replicate, o.degree, -1); }
  void operator()(const pcg::Reduce& o) { move(Kind::reduce, o.degree, -1); }
  // Never in a rule: sources, views of other forms, losses, experts and their routing.
  template <class Other>
  void operator()(const Other&) {}

 private:
  void code(Kind kind, Function function = Function::none) { f_.code = code_of(kind, function); }
  void move(Kind kind, int degree, int dim) {
    code(kind);
    f_.degree = degree;
    f_.dim = static_cast<std::int8_t>(dim);
  }
  [[nodiscard]] std::size_t rank() const { return graph_.shape(node_.inputs[0]).dims.size(); }

  const pcg::Pcg& graph_;
  const pcg::PcgNode& node_;
  NodeFacts& f_;
};

}  // namespace

Code code_of(Kind kind, Function function) {
  if (kind == Kind::split1) kind = Kind::split0;
  return static_cast<Code>(static_cast<int>(kind) * kFunctions + static_cast<int>(function));
}
static_assert(kCodes < kNoCode);

std::vector<int> last_two_swapped(std::size_t rank) {
  std::vector<int> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  std::swap(dims[rank - 1], dims[rank - 2]);
  return dims;
}
Window same_window(int kernel_h, int kernel_w) {
  return {.rows = {.kernel = kernel_h, .padding = (kernel_h - 1) / 2}, .columns = {.kernel = kernel_w, .padding = (kernel_w - 1) / 2}};
}

GraphIndex::GraphIndex(const pcg::Pcg& graph) : size_(static_cast<std::uint32_t>(graph.nodes().size())), nodes_(size_) {
  std::vector<std::uint32_t> long_concats;
  for (std::uint32_t n = 0; n < size_; ++n) {
    const pcg::PcgNode& node = graph.nodes()[n];
    NodeFacts& f = nodes_[n];
    f.first_output = static_cast<TensorId>(tensors_.size());
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const pcg::ParallelShape& s = node.outputs[o];
      tensors_.push_back({.node = n,
                          .output = static_cast<std::int32_t>(o),
                          .rank = static_cast<std::int8_t>(s.dims.size()),
                          .index = s.element == pcg::Element::index,
                          .first_size = static_cast<std::uint32_t>(sizes_.size())});
      for (const pcg::ParallelDim& d : s.dims) sizes_.push_back(d.size);
    }
    first_edge_.push_back(static_cast<std::uint32_t>(edges_.size()));
    for (pcg::TensorRef t : node.inputs) {
      const TensorId id = output(t.node.value, t.output);
      edges_.push_back(id);
      ++tensors_[id].readers;
    }
    Describe describe(graph, node, f);
    std::visit([&](const auto& op) { std::visit(describe, op); }, node.op);
    if (f.code == kNoCode) continue;
    if (f.code == code_of(Kind::attention, Function::none)) {
      const auto& a = std::get<pcg::Attention>(*node.operation());
      f.attention = static_cast<std::uint32_t>(std::ranges::find(attentions_, a) - attentions_.begin());
      if (f.attention == attentions_.size()) attentions_.push_back(a);
    }
    f.input_count = static_cast<std::uint32_t>(node.inputs.size());
    // A rule's concat has two inputs: a longer one is matched through its views alone.
    if (f.code == code_of(Kind::concat, Function::none) && f.input_count > 2) {
      long_concats.push_back(n);
      continue;
    }
    by_code_[f.code].push_back(n);
    std::copy(edges_.end() - f.input_count, edges_.end(), f.inputs.begin());
  }
  first_edge_.push_back(static_cast<std::uint32_t>(edges_.size()));

  // Readers are counted first, so that those of all tensors fit into one flat array.
  std::uint32_t at = 0;
  for (TensorFacts& t : tensors_) {
    t.first_reader = at;
    at += t.readers;
    t.readers = 0;
  }
  readers_.resize(at);
  for (std::uint32_t n = 0; n < size_; ++n)
    for (TensorId id : inputs(n)) {
      TensorFacts& t = tensors_[id];
      readers_[t.first_reader + t.readers++] = n;
    }
  for (std::uint32_t n : long_concats) add_views(n);
}

// Concats are associative: a long one is a concat of its first and its last inputs, wherever it is cut; any neighbours may be joined first.
void GraphIndex::add_views(std::uint32_t concat) {
  const std::uint32_t count = nodes_[concat].input_count;
  nodes_[concat].first_view = size_with_views();
  for (std::uint32_t cut = 1; cut < count; ++cut) add_view({concat, 0, cut, count}, nodes_[concat].first_output);
  for (std::uint32_t i = 0; i + 1 < count; ++i) add_view({concat, i, i + 1, i + 2}, add_part(concat, i, i + 2));
}

void GraphIndex::add_view(const ConcatView& v, TensorId output) {
  NodeFacts f;
  f.code = nodes_[v.concat].code;
  f.dim = nodes_[v.concat].dim;
  f.input_count = 2;
  f.inputs = {add_part(v.concat, v.begin, v.cut), add_part(v.concat, v.cut, v.end)};
  f.first_output = output;
  by_code_[f.code].push_back(size_with_views());
  nodes_.push_back(f);
  views_.push_back(v);
}

TensorId GraphIndex::add_part(std::uint32_t concat, std::uint32_t begin, std::uint32_t end) {
  const std::span<const TensorId> parts = inputs(concat).subspan(begin, end - begin);
  if (parts.size() == 1) return parts[0];
  TensorFacts t = tensors_[parts[0]];
  t.node = concat;
  t.output = -1;
  t.first_reader = t.readers = 0;
  const auto dim = static_cast<std::size_t>(nodes_[concat].dim);
  std::vector<std::int64_t> whole(sizes(parts[0]).begin(), sizes(parts[0]).end());
  for (TensorId other : parts.subspan(1)) whole[dim] += sizes(other)[dim];
  t.first_size = static_cast<std::uint32_t>(sizes_.size());
  sizes_.insert(sizes_.end(), whole.begin(), whole.end());
  tensors_.push_back(t);
  return static_cast<TensorId>(tensors_.size() - 1);
}

}  // namespace rules
