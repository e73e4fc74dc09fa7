#include "pcg/sharding/sharding.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/check.hpp"

namespace pcg {
namespace {

// An axis of the task space that does not index a tensor gives it: shards to be added, or equal shards.
enum class Role { sum, copy };

// The four layouts that an operator sees: its inputs and outputs, and their gradients.
struct Layout {
  Role sums = Role::sum;              // the axis of partial sums passing through; of inputs beside the one that has them: see below
  Role absent_sum_loop = Role::copy;  // a loop of kind Cut::sum that the tensor lacks
  Role absent_loop = Role::copy;      // any other loop that the tensor lacks
};
constexpr Layout kInput{Role::sum, Role::copy, Role::copy};
constexpr Layout kOutput{Role::sum, Role::sum, Role::copy};
constexpr Layout kOutputGradient{Role::copy, Role::copy, Role::copy};
constexpr Layout kInputGradient{Role::copy, Role::sum, Role::sum};
// A bias is added once, outside the sum, so its gradient is the output's: equal wherever a summed loop is cut.
constexpr Layout kAddendGradient{Role::copy, Role::copy, Role::sum};

// A factor meets every summand (a table of rows that are summed); what else lacks a summed loop is a bias.
const Layout& input_gradient(const IterationSpace& space, std::size_t i) {
  const bool factor = i < space.alone.size() && space.alone[i] == Passing::factor;
  return factor ? kInputGradient : kAddendGradient;
}

constexpr std::size_t kMostLoops = 16;

// The axis of partial sums as one tensor sees it: which of its coordinates belong to it, and what they make of it.
struct SumAxis {
  int first = 0;
  int degree = 1;
  Role role = Role::sum;
};
SumAxis whole_axis(const Sharding& s, const Layout& layout) { return {0, s.sums, layout.sums}; }
// Each input of Summands has a range of the axis; beside the one input that has partial sums the others have copies for them.
SumAxis input_axis(const IterationSpace& space, const Sharding& s, std::size_t i, const Layout& layout, bool gradient) {
  SumAxis axis = whole_axis(s, layout);
  if (!space.parts.empty()) {
    axis.first = std::accumulate(space.parts.begin(), space.parts.begin() + static_cast<std::ptrdiff_t>(i), 0);
    axis.degree = space.parts[i];
  } else if (s.through >= 0 && static_cast<std::size_t>(s.through) != i) {
    axis.role = gradient && space.alone[i] == Passing::factor ? Role::sum : Role::copy;
  }
  return axis;
}

bool indexes(const std::vector<int>& dims, int loop) { return std::ranges::find(dims, loop) != dims.end(); }

// Summands: the partial sums of all inputs.
int all_parts(const IterationSpace& space) { return std::accumulate(space.parts.begin(), space.parts.end(), 0); }

Role role_of(const Layout& layout, const Loop& loop) { return loop.cut == Cut::sum ? layout.absent_sum_loop : layout.absent_loop; }

int degree_of(const Sharding& s, int loop) { return loop < 0 ? 1 : s.degrees[static_cast<std::size_t>(loop)]; }

ParallelShape shape_of(const IterationSpace& space, const Sharding& s, const std::vector<int>& dims, const Layout& layout,
                       const SumAxis& sums, const TensorShape& whole) {
  BASE_CHECK(dims.size() == whole.sizes.size(), "{} dims are indexed, {} exist", dims.size(), whole.sizes.size());
  ParallelShape r;
  r.element = whole.element;
  for (std::size_t d = 0; d < dims.size(); ++d) r.dims.push_back({whole.sizes[d], degree_of(s, dims[d])});
  r.copy = s.copies;
  (sums.role == Role::sum ? r.sum : r.copy) *= sums.degree;
  for (std::size_t l = 0; l < space.loops.size(); ++l)
    if (!indexes(dims, static_cast<int>(l))) (role_of(layout, space.loops[l]) == Role::sum ? r.sum : r.copy) *= s.degrees[l];
  return r;
}

int shard_of(const IterationSpace& space, const Sharding& s, const std::vector<int>& dims, const Layout& layout, const SumAxis& sums,
             int point) {
  const std::size_t loops = space.loops.size();
  BASE_CHECK(loops <= kMostLoops && s.degrees.size() == loops, "{} loops, {} degrees", loops, s.degrees.size());
  std::array<int, kMostLoops> at{};
  for (std::size_t l = loops; l-- > 0;) {
    at[l] = point % s.degrees[l];
    point /= s.degrees[l];
  }
  // Loops are the fastest axes of a point's number, then copies, then sums.
  const int copy = point % s.copies;
  const int sum = point / s.copies - sums.first;
  if (sum < 0 || sum >= sums.degree) return -1;

  // Axes join the sum or the copy number in task-space order: sums, copies, loops.
  int sum_number = 0, copy_number = 0, copy_degree = 1;
  auto join = [&](Role role, int coordinate, int degree) {
    if (role == Role::sum) {
      sum_number = sum_number * degree + coordinate;
    } else {
      copy_number = copy_number * degree + coordinate;
      copy_degree *= degree;
    }
  };
  join(sums.role, sum, sums.degree);
  join(Role::copy, copy, s.copies);
  for (std::size_t l = 0; l < loops; ++l)
    if (!indexes(dims, static_cast<int>(l))) join(role_of(layout, space.loops[l]), at[l], s.degrees[l]);
  int number = sum_number * copy_degree + copy_number;
  for (int l : dims)
    if (l >= 0) number = number * s.degrees[static_cast<std::size_t>(l)] + at[static_cast<std::size_t>(l)];
  return number;
}

// Partial sums pass through all inputs of a linear operator together, or through one input that allows it.
std::optional<std::string> sums_violation(const IterationSpace& space, const Sharding& s) {
  if (!space.parts.empty()) {
    if (s.sums != all_parts(space) || s.through >= 0) return fmt::format("{} sums of inputs that have {}", s.sums, all_parts(space));
  } else if (s.through >= 0) {
    const auto i = static_cast<std::size_t>(s.through);
    if (s.sums == 1) return fmt::format("through input {}, but there are no partial sums", i);
    if (i >= space.alone.size() || space.alone[i] == Passing::no) return fmt::format("partial sums cannot pass through input {} alone", i);
  } else if (s.sums > 1 && !space.linear) {
    return std::string("partial sums cannot pass through an operator that is not linear");
  }
  return std::nullopt;
}

// Degrees from the dims that loops index; nullopt where two dims of one loop, or a dim that is never cut, disagree.
std::optional<std::vector<int>> loop_degrees(const IterationSpace& space, std::span<const ParallelShape> inputs) {
  std::vector<int> degrees(space.loops.size(), 0);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (space.inputs[i].size() != inputs[i].dims.size()) return std::nullopt;
    for (std::size_t d = 0; d < inputs[i].dims.size(); ++d) {
      const int loop = space.inputs[i][d], degree = inputs[i].dims[d].degree;
      if (loop < 0) {
        if (degree != 1) return std::nullopt;
        continue;
      }
      int& known = degrees[static_cast<std::size_t>(loop)];
      if (known != 0 && known != degree) return std::nullopt;
      known = degree;
    }
  }
  std::ranges::replace(degrees, 0, 1);
  return degrees;
}

// All inputs have the same sums, or one has them and the others copies instead.
bool find_sums(const IterationSpace& space, std::span<const ParallelShape> inputs, Sharding& s) {
  if (!space.parts.empty()) {
    s.sums = all_parts(space);
    return true;
  }
  int with = 0, last = -1;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].sum == 1) continue;
    ++with;
    last = static_cast<int>(i);
    if (s.sums != 1 && s.sums != inputs[i].sum) return false;
    s.sums = inputs[i].sum;
  }
  const bool together = space.linear && with == static_cast<int>(inputs.size());
  if (with > 1 && !together) return false;
  if (with == 1 && !together) s.through = last;
  return true;
}

}  // namespace

