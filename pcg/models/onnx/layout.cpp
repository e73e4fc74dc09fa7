// Operators that move numbers and compute none.

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "pcg/models/onnx/importer.hpp"

namespace pcg::models::onnx {
namespace {

// The dim of these sizes that holds the samples, where `before` elements lie outside of them; -1: none can.
Samples samples_in(const Sizes& sizes, std::int64_t before, std::int64_t samples, std::size_t at_best) {
  std::int64_t outside = 1;
  Samples found;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const bool fits = before % outside == 0 && (outside * sizes[d]) % (before * samples) == 0;
    // Next to a dim of size 1 several fit: then the one where they were.
    if (fits && (found.dim < 0 || d == at_best)) found = {static_cast<int>(d), before / outside};
    outside *= sizes[d];
  }
  return found;
}

}  // namespace

// Reshapes to sizes, but for the samples, whose dim takes what is left, so that the graph can be made for any number of them.
GraphTensorRef Importer::reshape(const std::string& name, GraphTensorRef t, const Sizes& to) {
  if (sizes(t) == to) return t;
  const Sizes& now = sizes(t);
  const Samples from = samples_of(t);
  Samples place;
  if (from.dim >= 0) {
    const std::int64_t before = std::accumulate(now.begin(), now.begin() + from.dim, std::int64_t{1}, std::multiplies<>()) * from.outer;
    place = samples_in(to, before, batch_, static_cast<std::size_t>(from.dim));
    if (place.dim < 0)
      throw Refused{fmt::format("{} becomes [{}], which takes samples apart", to_text(draft_.shape(t)), fmt::join(to, ", ")),
                    "keep the samples of a batch together"};
  }
  // As few numbers as can be: what stays in its place is 0, and the samples, or else the last size that is left, follow from the rest.
  Sizes relative = to;
  std::optional<std::size_t> rest;
  for (std::size_t d = 0; d < to.size(); ++d) {
    const bool holds_samples = place.dim == static_cast<int>(d),
               may_stay = place.dim < 0 || holds_samples == (from.dim == static_cast<int>(d));
    const bool merges = d + 1 == to.size() && to.size() < now.size();  // with dims of size 1, perhaps
    if (may_stay && !merges && d < now.size() && to[d] == now[d]) relative[d] = 0;
    else if (holds_samples || !rest || place.dim != static_cast<int>(*rest)) rest = d;
  }
  if (rest) relative[*rest] = -1;
  const GraphTensorRef y = add(name, Reshape{.sizes = relative}, {t});
  if (place.dim >= 0) samples_of_[y] = place;
  return y;
}

void Importer::shape(const Node& node) {
  const Held& h = input(node, 0);
  Sizes all = h.kind == Held::Kind::tensor ? sizes(h.tensor) : h.constant.sizes;
  if (h.transposed) std::swap(all[0], all[1]);
  const auto rank = static_cast<std::int64_t>(all.size());
  const auto place = [&](std::int64_t p) { return std::clamp(p < 0 ? p + rank : p, std::int64_t{0}, rank); };
  const std::int64_t begin = place(node.integer("start", 0)), end = std::max(begin, place(node.integer("end", rank)));
  Tensor sizes{.element = Element::integer, .sizes = {end - begin}, .integers = Sizes(all.begin() + begin, all.begin() + end)};
  put(node, Held{.kind = Held::Kind::constant, .constant = std::move(sizes), .from_data = true});
}

