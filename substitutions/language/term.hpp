#pragma once
// The small graphs that substitutions are made of: operators of the rule language over variables, with their types and their meaning.
//
// A parallel tensor means one whole tensor (the sum over its summands, of any one copy, of its blocks put together) and has a layout (a
// degree for each dim, a number of summands, a number of copies). Typing lets summands through linear operators only, so nothing that
// may consume a tensor can tell two of the same meaning and the same layout apart. Hence: two graphs are equal, in every context
// where both are well typed, iff their outputs have equal layouts and equal whole values. Partition, Combine, Replicate and Reduce change
// the layout and leave the value alone; what makes that true of the shards that devices hold are the typing rules of the operators, and
// those are checked shard by shard (axioms.hpp), not assumed.
//
// Sizes, boundaries and degrees are symbols. They are typed at kAssignments unrelated assignments of numbers at once: a condition that
// holds at all of them holds because of the symbols, not by accident.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace substitutions {

// What a node computes. Ranks: linear, transpose, identity: matrices; batch_matmul: 3; conv, pools, enlarge: 4 (n, c, h, w); others: any.
enum class Kind : std::uint8_t {
  variable,
  // algebra
  linear,        // f(x[m, k] . w[k, n]); f: attribute `function`
  linear_bias,   // f(x . w + b[n])
  batch_matmul,  // a[b, m, k] . b[b, k, n]
  conv,  // f(x[n, c, h, w] * w[o, c / groups, kh, kw]), stride 1, same padding; groups = c(x) / c(w), from the types; kernel: from w's type
  conv_bias,     // f(x * w + b[o])
  max_pool,      // 3 x 3, stride 1, same padding
  average_pool,  // the same; divides by 9 everywhere
  add,
  multiply,  // elementwise, equal shapes
  unary,     // attribute `function`: opaque
  dropout,   // an opaque function of each element and its place: the mask; every node has its own (Pattern)
  scale,     // x * a scalar variable; inputs: x, scalar (a variable of rank 0)
  concat,    // two tensors along `axis`
  split0,
  split1,           // the part of x before / after position `at` of `axis`
  transpose,        // the last two dims
  sum,              // of the elements along `axis`, which goes
  enlarge,          // a kernel [o, c, kh, kw] padded with zeros to 3 x 3
  identity,         // constants, without inputs; sizes: attributes `at`, `by`. I[at, at]
  ones,             // [at, by]
  identity_kernel,  // [at, at, 3, 3]: of a convolution that changes nothing
  pool_kernel,      // [at, at, 3, 3]: of a convolution that pools by averages
  softmax,          // along the last dim; opaque across it
  layer_norm,       // x, gain[h], bias[h]; opaque across h
  rms_norm,         // x, gain[h]; the same
  batch_norm,       // x[n, c, h, w], gain[c], bias[c]; opaque across n, h and w, whose statistics are of the whole batch
  embedding,        // idx[..], w[v, e] -> [.., e]
  embedding_bag,    // idx[n, b], w[v, e] -> [n, e]: sum over b
  attention,        // packed qkv[b, s, 3 h] by heads -> [b, s, h]: opaque but for samples; typing lets heads be cut
  // layout
  partition,
  combine,  // `axis`, `degree`
  replicate,
  reduce,    // `degree`
  summands,  // two tensors of one shape as summands of one tensor: its value is x + y, nothing is computed (Unity, figure 11b)
};
inline constexpr int kKinds = static_cast<int>(Kind::summands) + 1;
[[nodiscard]] std::string_view name_of(Kind k);  // "linear", "split0", "partition"
[[nodiscard]] std::optional<Kind> kind_named(std::string_view name);
[[nodiscard]] std::size_t input_count(Kind k);
[[nodiscard]] bool is_convolution(Kind k);  // conv, conv_bias
[[nodiscard]] bool is_layout(Kind k);       // partition, combine, replicate, reduce, summands