int Sharding::points() const {
  int n = sums * copies;
  for (int d : degrees) n *= d;
  return n;
}

Sharding unsharded(const IterationSpace& space) {
  return {std::vector<int>(space.loops.size(), 1), 1, space.parts.empty() ? 1 : all_parts(space), -1};
}

std::optional<std::string> violation(const IterationSpace& space, const Sharding& s, std::span<const TensorShape> inputs,
                                     std::span<const TensorShape> outputs) {
  if (s.degrees.size() != space.loops.size()) return fmt::format("{} degrees are given for {} loops", s.degrees.size(), space.loops.size());
  if (s.copies < 1 || s.sums < 1) return fmt::format("copies {} and sums {} must be at least 1", s.copies, s.sums);
  if (auto v = sums_violation(space, s)) return v;
  std::int64_t points = static_cast<std::int64_t>(s.sums) * s.copies;
  if (points > kMostShards) return fmt::format("more than {} shards", kMostShards);
  for (std::size_t l = 0; l < space.loops.size(); ++l) {
    const Loop& loop = space.loops[l];
    const int degree = s.degrees[l];
    if (degree < 1) return fmt::format("degree {} of loop {} must be at least 1", degree, loop.name);
    if (degree > 1 && loop.cut == Cut::none) return fmt::format("loop {} may not be cut", loop.name);
    if (loop.size % degree != 0) return fmt::format("loop {} of size {} does not divide into {}", loop.name, loop.size, degree);
    if (degree > 1 && loop.size / degree < loop.least)
      return fmt::format("blocks of {} of loop {} are shorter than the {} that neighbours need", loop.size / degree, loop.name, loop.least);
    points *= degree;
    if (points > kMostShards) return fmt::format("more than {} shards", kMostShards);
  }
  auto indivisible = [&](const std::vector<std::vector<int>>& index, std::span<const TensorShape> shapes,
                         const char* what) -> std::optional<std::string> {
    for (std::size_t i = 0; i < index.size() && i < shapes.size(); ++i)
      for (std::size_t d = 0; d < index[i].size(); ++d)
        if (const int degree = degree_of(s, index[i][d]); shapes[i].sizes[d] % degree != 0)
          return fmt::format("dim {} of {} {}, of size {}, does not divide into {} (loop {})", d, what, i, shapes[i].sizes[d], degree,
                             space.loops[static_cast<std::size_t>(index[i][d])].name);
    return std::nullopt;
  };
  if (auto v = indivisible(space.inputs, inputs, "input")) return v;
  return indivisible(space.outputs, outputs, "output");
}

