// The rules of sizes that folding and graph operators have in common.

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "pcg/models/onnx/folding.hpp"

namespace pcg::models::onnx {

std::optional<Sizes> broadcast(const Sizes& a, const Sizes& b) {
  const Sizes &wide = a.size() >= b.size() ? a : b, &narrow = a.size() >= b.size() ? b : a;
  Sizes result = wide;
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    std::int64_t& size = result[wide.size() - 1 - i];
    const std::int64_t other = narrow[narrow.size() - 1 - i];
    if (size == 1) size = other;
    else if (other != 1 && other != size) return std::nullopt;
  }
  return result;
}

std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto dims = static_cast<std::int64_t>(rank);
  return axis < -dims || axis >= dims ? std::nullopt : std::optional(static_cast<std::size_t>(axis < 0 ? axis + dims : axis));
}

std::optional<Sizes> reshaped(const Sizes& from, const Sizes& to, bool allow_zero) {
  const auto product = [](const Sizes& s) { return std::accumulate(s.begin(), s.end(), std::int64_t{1}, std::multiplies<>()); };
  Sizes result = to;
  std::optional<std::size_t> rest;
  std::int64_t known = 1;
  const std::int64_t elements = product(from);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == 0 && !allow_zero) {
      if (i >= from.size()) return std::nullopt;
      result[i] = from[i];
    }
    if (result[i] == -1) {
      if (rest) return std::nullopt;
      rest = i;
    } else if (result[i] < 0 || (result[i] > 0 && known > elements / result[i])) {
      return std::nullopt;
    } else {
      known *= result[i];
    }
  }
  if (rest) {
    if (known == 0 || elements % known != 0) return std::nullopt;
    result[*rest] = elements / known;
  }
  return product(result) == elements ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<Sizes> axes_of(const Node& node, const Tensor* input) {
  if (auto axes = node.integers("axes")) return axes;
  return input != nullptr ? input->integers : std::nullopt;
}

std::optional<Sizes> unsqueezed(Sizes sizes, const Sizes& axes) {
  const std::size_t rank = sizes.size() + axes.size();
  std::set<std::size_t> places;
  for (const std::int64_t a : axes) {
    const auto place = axis_of(a, rank);
    if (!place || !places.insert(*place).second) return std::nullopt;
  }
  for (const std::size_t p : places) sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(p), 1);
  return sizes;
}

std::optional<Sizes> squeezed(const Sizes& sizes, const std::optional<Sizes>& axes) {
  std::set<std::size_t> gone;
  if (axes)
    for (const std::int64_t a : *axes) {
      const auto place = axis_of(a, sizes.size());
      if (!place || sizes[*place] != 1) return std::nullopt;
      gone.insert(*place);
    }
  Sizes result;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (axes ? !gone.contains(i) : sizes[i] != 1) result.push_back(sizes[i]);
  return result;
}

std::optional<std::vector<Range>> ranges_of(const Node& node, const Sizes& sizes, KnownInputs inputs) {
  const auto given = [&](std::size_t i, const char* key) -> std::optional<Sizes> {
    if (auto attribute = node.integers(key)) return attribute;
    if (i < inputs.size() && inputs[i] != nullptr && inputs[i]->integers) return *inputs[i]->integers;
    return std::nullopt;
  };
  const auto starts = given(1, "starts"), ends = given(2, "ends"), axes = given(3, "axes"), steps = given(4, "steps");
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  if ((axes && axes->size() != starts->size()) || (steps && steps->size() != starts->size())) return std::nullopt;
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = axis_of(axes ? (*axes)[i] : static_cast<std::int64_t>(i), sizes.size());
    const std::int64_t step = steps ? (*steps)[i] : 1;
    if (!axis || step == 0 || step == INT64_MIN) return std::nullopt;
    const std::int64_t size = sizes[*axis];
    const auto place = [&](std::int64_t p) {
      return std::clamp(p < 0 ? p + size : p, step > 0 ? std::int64_t{0} : -1, step > 0 ? size : size - 1);
    };
    const std::int64_t begin = place((*starts)[i]), end = (*ends)[i] < -size && step < 0 ? -1 : place((*ends)[i]);
    const std::int64_t span = step > 0 ? end - begin : begin - end;
    const std::int64_t stride = step > 0 ? step : -step;
    ranges.push_back({*axis, begin, step, span <= 0 ? 0 : (span + stride - 1) / stride});
  }
  return ranges;
}

}  // namespace pcg::models::onnx