enum class Function : std::uint8_t {
  none,
  relu,
  gelu,
  tanh,
  sigmoid,
  silu
};  // opaque: nothing is known of them but that they are functions
inline constexpr int kFunctions = static_cast<int>(Function::silu) + 1;
[[nodiscard]] bool is_built_in(Function f);  // some operators apply it to their results: all but silu
[[nodiscard]] std::string_view name_of(Function f);
inline constexpr int kAssignments = 3;
using Numbers = std::array<std::int64_t, kAssignments>;  // one number in each assignment
inline constexpr int kMostRank = 4;

// A degree: the product d^powers[0] e^powers[1] 2^powers[2] of the degree symbols and the number 2 (of two summands).
struct Degree {
  std::array<std::uint8_t, 3> powers = {0, 0, 0};
  auto operator<=>(const Degree&) const = default;
};
[[nodiscard]] std::int64_t value(Degree d, int assignment);  // d: 2, 3, 5; e: 3, 5, 2
// The degree of these values; nullopt: no product of the symbols has them.
[[nodiscard]] std::optional<Degree> degree_from(const Numbers& values);
[[nodiscard]] std::string to_text(Degree d);  // "d*e*2"; "1" of none

// Layout and sizes in one assignment.
struct Type {
  std::uint8_t rank = 0;
  bool index = false;                            // elements are indices (embedding)
  std::array<std::int64_t, kMostRank> size{};    // whole sizes; 0 beyond the rank
  std::array<std::int64_t, kMostRank> degree{};  // 1 where not cut; 0 beyond the rank
  std::int64_t summands = 1, copies = 1;
  auto operator<=>(const Type&) const = default;
};
using Types = std::array<Type, kAssignments>;
[[nodiscard]] Numbers dim_size(const Types& t, std::size_t dim);  // whole, in each assignment

struct Node {
  Kind kind = Kind::variable;
  Function function = Function::none;
  std::uint8_t axis = 0;
  Degree degree;
  Numbers at{};                      // split: position of the cut, in the typing sizes of each assignment; constants: their size
  Numbers by{};                      // ones: the second size
  std::vector<std::uint8_t> inputs;  // earlier nodes; of a variable: empty
  std::uint8_t variable = 0;         // of a variable: which
  auto operator<=>(const Node&) const = default;
};

// A variable of a rule: its name and its types. The sizes of two variables' dims are equal iff they are so in every assignment.
struct Variable {
  std::string name;  // "x", "y", "w", "u": unique in a rule
  Types types;
  bool operator==(const Variable&) const = default;
};

inline constexpr std::size_t kMostTermNodes = 100;  // of a term that is read; no term has use for more variables

// Nodes in topological order; variables are nodes too. Every node but variables is used by a later one or is an output.
struct Term {
  std::vector<Node> nodes;
  std::vector<std::uint8_t> outputs;  // nodes
  auto operator<=>(const Term&) const = default;
  [[nodiscard]] int operators() const;  // nodes that are no variables
};

// The type of a node from those of its inputs in one assignment, where its degree, `at` and `by` have these values; nullopt: ill typed.
// This is the one definition of typing for rules; a test holds it against pcg::iteration_space at every kind that both have. Requires: n is
// no variable.
struct NodeNumbers {
  std::int64_t degree = 1, at = 0, by = 0;
};
[[nodiscard]] std::optional<Type> type_in(const Node& n, std::span<const Type* const> inputs, const NodeNumbers& numbers);
// In every assignment; nullopt: ill typed in one.
[[nodiscard]] std::optional<Types> type_of(const Node& n, std::span<const Types* const> inputs);
// Of all nodes; nullopt if one is ill typed.
[[nodiscard]] std::optional<std::vector<Types>> types_of(const Term& t, std::span<const Variable> variables);

// --- meaning ------------------------------------------------------------------------------------------------------------
// Whole values over the prime field of order 2^31 - 1, at small sizes that belong to the same symbols: sums and multiples of symbols get
// the sums and multiples of their small numbers.

// The typing sizes that a letter stands for: a multiple of 30^4, so that dims can be cut by any few degrees, and unlike any other's.
[[nodiscard]] Numbers symbol(char letter);
// The letters that typing sizes are the sum of, in order ("cmm"); empty for sizes that are equal in all assignments: plain numbers.
// Nullopt: not a sum of one to five letters.
[[nodiscard]] std::optional<std::string> letters_of(const Numbers& sizes);