ParallelShape input_shape(const IterationSpace& space, const Sharding& s, std::size_t i, const TensorShape& whole) {
  return shape_of(space, s, space.inputs[i], kInput, input_axis(space, s, i, kInput, false), whole);
}
ParallelShape output_shape(const IterationSpace& space, const Sharding& s, std::size_t j, const TensorShape& whole) {
  return shape_of(space, s, space.outputs[j], kOutput, whole_axis(s, kOutput), whole);
}
int input_shard(const IterationSpace& space, const Sharding& s, std::size_t i, int point) {
  return shard_of(space, s, space.inputs[i], kInput, input_axis(space, s, i, kInput, false), point);
}
int output_shard(const IterationSpace& space, const Sharding& s, std::size_t j, int point) {
  return shard_of(space, s, space.outputs[j], kOutput, whole_axis(s, kOutput), point);
}
ParallelShape output_gradient_shape(const IterationSpace& space, const Sharding& s, std::size_t j, const TensorShape& whole) {
  return shape_of(space, s, space.outputs[j], kOutputGradient, whole_axis(s, kOutputGradient), whole);
}
ParallelShape input_gradient_shape(const IterationSpace& space, const Sharding& s, std::size_t i, const TensorShape& whole) {
  const Layout& layout = input_gradient(space, i);
  return shape_of(space, s, space.inputs[i], layout, input_axis(space, s, i, layout, true), whole);
}
int output_gradient_shard(const IterationSpace& space, const Sharding& s, std::size_t j, int point) {
  return shard_of(space, s, space.outputs[j], kOutputGradient, whole_axis(s, kOutputGradient), point);
}
int input_gradient_shard(const IterationSpace& space, const Sharding& s, std::size_t i, int point) {
  const Layout& layout = input_gradient(space, i);
  return shard_of(space, s, space.inputs[i], layout, input_axis(space, s, i, layout, true), point);
}

std::optional<Sharding> infer_sharding(const IterationSpace& space, std::span<const ParallelShape> inputs) {
  Sharding s = unsharded(space);
  if (inputs.size() != space.inputs.size()) return std::nullopt;
  if (inputs.empty()) return s;
  s.sums = 1;
  const std::optional<std::vector<int>> degrees = loop_degrees(space, inputs);
  if (!degrees || !find_sums(space, inputs, s)) return std::nullopt;
  s.degrees = *degrees;

  // Copies of the first input that the loops which it lacks do not explain; the shapes then show whether the others agree.
  std::vector<TensorShape> wholes;
  for (const ParallelShape& p : inputs) wholes.push_back(p.whole());
  const int explained = input_shape(space, s, 0, wholes[0]).copy;
  if (inputs[0].copy % explained != 0) return std::nullopt;
  s.copies = inputs[0].copy / explained;
  if (violation(space, s, wholes, {})) return std::nullopt;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (input_shape(space, s, i, wholes[i]) != inputs[i]) return std::nullopt;
  return s;
}

}  // namespace pcg
