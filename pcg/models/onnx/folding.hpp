#pragma once
// Nodes whose inputs are all known numbers, evaluated: what exporters compute shapes, axes, scales and masks with.

#include <optional>
#include <span>
#include <vector>

#include "base/attempt.hpp"
#include "pcg/models/onnx/model.hpp"

namespace pcg::models::onnx {

// One entry per input; nullptr: not there. Requires: those that are there are known.
using KnownInputs = std::span<const Tensor* const>;

// Returns the one output of a node; nullopt: it is none of the kinds that are evaluated, or its numbers are too many to keep.
// Refuses what contradicts itself (an index out of range, sizes that do not fit). Cost: O(elements).
[[nodiscard]] base::Attempt<std::optional<Tensor>> folded(const Node& node, KnownInputs inputs);

// The sizes that arrays of these sizes have together, or nullopt where they do not fit.
[[nodiscard]] std::optional<Sizes> broadcast(const Sizes& a, const Sizes& b);
// An axis counted from the end where it is below 0; nullopt: there is none such among `rank`.
[[nodiscard]] std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);
// Returns the sizes after an ONNX Reshape: 0 keeps, -1 takes what is left. allow_zero: 0 is a size. nullopt: elements do not come out even.
[[nodiscard]] std::optional<Sizes> reshaped(const Sizes& from, const Sizes& to, bool allow_zero = false);
// Axes of a node: its attribute, or, since opset 13 or so, its input of that number. nullopt: neither is there.
[[nodiscard]] std::optional<std::vector<std::int64_t>> axes_of(const Node& node, const Tensor* input);
// The sizes with dims of size 1 at these axes of the result.
[[nodiscard]] std::optional<Sizes> unsqueezed(Sizes sizes, const std::vector<std::int64_t>& axes);
// The sizes without the dims of these axes, which have size 1; no axes: without all that have.
[[nodiscard]] std::optional<Sizes> squeezed(const Sizes& sizes, const std::optional<std::vector<std::int64_t>>& axes);

// One axis of a Slice, with steps of 1 or, in constants, any.
struct Range {
  std::size_t axis = 0;
  std::int64_t begin = 0, step = 1, length = 0;
};
// Returns the ranges that a Slice takes of a tensor of these sizes; nullopt: its numbers are not known or do not fit. inputs: as for
// folded(), the first is not looked at.
[[nodiscard]] std::optional<std::vector<Range>> ranges_of(const Node& node, const Sizes& sizes, KnownInputs inputs);

}  // namespace pcg::models::onnx