void Importer::reshape(const Node& node) {
  const GraphTensorRef x = tensor(node, 0);
  const Sizes& from = sizes(x);
  std::optional<Sizes> to;
  if (node.type == "Reshape") {
    const Tensor* given = constant(node, 1);
    auto wanted = node.integers("shape");  // before opset 5
    if (given != nullptr && given->integers) wanted = *given->integers;
    if (!wanted) throw Refused{"its sizes are computed from data", "they must follow from the sizes of inputs"};
    to = reshaped(from, *wanted, node.integer("allowzero", 0) != 0);
  } else if (node.type == "Flatten") {
    const std::int64_t axis = node.integer("axis", 1), rank = static_cast<std::int64_t>(from.size());
    if (axis < -rank || axis > rank) throw Refused{fmt::format("axis {} of {}", axis, to_text(draft_.shape(x))), ""};
    const auto middle = from.begin() + (axis < 0 ? axis + rank : axis);
    to = Sizes{std::accumulate(from.begin(), middle, std::int64_t{1}, std::multiplies<>()),
               std::accumulate(middle, from.end(), std::int64_t{1}, std::multiplies<>())};
  } else {
    const auto axes = axes_of(node, constant(node, 1));
    if (node.has_input(1) && !axes) throw Refused{"its axes are computed", ""};
    if (node.type == "Squeeze") to = squeezed(from, axes);
    else if (axes) to = unsqueezed(from, *axes);
    // A dim of one sample is no dim of size 1.
    if (node.type == "Squeeze" && to && !axes && samples_of(x).dim >= 0 && batch_ == 1)
      throw Refused{"it drops every dim of size 1, and there is one sample", "name its axes"};
  }
  if (!to) throw Refused{fmt::format("{} does not become what it asks for", to_text(draft_.shape(x))), "the sizes do not fit"};
  put(node, reshape(name_of(node), x, *to));
}

void Importer::transpose(const Node& node) {
  const auto given = node.integers("perm");
  if (is_weight(node, 0) && input(node, 0).constant.sizes.size() == 2 && (!given || *given == Sizes{1, 0})) {
    Held h = input(node, 0);
    h.transposed = !h.transposed;
    return put(node, std::move(h));
  }
  const GraphTensorRef x = tensor(node, 0);
  Transpose op;
  const int rank = static_cast<int>(sizes(x).size());
  for (int d = 0; d < rank; ++d) op.permutation.push_back(rank - 1 - d);
  if (given) op.permutation.assign(given->begin(), given->end());
  put(node, add(name_of(node), op, {x}));
}

void Importer::concat(const Node& node) {
  std::vector<GraphTensorRef> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(tensor(node, i));
  if (inputs.empty()) throw Refused{"has no inputs", ""};
  const std::size_t at = axis(node.integer("axis", 0), inputs[0]);
  for (const GraphTensorRef t : inputs) refuse_samples(t, at, "it joins");
  if (inputs.size() == 1) return put(node, inputs[0]);
  put(node, add(name_of(node), Concat{.axis = static_cast<int>(at)}, std::move(inputs)));
}

void Importer::split(const Node& node) {
  const GraphTensorRef x = tensor(node, 0);
  const std::size_t at = axis(node.integer("axis", 0), x);
  refuse_samples(x, at, "it splits");
  std::optional<Sizes> parts = node.integers("split");
  if (const Tensor* t = constant(node, 1); t != nullptr && t->integers) parts = *t->integers;
  if (!parts) {
    const auto count = static_cast<std::int64_t>(node.outputs.size());
    const std::int64_t size = sizes(x)[at], each = count == 0 ? 0 : (size + count - 1) / count;
    if (node.has_input(1) || count == 0 || each * (count - 1) >= size) throw Refused{"its parts are computed", "they must be constants"};
    parts = Sizes(static_cast<std::size_t>(count), each);
    parts->back() = size - each * (count - 1);
  }
  if (parts->size() != node.outputs.size()) throw Refused{fmt::format("{} parts for {} outputs", parts->size(), node.outputs.size()), ""};
  const auto made = add_all(name_of(node), Split{.axis = static_cast<int>(at), .sizes = *parts}, {x});
  for (std::size_t o = 0; o < made.size(); ++o) put(node, made[o], o);
}

void Importer::slice(const Node& node) {
  GraphTensorRef x = tensor(node, 0);
  std::vector<const Tensor*> known;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) known.push_back(i == 0 ? nullptr : constant(node, i));
  const auto ranges = ranges_of(node, sizes(x), known);
  if (!ranges) throw Refused{"its ranges are computed or do not fit", "they must be constants"};
  for (const Range& r : *ranges) {
    if (r.step == 1 && r.begin == 0 && r.length == sizes(x)[r.axis]) continue;
    refuse_samples(x, r.axis, "it takes a part of");
    if (r.step != 1) throw Refused{fmt::format("steps of {}", r.step), "slices go one by one here"};
    x = add(name_of(node), Slice{.axis = static_cast<int>(r.axis), .begin = r.begin, .length = r.length}, {x});
  }
  put(node, x);
}

