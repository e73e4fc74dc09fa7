// Pools, means and norms.

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <climits>

#include "pcg/models/onnx/importer.hpp"

namespace pcg::models::onnx {

// The windows of a convolution or a pool over x [n, c, h, w].
Importer::Windows Importer::windows(const Node& node, const Sizes& x, const Sizes& kernel) {
  const auto given = [&](const char* key, Sizes otherwise) {
    const auto found = node.integers(key);
    if (!found) return otherwise;
    if (found->size() != otherwise.size()) throw Refused{fmt::format("{} are [{}]", key, fmt::join(*found, ", ")), "the sizes do not fit"};
    return *found;
  };
  const Sizes strides = given("strides", {1, 1}), dilations = given("dilations", {1, 1});
  Sizes pads = given("pads", {0, 0, 0, 0});
  for (const std::int64_t p : pads)
    if (p < 0 || p > INT_MAX / 4) throw Refused{fmt::format("pads of {}", p), ""};
  if (dilations != Sizes{1, 1})
    throw Refused{fmt::format("dilations of {} x {}", dilations[0], dilations[1]), "there are no dilated windows here"};
  for (const Sizes* list : {&strides, &kernel})
    for (const std::int64_t v : *list)
      if (v < 1 || v > INT_MAX)
        throw Refused{fmt::format("a window of {} with steps of {}", fmt::join(kernel, " x "), fmt::join(strides, " x ")), ""};
  const Held& image = input(node, 0);
  for (const std::size_t side : {std::size_t{0}, std::size_t{2}}) {
    pads[side] += std::min<std::int64_t>(image.pad_rows, INT_MAX);
    pads[side + 1] += std::min<std::int64_t>(image.pad_columns, INT_MAX);
  }
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "VALID") pads = {0, 0, 0, 0};
  if (automatic.starts_with("SAME"))
    for (std::size_t d = 0; d < 2; ++d) {
      const std::int64_t out = (x[2 + d] + strides[d] - 1) / strides[d],
                         both = std::max<std::int64_t>(0, (out - 1) * strides[d] + kernel[d] - x[2 + d]);
      pads[d] = both / 2;
      pads[2 + d] = both - both / 2;
    }
  if (node.integer("ceil_mode", 0) != 0)
    for (std::size_t d = 0; d < 2; ++d)
      if ((x[2 + d] + pads[d] + pads[2 + d] - kernel[d]) % strides[d] != 0)
        throw Refused{"ceil_mode, where the last window does not fit", "pad the input, or leave ceil_mode out"};
  if (automatic != "NOTSET" && (image.pad_rows != 0 || image.pad_columns != 0)) throw Refused{"auto_pad after a Pad", "write its pads"};
  // Padding is the same on both sides here: where it is not, as much that there are as many windows.
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t before = pads[d], both = before + pads[2 + d];
    if (before < 0 || both < before || both > INT_MAX / 4)
      throw Refused{fmt::format("pads of {} before and {} after", before, pads[2 + d]), ""};
    const auto count = [&](std::int64_t all) { return x[2 + d] + all < kernel[d] ? -1 : (x[2 + d] + all - kernel[d]) / strides[d]; };
    pads[d] = count(both / 2 * 2) == count(both) ? both / 2 : both / 2 + 1;
    if (count(2 * pads[d]) != count(both))
      throw Refused{fmt::format("pads of {} before and {} after", before, both - before), "pads are the same on both sides here"};
    if (before != both - before) note("windows padded by more on one side are as many here, padded alike on both");
  }
  const auto window = [&](std::size_t d) {
    return Window{.kernel = static_cast<int>(kernel[d]), .stride = static_cast<int>(strides[d]), .padding = static_cast<int>(pads[d])};
  };
  return {window(0), window(1)};
}

