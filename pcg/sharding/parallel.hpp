#pragma once
// Parallel tensor shapes and the typing of parallel operators. A parallel tensor is cut along its dims (degree), and may exist as
// `sum` shards to be added and `copy` shards that are equal: value = sum over s, any one of c, concatenation over dims.
// (Unity, OSDI'22, section 3; two degrees instead of one replica dimension: docs/decisions.)
//
// Typing goes through an operator's iteration space: the loops of its definition. A sharding gives each loop a degree. A tensor's
// dim is cut as its loop is; a loop that an input lacks makes copies of it; a loop that is summed away makes partial sums of the
// output. Linear x[b,k].w[k,n] with loops b,k,n cut 2,1,4: x is [b/2,k] in 4 copies, w is [k,n/4] in 2 copies, y is [b/2,n/4].

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pcg/operators/operator.hpp"

namespace pcg {

// No tensor or operator has more shards: enough for any cluster, and numbers of them fit in an int.
constexpr int kMostShards = 1 << 24;

struct ParallelDim {
  std::int64_t size = 1;  // of the whole tensor
  int degree = 1;         // divides size
  auto operator<=>(const ParallelDim&) const = default;
};

struct ParallelShape {
  std::vector<ParallelDim> dims;
  int sum = 1;
  int copy = 1;
  Element element = Element::real;

  [[nodiscard]] int shards() const;  // sum * copy * product of degrees
  [[nodiscard]] TensorShape whole() const;
  [[nodiscard]] TensorShape shard() const;  // sizes / degrees
  bool operator==(const ParallelShape&) const = default;
};
[[nodiscard]] ParallelShape unsharded(const TensorShape& s);
[[nodiscard]] std::string to_text(const ParallelShape& s);  // "[64/8, 512, 1024/2] copy 4"; degrees of 1 are not written

// Shard number <-> coordinates: mixed radix, outermost first: sum, copy, dim 0, dim 1, ... A dim's coordinate i is its i-th block.
struct ShardIndex {
  int sum = 0;
  int copy = 0;
  std::vector<int> block;  // one per dim
  bool operator==(const ShardIndex&) const = default;
};
[[nodiscard]] ShardIndex shard_index(const ParallelShape& s, int shard);
[[nodiscard]] int shard_number(const ParallelShape& s, const ShardIndex& i);

// --- iteration spaces ---------------------------------------------------------------------------------------------------

enum class Cut {
  free,      // shards are independent: batch, rows, output channels, heads
  sum,       // cutting leaves partial sums in the outputs
  internal,  // may be cut, at the price of a collective inside the operator (see internal_collectives)
  none       // may not be cut
};

struct Loop {
  std::string name;       // "b", "s", "k", "n", "heads", "experts", "class"; unique in the operator; what plan files write
  std::int64_t size = 1;  // a degree must divide it
  Cut cut = Cut::free;
  std::int64_t least = 1;  // size of a block: what neighbours need of it must lie in it
};

// What an input is to an operator that lets the partial sums of one input pass while the others have none.
enum class Passing {
  no,      // its partial sums may not pass alone
  factor,  // f is linear in it alone: each summand meets all of the others (x . w, x * y)
  addend   // it is added: the others count at the first summand only (x + y)
};

struct IterationSpace {
  std::vector<Loop> loops;
  // For each input and each output: the loop that indexes each of its dims, -1: the dim is always whole.
  std::vector<std::vector<int>> inputs;
  std::vector<std::vector<int>> outputs;
  bool linear = false;         // partial sums may pass through: f(a + b) = f(a) + f(b) in all inputs together (add, concat, transpose, ...)
  std::vector<Passing> alone;  // one per input, or empty: none may pass alone
  std::vector<int> parts;      // of Summands: how many of the partial sums each input has; else empty: each has all
};
// Dim sizes of one index may differ from the loop's size (heads index a hidden dim); a dim must still divide by the degree.
// Names: dims of a tensor from the outermost are b, s, d2, d3, ..., the last one of an elementwise operator or a norm h; Input and
// Weight d0, d1, ...; the table of all operators is in docs/formats.md.
// A bias of a Linear whose k is cut lies on every point and is added where the coordinate of k is 0; BatchNorm with b cut is
// synchronised: its statistics are of the whole batch (internal_collectives), so that cutting it never changes what is computed.
// Throws: ShapeError, as infer_shapes.
[[nodiscard]] IterationSpace iteration_space(const Operator& op, std::span<const TensorShape> inputs);

// How one operator is cut. Task space: axes (sums, copies, loop 0, loop 1, ...), mixed radix, outermost first.
struct Sharding {
  std::vector<int> degrees;  // one per loop
  int copies = 1;            // the same work done redundantly
  int sums = 1;              // partial sums passing through; needs IterationSpace::linear, or
  int through = -1;          // the one input that has them, its Passing not `no`; the others are there in copies. -1: all inputs have them

