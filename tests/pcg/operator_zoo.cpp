#include "operator_zoo.hpp"

namespace pcg::zoo {
namespace {

// A graph of one operator over inputs; its weights are made.
Exhibit one(std::string name, Operator op, const std::vector<TensorShape>& inputs) {
  GraphBuilder b(name);
  std::vector<GraphTensorRef> refs;
  for (const TensorShape& s : inputs) refs.push_back(b.input("x" + std::to_string(refs.size()), s));
  b.add(name, std::move(op), refs);
  return {name, std::move(b).build()};
}

Exhibit split() {
  GraphBuilder b("split");
  b.add_raw("split", Split{.axis = 1, .sizes = {2, 4}}, {b.input("x", real({6, 6, 4}))});
  return {"split", std::move(b).build()};
}

void add_attentions(std::vector<Exhibit>& all) {
  all.push_back(one("attention", Attention{.heads = 6, .kv_heads = 6}, {real({2, 6, 36})}));
  all.push_back(
      one("attention causal rope grouped", Attention{.heads = 12, .kv_heads = 6, .causal = true, .rope = true}, {real({2, 6, 48})}));
  all.push_back(one("attention dropout", Attention{.heads = 2, .kv_heads = 2, .dropout = 0.1}, {real({4, 6, 12})}));
  all.push_back(
      one("attention cross", Attention{.heads = 4, .kv_heads = 2, .packed = false}, {real({2, 6, 8}), real({2, 12, 4}), real({2, 12, 4})}));
  all.push_back(one("attention wide values", Attention{.heads = 6, .kv_heads = 6, .packed = false},
                    {real({2, 6, 12}), real({2, 6, 12}), real({2, 6, 18})}));
  all.push_back(one("attention latent", Attention{.heads = 6, .kv_heads = 6, .packed = false, .causal = true, .rope = true, .latent = true},
                    {real({2, 6, 18}), real({2, 6, 24}), real({2, 6, 1})}));  // keys of 2 and 1 shared, values of 2
  all.push_back(one("attention norms and sinks",
                    Attention{.heads = 12, .kv_heads = 6, .causal = true, .rope = true, .qk_norm = true, .sinks = true},
                    {real({2, 6, 48})}));
  all.push_back(one("attention repeated keys", Attention{.heads = 12, .kv_heads = 6, .causal = true, .rope = true, .repeated_keys = true},
                    {real({2, 6, 48})}));
  all.push_back(
      one("attention window", Attention{.heads = 2, .kv_heads = 2, .causal = true, .dropout = 0.1, .window = 4}, {real({2, 12, 12})}));
  all.push_back(one("attention chunks", Attention{.heads = 2, .kv_heads = 2, .causal = true, .sinks = true, .window = 4, .chunked = true},
                    {real({2, 12, 12})}));
  all.push_back(one("attention bias", Attention{.heads = 4, .kv_heads = 4, .causal = true, .has_bias = true}, {real({2, 6, 24})}));
}

void add_state_spaces(std::vector<Exhibit>& all) {
  // Six groups of one head of 1, and of two heads of 2: widths of 6 (3 + 2 * 2), 6 (2 * 5 + 2 * 1).
  all.push_back(one("state_space", StateSpace{.heads = 6, .groups = 6, .state = 2}, {real({2, 5, 42})}));
  all.push_back(one("state_space of two heads a group", StateSpace{.heads = 12, .groups = 6, .state = 1, .kernel = 2}, {real({6, 4, 72})}));
}

void add_images(std::vector<Exhibit>& all) {
  const TensorShape image = real({4, 6, 5, 5});
  all.push_back(
      one("conv2d",
          Conv2d{.out = 6, .rows = {.kernel = 3, .stride = 2, .padding = 1}, .columns = {.kernel = 3, .padding = 1}, .has_bias = true},
          {image}));
  all.push_back(
      one("conv2d relu", Conv2d{.out = 6, .rows = {.kernel = 3}, .columns = {.kernel = 1}, .activation = Activation::relu}, {image}));
  all.push_back(
      one("conv2d groups", Conv2d{.out = 12, .rows = {.kernel = 3}, .columns = {.kernel = 3}, .groups = 6, .has_bias = true}, {image}));
  all.push_back(one("pool2d max",
                    Pool2d{.rows = {.kernel = 3, .stride = 2, .padding = 1}, .columns = {.kernel = 3, .stride = 2, .padding = 1}},
                    {image}));
  all.push_back(one("pool2d global", Pool2d{.kind = Pool2d::Kind::average, .rows = {.kernel = 0}, .columns = {.kernel = 0}}, {image}));
  all.push_back(one("batch_norm", BatchNorm{}, {image}));
  const TensorShape even = real({2, 4, 6, 12});  // rows and columns can be cut
  all.push_back(one("conv2d halos",
                    Conv2d{.out = 6, .rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 5, .padding = 2}, .has_bias = true},
                    {even}));
  all.push_back(one("conv2d strided halos",
                    Conv2d{.out = 6, .rows = {.kernel = 3, .stride = 2, .padding = 1}, .columns = {.kernel = 3, .stride = 2, .padding = 1}},
                    {even}));
  all.push_back(one("conv2d patches", Conv2d{.out = 6, .rows = {.kernel = 2, .stride = 2}, .columns = {.kernel = 3, .stride = 3}}, {even}));
  all.push_back(one("pool2d halos", Pool2d{.rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 3, .padding = 1}}, {even}));
  all.push_back(one("pool2d average halos",
                    Pool2d{.kind = Pool2d::Kind::average, .rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 2, .stride = 2}},
                    {even}));
  all.push_back(one("batch_norm rows", BatchNorm{}, {even}));
}

}  // namespace

