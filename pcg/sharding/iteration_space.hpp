#pragma once
// The iteration space of an operator: the loops of its definition, and the loop that indexes each dim of its inputs and outputs. Parallel
// shapes are typed through it. A sharding gives each loop a degree. A dim is cut as its loop is; a loop that an input lacks makes copies
// of that input; a loop that is summed away makes partial sums of the output. Example: Linear x[b,k] . w[k,n] has the loops b, k, n; cut
// 2, 1, 4, it reads x as [b/2, k] in 4 copies and w as [k, n/4] in 2 copies, and makes y as [b/2, n/4].

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pcg/operators/operator.hpp"

namespace pcg {

enum class Cut {
  free,      // shards are independent: batch, rows, output channels, heads
  sum,       // cutting leaves partial sums in the outputs
  internal,  // may be cut, at the price of a collective inside the operator (see internal_collectives)
  none       // may not be cut
};

struct Loop {
  std::string name;       // "b", "s", "k", "n", "heads", "experts", "class"; unique in the operator; plan files write it
  std::int64_t size = 1;  // a degree must divide it
  Cut cut = Cut::free;
  std::int64_t least = 1;  // the smallest block: a halo must lie in one neighbour's block
  bool operator==(const Loop&) const = default;
};

// Whether the partial sums of an input may pass through the operator while the other inputs have none, and why.
enum class Passing {
  no,      // its partial sums may not pass alone
  factor,  // f is linear in it alone: each summand meets all of the others (x . w, x * y)
  addend   // it is added: the others count at the first summand only (x + y)
};

struct IterationSpace {
  std::vector<Loop> loops;
  // One entry per input and per output: the loop that indexes each of its dims; -1 where the dim is always whole.
  std::vector<std::vector<int>> inputs;
  std::vector<std::vector<int>> outputs;
  bool linear = false;         // partial sums may pass through: f(a + b) = f(a) + f(b) in all inputs together (add, concat, transpose, ...)
  std::vector<Passing> alone;  // one per input; empty: none may pass alone
  std::vector<int> parts;      // Summands only: the number of partial sums that each input has; empty: each input has all
  bool operator==(const IterationSpace&) const = default;
};
// The size of a dim may differ from its loop's (heads index a hidden dim); the degree must divide both.
// Names: dims of a tensor from the outermost are b, s, d2, d3, ..., the last one of an elementwise operator or a norm h; Input and
// Weight d0, d1, ...; the table of all operators is in docs/formats/model.md.
// A bias of a Linear whose k is cut lies on every point and is added where the coordinate of k is 0; BatchNorm with b cut is
// synchronised: its statistics are of the whole batch (internal_collectives), so that cutting it never changes what is computed.
// `inputs` are whole shapes. Throws: ShapeError when the operator refuses them, as infer_shapes() does.
[[nodiscard]] IterationSpace iteration_space(const Operator& op, std::span<const TensorShape> inputs);
// The same for a caller that has the outputs. Requires: outputs is infer_shapes(op, inputs).
[[nodiscard]] IterationSpace iteration_space(const Operator& op, std::span<const TensorShape> inputs, std::span<const TensorShape> outputs);
// Returns the number of the loop of that name, or -1.
[[nodiscard]] int find_loop(const IterationSpace& space, std::string_view name);

}  // namespace pcg