  [[nodiscard]] int points() const;  // size of the task space
  bool operator==(const Sharding&) const = default;
};

// Every degree 1: the operator runs at one point (Summands: at one for each summand).
[[nodiscard]] Sharding unsharded(const IterationSpace& space);
// The loop of that name, -1 if there is none.
[[nodiscard]] int find_loop(const IterationSpace& space, std::string_view name);

// The sharding that makes an operator accept inputs of these layouts: the degrees of loops from the dims that they index, copies and
// sums from what is left. A loop that no input has is whole. Nullopt: there is none, or it is not lawful as far as inputs tell.
[[nodiscard]] std::optional<Sharding> infer_sharding(const IterationSpace& space, std::span<const ParallelShape> inputs);

// Why a sharding is not lawful, or nullopt.
[[nodiscard]] std::optional<std::string> violation(const IterationSpace& space, const Sharding& sharding,
                                                   std::span<const TensorShape> inputs, std::span<const TensorShape> outputs);
// The parallel shape that input i must have / that output j has.
[[nodiscard]] ParallelShape input_shape(const IterationSpace& space, const Sharding& sharding, std::size_t i, const TensorShape& whole);
[[nodiscard]] ParallelShape output_shape(const IterationSpace& space, const Sharding& sharding, std::size_t j, const TensorShape& whole);
// The shard of input i / output j that a point of the task space reads / writes. Copies are numbered by (copies, missing loops in
// order), sums that pass another input by joining them in front; sums by (sums, summed loops in order). -1: the point reads nothing
// of this input, as its summand is another input's (Summands).
[[nodiscard]] int input_shard(const IterationSpace& space, const Sharding& sharding, std::size_t i, int point);
[[nodiscard]] int output_shard(const IterationSpace& space, const Sharding& sharding, std::size_t j, int point);

// The backward pass sees the same task space. At each point the gradient of an output arrives whole (loops summed away and redundant
// copies: equal copies); the gradient of input i leaves as partial sums over the loops that input lacks, and as equal copies over
// `copies` and `sums` (partial sums over `sums` for a factor beside the one input that has them). These are those two layouts'
// shapes; shard numbers: sums by (missing loops in order), copies by (sums, copies, missing loops in order), each with the axes that
// it has; -1 as input_shard.
[[nodiscard]] ParallelShape output_gradient_shape(const IterationSpace& space, const Sharding& sharding, std::size_t j,
                                                  const TensorShape& whole);
[[nodiscard]] ParallelShape input_gradient_shape(const IterationSpace& space, const Sharding& sharding, std::size_t i,
                                                 const TensorShape& whole);
[[nodiscard]] int output_gradient_shard(const IterationSpace& space, const Sharding& sharding, std::size_t j, int point);
[[nodiscard]] int input_gradient_shard(const IterationSpace& space, const Sharding& sharding, std::size_t i, int point);

// A collective inside an operator whose loop of kind Cut::internal is cut: among the points that differ in that loop alone.
struct InternalCollective {
  // halo_before, halo_behind: every point but the first (last) gets `shape` from its neighbour.
  enum class Kind { all_reduce, all_gather, reduce_scatter, halo_before, halo_behind };
  Kind kind = Kind::all_reduce;
  int loop = 0;
  TensorShape shape;      // the full buffer at one point (S of nccl-tests)
  bool fp32 = false;      // statistics travel in 4 bytes whatever the precision
  bool backward = false;  // in the backward pass instead of the forward one
};
[[nodiscard]] bool runs_before(const InternalCollective& c);  // before the operator's kernels of its pass, or behind them
// Vocabulary-parallel cross-entropy: three all-reduces of [positions] fp32 (max, target logit, sum of exponentials; Megatron-LM,
// arXiv 1909.08053, section 3). Context-parallel attention: all-gather of keys and values forward and again backward,
// reduce-scatter of their gradients. Convolution and pooling cut by rows or columns: each point gets the halos that its windows reach
// over, `padding` before and kernel - stride - padding behind, and gives their gradients back; columns after rows, with the rows' halos.
[[nodiscard]] std::vector<InternalCollective> internal_collectives(const Operator& op, const Sharding& sharding,
                                                                   std::span<const TensorShape> inputs);

// --- parallel operators -------------------------------------------------------------------------------------------------
// Everywhere the new index is the fastest: Partition cuts block i into i*d .. i*d+d-1, Replicate makes copies c*d .. c*d+d-1 of
// copy c, Reduce adds sums s*d .. s*d+d-1 to sum s, Combine joins blocks i*d .. i*d+d-1 to block i.

struct Partition {
  int dim = 0;
  int degree = 1;
  bool operator==(const Partition&) const = default;
};  // degree[dim] *= d, new index fastest
struct Combine {
  int dim = 0;
  int degree = 1;
  bool operator==(const Combine&) const = default;
};  // degree[dim] /= d
struct Replicate {
  int degree = 1;
  bool operator==(const Replicate&) const = default;
};  // copy *= d
struct Reduce {
  int degree = 1;
  bool operator==(const Reduce&) const = default;
};  // sum /= d
struct Discard {
  int degree = 1;
  bool operator==(const Discard&) const = default;
};  // copy /= d: keeps copy i*d
struct Pipeline {
  int dim = 0;
  int count = 1;
  bool operator==(const Pipeline&) const = default;
};  // size[dim] /= n: micro-batches
struct Batch {
  int dim = 0;
  int count = 1;
  bool operator==(const Batch&) const = default;
};  // size[dim] *= n
using ParallelOperator = std::variant<Partition, Combine, Replicate, Reduce, Discard, Pipeline, Batch>;

[[nodiscard]] std::string_view kind_name(const ParallelOperator& op);
// Throws: ShapeError when the operator does not apply or makes too many shards.
[[nodiscard]] ParallelShape apply(const ParallelOperator& op, const ParallelShape& in);
// A chain of parallel operators from one shape to another of the same tensor, in the order Reduce, Discard, Combine, Partition,
// Replicate; empty when equal. Throws: ShapeError where none exists (to.sum must divide from.sum: more sums cannot be made).
[[nodiscard]] std::vector<ParallelOperator> conversion(const ParallelShape& from, const ParallelShape& to);

}  // namespace pcg