std::vector<Exhibit> exhibits() {
  std::vector<Exhibit> all;
  all.push_back(one("linear", Linear{.out = 12, .has_bias = true}, {real({4, 6, 6})}));
  all.push_back(one("linear relu", Linear{.out = 12, .has_bias = true, .activation = Activation::relu}, {real({4, 6})}));
  all.push_back(one("linear transposed", Linear{.out = 6, .transposed_weight = true}, {real({4, 12})}));
  all.push_back(one("batch_matmul", BatchMatmul{}, {real({4, 6, 2}), real({4, 2, 6})}));
  all.push_back(one("batch_matmul transposed", BatchMatmul{.transpose_b = true}, {real({4, 6, 2}), real({4, 6, 2})}));
  add_images(all);
  all.push_back(one("layer_norm", LayerNorm{}, {real({4, 6, 5})}));
  all.push_back(one("rms_norm", LayerNorm{.rms = true}, {real({4, 6, 5})}));
  all.push_back(one("softmax", Softmax{.axis = 1}, {real({4, 6, 6})}));
  add_attentions(all);
  add_state_spaces(all);
  all.push_back(one("embedding", Embedding{.vocabulary = 12, .width = 6}, {index({4, 6})}));
  all.push_back(one("embedding_bag", EmbeddingBag{.vocabulary = 12, .width = 6}, {index({4, 6})}));
  all.push_back(one("unary gelu", Unary{.kind = Unary::Kind::gelu}, {real({4, 6})}));
  all.push_back(one("unary relu2", Unary{.kind = Unary::Kind::relu2}, {real({4, 6})}));
  all.push_back(one("unary scale", Unary{.kind = Unary::Kind::scale, .factor = 0.125}, {real({4, 6})}));
  all.push_back(one("binary add", Binary{}, {real({4, 6, 2}), real({4, 6, 2})}));
  all.push_back(one("binary broadcast", Binary{.kind = Binary::Kind::multiply}, {real({4, 6, 2}), real({1, 2})}));
  all.push_back(one("concat", Concat{.axis = -1}, {real({4, 6}), real({4, 3})}));
  all.push_back(split());
  all.push_back(one("slice", Slice{.axis = 1, .begin = 2, .length = 3}, {real({6, 6, 4})}));
  all.push_back(one("reshape split", Reshape{.sizes = {0, 0, 6, -1}}, {real({4, 6, 12})}));
  all.push_back(one("reshape merge", Reshape{.sizes = {24, 12}}, {real({4, 6, 12})}));
  all.push_back(one("transpose", Transpose{.permutation = {2, 0, 1}}, {real({4, 6, 2})}));
  all.push_back(one("broadcast", Broadcast{.axis = 1, .size = 6}, {real({4, 1, 6})}));
  all.push_back(one("dropout", Dropout{}, {real({4, 6})}));
  all.push_back(one("reduction", Reduction{.kind = Reduction::Kind::mean, .axis = 1}, {real({4, 6, 2})}));
  all.push_back(one("cross_entropy", CrossEntropy{}, {real({4, 6, 12}), index({4, 6})}));
  all.push_back(one("squared_error", SquaredError{}, {real({4, 6}), real({4, 6})}));
  all.push_back(one("summands", Summands{}, {real({4, 6}), real({4, 6})}));
  all.push_back(one("moe_dispatch", MoeDispatch{}, {real({4, 6, 6}), real({4, 6, 3})}));
  all.push_back(one("moe_combine", MoeCombine{}, {real({3, 4, 4, 6}), real({4, 6, 3})}));
  all.push_back(one("expert_linear", ExpertLinear{.out = 6}, {real({6, 4, 2, 6})}));
  all.push_back(one("expert_linear bias", ExpertLinear{.out = 6, .has_bias = true}, {real({6, 4, 2, 6})}));
  return all;
}

Sharding random_sharding(const Graph& g, GraphNodeId id, base::Random& random) {
  const GraphNode& node = g.node(id);
  const std::vector<TensorShape> inputs = g.input_shapes(id);
  const IterationSpace& space = *node.space;
  Sharding s = pcg::unsharded(space);
  if (std::holds_alternative<Weight>(node.op)) return s;
  for (std::size_t l = 0; l < space.loops.size(); ++l) {
    Sharding more = s;
    more.degrees[l] = static_cast<int>(1 + random.below(3));
    if (more.points() <= 36 && !violation(space, more, inputs, node.outputs)) s = more;
  }
  if (random.below(4) == 0) s.copies = 2;
  return s;
}

std::vector<Sharding> random_shardings(const Graph& g, base::Random& random) {
  std::vector<Sharding> result;
  for (std::size_t n = 0; n < g.nodes().size(); ++n) result.push_back(random_sharding(g, GraphNodeId(n), random));
  return result;
}

}  // namespace pcg::zoo