// Rows of a table by indices: an embedding. By constants: a slice.
void Importer::gather(const Node& node) {
  const Held& index = input(node, 1);
  if (is_weight(node, 0) && index.kind == Held::Kind::tensor) {
    const Held& table = input(node, 0);
    if (table.constant.sizes.size() != 2 || table.transposed || node.integer("axis", 0) != 0)
      throw Refused{"it looks up indices in what is no table of rows", "look up rows of a weight of two dims"};
    if (draft_.shape(index.tensor).element != pcg::Element::index)
      throw Refused{"its indices are computed", "indices must come from an input"};
    return put(node, add(name_of(node), Embedding{.vocabulary = table.constant.sizes[0], .width = table.constant.sizes[1]},
                         {index.tensor, tensor(node, 0)}));
  }
  const Tensor* places = constant(node, 1);
  if (places == nullptr || !places->integers || places->integers->empty())
    throw Refused{"it picks computed values by computed indices", "look up rows of a weight of two dims, or pick by constants"};
  const GraphTensorRef x = tensor(node, 0);
  const std::size_t at = axis(node.integer("axis", 0), x);
  const std::int64_t size = sizes(x)[at], length = places->count();
  const auto place = [&](std::size_t i) { return (*places->integers)[i] < 0 ? (*places->integers)[i] + size : (*places->integers)[i]; };
  for (std::size_t i = 0; i < places->integers->size(); ++i)
    if (place(i) != place(0) + static_cast<std::int64_t>(i))
      throw Refused{"it picks by constants that do not follow each other", "slice and join instead"};
  Sizes to(sizes(x).begin(), sizes(x).begin() + static_cast<std::ptrdiff_t>(at));
  to.insert(to.end(), places->sizes.begin(), places->sizes.end());
  to.insert(to.end(), sizes(x).begin() + static_cast<std::ptrdiff_t>(at) + 1, sizes(x).end());
  GraphTensorRef y = x;
  if (length != size) {
    refuse_samples(x, at, "it takes a part of");
    y = add(name_of(node), Slice{.axis = static_cast<int>(at), .begin = place(0), .length = length}, {x});
  }
  put(node, reshape(name_of(node) + ".dims", y, to));
}

void Importer::expand(const Node& node) {
  const GraphTensorRef x = tensor(node, 0);
  const Tensor* to = constant(node, 1);
  const auto wide = to != nullptr && to->integers ? broadcast(sizes(x), *to->integers) : std::nullopt;
  if (!wide) throw Refused{"its sizes are computed from data or do not fit", "they must follow from the sizes of inputs"};
  const GraphTensorRef y = widened(name_of(node), x, *wide);
  // A class token is repeated for each sample.
  if (samples_of(y).dim < 0 && !wide->empty() && (*wide)[0] == batch_ && (sizes(x).size() < wide->size() || sizes(x)[0] == 1))
    samples_of_[y] = {.dim = 0};
  put(node, y);
}

// Zeros around an image are those of the convolution or the mean after it.
void Importer::pad(const Node& node) {
  auto pads = node.integers("pads");
  if (const Tensor* t = constant(node, 1); t != nullptr && t->integers) pads = *t->integers;
  Held h = input(node, 0);
  if (pads && std::ranges::all_of(*pads, [](std::int64_t p) { return p == 0; })) return put(node, std::move(h));
  const Node* reader = node.outputs.empty() ? nullptr : wiring_.only_reader(node.outputs[0]);
  const bool window = reader != nullptr && (reader->type == "Conv" || reader->type == "AveragePool");
  const bool zeros =
      node.text("mode", "constant") == "constant" && number(node, 2).value_or(node.real("value", 0)) == 0 && !node.has_input(3);
  const bool even = pads && pads->size() == 8 && (*pads)[2] == (*pads)[6] && (*pads)[3] == (*pads)[7] && (*pads)[2] >= 0 &&
                    (*pads)[3] >= 0 && (*pads)[0] == 0 && (*pads)[1] == 0 && (*pads)[4] == 0 && (*pads)[5] == 0;
  if (h.kind != Held::Kind::tensor || !window || !zeros || !even)
    throw Refused{"it pads", "pad images by zeros, right before a convolution or a mean, by as much on both sides"};
  h.pad_rows = (*pads)[2];
  h.pad_columns = (*pads)[3];
  put(node, std::move(h));
}

}  // namespace pcg::models::onnx
