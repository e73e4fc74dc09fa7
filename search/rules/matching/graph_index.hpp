#pragma once
// An index of a parallel computation graph for the matcher: the rule language's kind of every operator, the few attributes that rules name,
// and the readers of each tensor; flat arrays. Private to the matcher.
// Cost: O(nodes + edges), and O(inputs^2) for a concat of many inputs; 20 ns a node.

#include <array>
#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

#include "pcg/graph/pcg.hpp"
#include "search/rules/language/term.hpp"

namespace rules {

// Kind and function in one number. Both halves of a split have the code of split0.
using Code = std::uint16_t;
inline constexpr Code kNoCode = 0xffff;  // of nodes that no rule speaks of: sources, reshapes, losses, ...
inline constexpr std::size_t kCodes = static_cast<std::size_t>(kKinds) * kFunctions;
[[nodiscard]] Code code_of(Kind kind, Function function);
// A half of a split without the other is a slice in a graph: the first, or the last part of an axis.
inline constexpr Code kFirstPart = static_cast<Code>(static_cast<int>(Kind::split1) * kFunctions);
inline constexpr Code kLastPart = kFirstPart + 1;

using TensorId = std::uint32_t;

// Kernel, stride and padding, rows and columns, of a convolution or a pool.
struct Window {
  pcg::Window rows, columns;
  bool operator==(const Window&) const = default;
};
[[nodiscard]] Window same_window(int kernel_h, int kernel_w);       // stride 1; the output has the input's rows and columns
[[nodiscard]] std::vector<int> last_two_swapped(std::size_t rank);  // a transpose's permutation; requires: rank is at least 2

struct NodeFacts {
  Code code = kNoCode;
  std::uint32_t input_count = 0;
  std::uint32_t first_view = 0;  // of a concat of more than two tensors, whose inputs are not here
  std::array<TensorId, kMostInputs> inputs{};
  TensorId first_output = 0;
  std::int8_t dim = -1;         // that it joins, splits, sums away, cuts or combines; of a transpose of the last two dims: the last but one
  int degree = 1;               // of a parallel operator
  std::int64_t at = 0;          // of a split or a slice: the size of the first part
  double factor = 1;            // of a scaling
  std::uint32_t attention = 0;  // which of GraphIndex::attention
  Window window{};
};

// A concat of more than two tensors as one of two: of its inputs [begin, cut) and [cut, end), which are all of them, cut anywhere, or two
// neighbours. A part of several inputs is a tensor that no node of the graph makes.
struct ConcatView {
  std::uint32_t concat = 0;
  std::uint32_t begin = 0, cut = 0, end = 0;
};

struct TensorFacts {
  std::uint32_t node = 0;
  std::int32_t output = 0;  // -1: a part of the concat `node`
  std::int8_t rank = 0;
  bool index = false;
  std::uint32_t first_size = 0;
  std::uint32_t first_reader = 0, readers = 0;
};

class GraphIndex {
 public:
  explicit GraphIndex(const pcg::Pcg& graph);

  // Numbers beyond the nodes of the graph are views of its concats.
  [[nodiscard]] const NodeFacts& node(std::uint32_t n) const { return nodes_[n]; }
  [[nodiscard]] const TensorFacts& tensor(TensorId t) const { return tensors_[t]; }
  [[nodiscard]] std::span<const std::int64_t> sizes(TensorId t) const {
    return std::span(sizes_).subspan(tensors_[t].first_size, static_cast<std::size_t>(tensors_[t].rank));
  }
  // Returns: the nodes that read a tensor, ascending, once for each input that is this tensor.
  [[nodiscard]] std::span<const std::uint32_t> readers(TensorId t) const {
    return std::span(readers_).subspan(tensors_[t].first_reader, tensors_[t].readers);
  }
  // Returns: the attributes of attentions, equal ones once.
  [[nodiscard]] const pcg::Attention& attention(std::uint32_t which) const { return attentions_[which]; }
  // Returns: the nodes of a code, ascending; in the place of a concat of more than two tensors, its views.
  [[nodiscard]] std::span<const std::uint32_t> of_code(Code c) const { return by_code_[c]; }
  // Returns: the views of a concat of more than two tensors, as node numbers. Other nodes have none.
  [[nodiscard]] auto views_of(std::uint32_t n) const {
    const NodeFacts& f = nodes_[n];
    const std::uint32_t count = f.first_view == 0 ? 0 : 2 * (f.input_count - 1);  // cuts, and neighbours
    return std::views::iota(f.first_view, f.first_view + count);
  }
  [[nodiscard]] const ConcatView* view(std::uint32_t n) const { return n < size_ ? nullptr : &views_[n - size_]; }
  [[nodiscard]] std::uint32_t node_of_graph(std::uint32_t n) const { return n < size_ ? n : views_[n - size_].concat; }
  // Returns: all inputs of a node of the graph, also beyond kMostInputs.
  [[nodiscard]] std::span<const TensorId> inputs(std::uint32_t n) const {
    return std::span(edges_).subspan(first_edge_[n], first_edge_[n + 1] - first_edge_[n]);
  }
  [[nodiscard]] TensorId output(std::uint32_t n, int o) const { return nodes_[n].first_output + static_cast<TensorId>(o); }

 private:
  [[nodiscard]] std::uint32_t size_with_views() const { return static_cast<std::uint32_t>(nodes_.size()); }
  void add_views(std::uint32_t concat);
  void add_view(const ConcatView& v, TensorId output);
  TensorId add_part(std::uint32_t concat, std::uint32_t begin, std::uint32_t end);

  std::uint32_t size_ = 0;  // nodes of the graph
  std::vector<NodeFacts> nodes_;
  std::vector<TensorFacts> tensors_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::uint32_t> readers_;
  std::vector<TensorId> edges_;
  std::vector<std::uint32_t> first_edge_;  // by node of the graph, and the end
  std::vector<ConcatView> views_;
  std::vector<pcg::Attention> attentions_;
  std::array<std::vector<std::uint32_t>, kCodes> by_code_;
};

}  // namespace rules