// A condition on sizes that typing sizes meet by chance: they are large multiples of 30^4, others need not meet it.
struct Chance {
  std::string_view what, cure;  // "cuts outside its tensor", "write the size as ..."
};
// What a node asks of its inputs' sizes that their symbols do not say: a split cuts where its tensor may have ended, a convolution's
// channels need not divide into groups, attention's last dim into three. Nullopt: it can be evaluated at any sizes. Requires: well typed.
[[nodiscard]] std::optional<Chance> chance_in(const Node& n, std::span<const Types* const> inputs);

struct Value {
  std::vector<std::int64_t> sizes;
  std::vector<std::uint32_t> elements;  // row-major
  bool operator==(const Value&) const = default;
};

// Small sizes for the size symbols (letters) of some variables, drawn from a seed: different symbols get different sizes from 2 on.
// Seeds 2 i and 2 i + 1 order them the opposite ways: what holds at both does not because one of two sizes is the smaller.
class SmallSizes {
 public:
  SmallSizes(std::span<const Variable> variables, std::uint64_t seed);
  // The small number that stands for typing sizes that are a sum of the symbols, or plain numbers. Throws: std::logic_error otherwise.
  [[nodiscard]] std::int64_t of(const Numbers& typing_sizes) const;

 private:
  std::array<std::int64_t, 26> small_{};  // by letter; 0: not a symbol of the variables
  std::vector<std::pair<Numbers, std::int64_t>> known_;
};
// The value of a variable: pseudo-random from (seed, name); of indices: some within the rows of every table among
// `variables`, some beyond.
[[nodiscard]] Value value_of(const Variable& v, std::span<const Variable> variables, const SmallSizes& sizes, std::uint64_t seed);
// The value of a node from those of its inputs. Requires: well typed and not by chance (chance_in), no variable.
[[nodiscard]] Value value_of(const Node& n, std::span<const Value* const> inputs, const SmallSizes& sizes);
// Values of all nodes; variables' values are pseudo-random from (seed, name). Requires: all well typed, none by chance (chance_in).
[[nodiscard]] std::vector<Value> values_of(const Term& t, std::span<const Variable> variables, const SmallSizes& sizes, std::uint64_t seed);

// --- text ---------------------------------------------------------------------------------------------------------------
// "add(linear[relu](x, w), y)"; two outputs: "f(x) ; g(y)". Attributes in brackets: function, axis, degree ("d", "d*e", "2"), for splits
// "split0[1 at w.1](z)" (the size of dim 1 of variable w, or a sum "w.1+u.1"), for constants "identity[x.1]", "ones[x.0, x.1]"; layout
// operators: "partition[0, d](x)", "replicate[d](x)". A term's text has each output whole, whatever its outputs share.
[[nodiscard]] std::string to_text(const Term& t, std::span<const Variable> variables);
// Nodes of the result: the variables that it uses by number, then operators, equal ones once, inputs before users, in the order of the
// text. Throws: base::InputError with the column of what is wrong. Types are not checked. Requires: at most kMostTermNodes variables.
[[nodiscard]] Term parse_term(std::string_view text, std::span<const Variable> variables);

// "x: [m/d, 2k+n] sum e", "w: [k, 3] copy d*e", "s: []", "i: [n, b] index": a size is a sum of letters, multiples of letters and numbers,
// after the slash a degree. A letter means the same everywhere (symbol()).
[[nodiscard]] std::string to_text(const Variable& v);
// Throws: base::InputError with the column of what is wrong.
[[nodiscard]] Variable parse_variable(std::string_view text);

// Dims of variables that add up to typing sizes (a split's `at`, a constant's sizes): what the text says of them. The fewest, the first by
// variable and dim; nullopt: no four dims do.
struct VariableDim {
  std::uint8_t variable = 0, dim = 0;
  auto operator<=>(const VariableDim&) const = default;
};
[[nodiscard]] std::optional<std::vector<VariableDim>> dims_adding_to(const Numbers& sizes, std::span<const Variable> variables);

// The same graph in the form that parse_term gives: equal graphs over the same variables become equal terms.
[[nodiscard]] Term canonical(const Term& t);

}  // namespace substitutions
