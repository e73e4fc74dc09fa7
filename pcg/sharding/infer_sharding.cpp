// From the layouts of an operator's inputs back to the sharding that reads them so.

#include "pcg/sharding/infer_sharding.hpp"

#include <numeric>

namespace pcg {
namespace {

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
  for (int& d : degrees)
    if (d == 0) d = 1;
  return degrees;
}

// All inputs have the same sums, or one has them and the others copies instead.
bool find_sums(const IterationSpace& space, std::span<const ParallelShape> inputs, Sharding& s) {
  if (!space.parts.empty()) {
    s.sums = std::accumulate(space.parts.begin(), space.parts.end(), 0);
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

std::optional<Sharding> infer_sharding(const IterationSpace& space, std::span<const ParallelShape> inputs) {
  Sharding s = unsharded(space);
  if (inputs.size() != space.inputs.size()) return std::nullopt;
  if (inputs.empty()) return s;
  s.sums = 1;
  const std::optional<std::vector<int>> degrees = loop_degrees(space, inputs);
  if (!degrees || !find_sums(space, inputs, s)) return std::nullopt;
  s.degrees = *degrees;

  // What copies of the first input the loops that it lacks do not explain; the shapes then tell whether the others agree.
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
