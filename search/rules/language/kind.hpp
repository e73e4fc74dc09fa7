#pragma once
// The operators that terms are made of: one table of their names, inputs and parameters, which parsing, printing, typing and matching ask.
// The values and the typing of operators are elsewhere (semantics/values.hpp, typing.hpp).

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rules {

// The operator of a node. Ranks: linear and identity work on matrices; batch_matmul and attention on tensors of rank 3; convolutions,
// pools, batch_norm and enlarge on tensors of rank 4 (n, c, h, w); embedding_bag on matrices of indices; transpose from rank 2 on; the
// others on any rank.
enum class Kind : std::uint8_t {
  variable,
  // algebra
  linear,        // f(x[m, k] . w[k, n]); f: attribute `function`
  linear_bias,   // f(x . w + b[n])
  batch_matmul,  // a[b, m, k] . b[b, k, n]
  conv,          // f(x[n, c, h, w] * w[o, c / groups, kh, kw]): stride 1, same padding; the types give groups = c(x) / c(w) and the kernel
  conv_bias,     // f(x * w + b[o])
  max_pool,      // 3 x 3, stride 1, same padding
  average_pool,  // the same; divides by 9 everywhere
  add,           // elementwise, equal shapes
  multiply,      // elementwise, equal shapes
  unary,         // attribute `function`, opaque
  dropout,       // an opaque function of each element and its place, which is the mask; every node has its own mask (Pattern)
  scale,         // x * a scalar variable; inputs: x, the scalar (a variable of rank 0)
  concat,        // two tensors along `axis`
  split0,        // the part of x before position `at` of `axis`
  split1,        // the part of x from position `at` of `axis` on
  transpose,     // the last two dims
  sum,           // of the elements along `axis`, which goes
  enlarge,       // a kernel [o, c, kh, kw] padded with zeros to 3 x 3
  identity,      // a constant: I[at, at]
  ones,          // a constant: [at, by]
  identity_kernel,  // a constant: [at, at, 3, 3], a convolution with which changes nothing
  pool_kernel,      // a constant: [at, at, 3, 3], a convolution with which pools by averages
  softmax,          // along the last dim; opaque across it
  layer_norm,       // x, gain[h], bias[h]; opaque across h
  rms_norm,         // x, gain[h]; opaque across h
  batch_norm,       // x[n, c, h, w], gain[c], bias[c]; opaque across n, h and w, whose statistics are those of the whole batch
  embedding,        // idx[..], w[v, e] -> [.., e]
  embedding_bag,    // idx[n, b], w[v, e] -> [n, e]: sum over b
  attention,        // packed qkv[b, s, 3 h] by heads -> [b, s, h]: opaque but for samples; typing lets heads be cut
  // layout
  partition,  // cuts `axis` into `degree` blocks
  combine,    // joins `degree` blocks of `axis`
  replicate,  // makes `degree` copies
  reduce,     // adds `degree` summands
  summands,   // two tensors of one shape as summands of one tensor: its value is x + y, nothing is computed (Unity, figure 11b)
};
inline constexpr int kKinds = static_cast<int>(Kind::summands) + 1;

// Opaque: rules know nothing of them but that they are functions.
enum class Function : std::uint8_t { none, relu, gelu, tanh, sigmoid, silu, relu2 };  // relu2: the square of relu
inline constexpr int kFunctions = static_cast<int>(Function::relu2) + 1;
inline constexpr std::array<std::string_view, kFunctions> kFunctionNames{"none", "relu", "gelu", "tanh", "sigmoid", "silu", "relu2"};
// Whether operators (linear, conv) apply it to their results: all but silu and relu2, as in pcg::Activation.
[[nodiscard]] constexpr bool is_built_in(Function f) { return f < Function::silu; }
[[nodiscard]] constexpr std::string_view name_of(Function f) { return kFunctionNames[static_cast<std::size_t>(f)]; }
[[nodiscard]] constexpr std::optional<Function> function_named(std::string_view name) {
  const auto it = std::ranges::find(kFunctionNames, name);
  return it == kFunctionNames.end() ? std::nullopt : std::optional(static_cast<Function>(it - kFunctionNames.begin()));
}

// The attributes that a kind has; its text has them in brackets.
enum class Parameters : std::uint8_t {
  none,
  name,             // a function that is the operator's name: "relu"
  function,         // a function of the result, or nothing: "linear[relu]", "linear"
  axis,             // "concat[1]"
  axis_position,    // "split0[1 at w.1]"
  size,             // "identity[x.1]"
  two_sizes,        // "ones[x.0, x.1]"
  axis_and_degree,  // "partition[0, d]"
  degree,           // "replicate[d]"
};

struct KindFacts {
  std::string_view name;  // as texts and files write it: "linear", "split0", "partition"
  std::uint8_t inputs = 0;
  Parameters parameters = Parameters::none;
};
inline constexpr std::array<KindFacts, kKinds> kKindFacts{{
    {"variable", 0},
    {"linear", 2, Parameters::function},
    {"linear_bias", 3, Parameters::function},
    {"batch_matmul", 2},
    {"conv", 2, Parameters::function},
    {"conv_bias", 3, Parameters::function},
    {"max_pool", 1},
    {"average_pool", 1},
    {"add", 2},
    {"multiply", 2},
    {"unary", 1, Parameters::name},
    {"dropout", 1},
    {"scale", 2},
    {"concat", 2, Parameters::axis},
    {"split0", 1, Parameters::axis_position},
    {"split1", 1, Parameters::axis_position},
    {"transpose", 1},
    {"sum", 1, Parameters::axis},
    {"enlarge", 1},
    {"identity", 0, Parameters::size},
    {"ones", 0, Parameters::two_sizes},
    {"identity_kernel", 0, Parameters::size},
    {"pool_kernel", 0, Parameters::size},
    {"softmax", 1},
    {"layer_norm", 3},
    {"rms_norm", 2},
    {"batch_norm", 3},
    {"embedding", 2},
    {"embedding_bag", 2},
    {"attention", 1},
    {"partition", 1, Parameters::axis_and_degree},
    {"combine", 1, Parameters::axis_and_degree},
    {"replicate", 1, Parameters::degree},
    {"reduce", 1, Parameters::degree},
    {"summands", 2},
}};
static_assert(kKindFacts.back().name == "summands");  // one row per kind, in their order

inline constexpr std::size_t kMostInputs = 3;  // of a node of a term

[[nodiscard]] constexpr const KindFacts& facts_of(Kind k) { return kKindFacts[static_cast<std::size_t>(k)]; }
[[nodiscard]] constexpr std::string_view name_of(Kind k) { return facts_of(k).name; }
[[nodiscard]] constexpr std::optional<Kind> kind_named(std::string_view name) {
  const auto it = std::ranges::find(kKindFacts, name, &KindFacts::name);
  return it == kKindFacts.end() ? std::nullopt : std::optional(static_cast<Kind>(it - kKindFacts.begin()));
}
[[nodiscard]] constexpr std::size_t input_count(Kind k) { return facts_of(k).inputs; }

[[nodiscard]] constexpr bool has_axis(Kind k) {
  const Parameters p = facts_of(k).parameters;
  return p == Parameters::axis || p == Parameters::axis_position || p == Parameters::axis_and_degree;
}
// One half of a split.
[[nodiscard]] constexpr bool is_split(Kind k) { return facts_of(k).parameters == Parameters::axis_position; }
// A tensor that its sizes alone give.
[[nodiscard]] constexpr bool is_constant(Kind k) {
  return facts_of(k).parameters == Parameters::size || facts_of(k).parameters == Parameters::two_sizes;
}
// Changes the layout of one tensor: partition, combine, replicate, reduce.
[[nodiscard]] constexpr bool is_movement(Kind k) {
  return facts_of(k).parameters == Parameters::axis_and_degree || facts_of(k).parameters == Parameters::degree;
}
// Changes layouts only: the movements and summands.
[[nodiscard]] constexpr bool is_layout(Kind k) { return is_movement(k) || k == Kind::summands; }
[[nodiscard]] constexpr bool is_convolution(Kind k) { return k == Kind::conv || k == Kind::conv_bias; }
[[nodiscard]] constexpr bool is_pool(Kind k) { return k == Kind::max_pool || k == Kind::average_pool; }
[[nodiscard]] constexpr bool is_commutative(Kind k) { return k == Kind::add || k == Kind::multiply || k == Kind::summands; }

}  // namespace rules