void Importer::pool(const Node& node, Pool2d::Kind kind) {
  const GraphTensorRef x = tensor(node, 0);
  const auto kernel = node.integers("kernel_shape");
  if (sizes(x).size() != 4 || !kernel || kernel->size() != 2)
    throw Refused{fmt::format("it pools {}", to_text(draft_.shape(x))), "pools have two dims of space here"};
  if (node.outputs.size() > 1 && !node.outputs[1].empty() && !wiring_.readers(node.outputs[1]).empty())
    throw Refused{"its second output, the places of maxima, is read", "leave it out"};
  const Windows found = windows(node, sizes(x), *kernel);
  const bool whole = (*kernel)[0] == sizes(x)[2] && (*kernel)[1] == sizes(x)[3] && found.rows.padding == 0 && found.columns.padding == 0;
  if (whole) return global_pool(node, kind);
  put(node, add(name_of(node), Pool2d{.kind = kind, .rows = found.rows, .columns = found.columns}, {x}));
}

void Importer::global_pool(const Node& node, Pool2d::Kind kind) {
  put(node, add(name_of(node), Pool2d{.kind = kind, .rows = {.kernel = 0}, .columns = {.kernel = 0}}, {tensor(node, 0)}));
}

void Importer::reduce(const Node& node, Reduction::Kind kind) {
  GraphTensorRef x = tensor(node, 0);
  const Sizes from = sizes(x);
  const auto given = axes_of(node, constant(node, 1));
  if (!given) throw Refused{"it goes over all dims, or over computed ones", "name its axes"};
  std::vector<std::size_t> axes;
  for (const std::int64_t a : *given) axes.push_back(axis(a, x));
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) throw Refused{"it names an axis twice", ""};
  for (const std::size_t a : axes) refuse_samples(x, a, "it adds up");
  Sizes kept = from;
  for (const std::size_t a : axes) kept[a] = 1;
  const bool keeps = node.integer("keepdims", 1) != 0;
  const std::string name = name_of(node);
  if (kind == Reduction::Kind::mean && from.size() == 4 && axes == std::vector<std::size_t>{2, 3}) {
    x = add(name, Pool2d{.kind = Pool2d::Kind::average, .rows = {.kernel = 0}, .columns = {.kernel = 0}}, {x});
    return put(node, keeps ? x : reshape(name + ".dims", x, {from[0], from[1]}));
  }
  for (auto a = axes.rbegin(); a != axes.rend(); ++a) x = add(name, Reduction{.kind = kind, .axis = static_cast<int>(*a)}, {x});
  put(node, keeps ? reshape(name + ".dims", x, kept) : x);
}

void Importer::batch_norm(const Node& node) {
  const GraphTensorRef x = tensor(node, 0);
  if (sizes(x).size() != 4)
    throw Refused{fmt::format("it normalises {}", to_text(draft_.shape(x))),
                  "batch norms have two dims of space here: give others a dim of 1"};
  put(node, add(name_of(node), BatchNorm{}, {x, tensor(node, 1), tensor(node, 2)}));
}

void Importer::norm(const Node& node, bool rms) {
  const GraphTensorRef x = tensor(node, 0);
  if (axis(node.integer("axis", -1), x) + 1 != sizes(x).size())
    throw Refused{"it goes over several dims", "norms go over the last dim here"};
  if (!node.has_input(1) || (!rms && !node.has_input(2))) throw Refused{"it has no gain or no bias", "export it with both"};
  if (node.outputs.size() > 1 &&
      std::any_of(node.outputs.begin() + 1, node.outputs.end(), [&](const std::string& o) { return !wiring_.readers(o).empty(); }))
    throw Refused{"its mean or deviation is read", "leave it out"};
  std::vector<GraphTensorRef> inputs = {x, tensor(node, 1)};
  if (!rms) inputs.push_back(tensor(node, 2));
  put(node, add(name_of(node), LayerNorm{.rms = rms}, std::move(inputs)));
}

}  // namespace pcg::models::onnx
