#pragma once
// A parallel computation graph as the matcher reads it: the rule language's kind of every operator, its few attributes that rules name, and
// who reads each tensor; flat arrays, made anew after a rewrite in O(nodes + edges). Private to the matcher.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "pcg/pcg.hpp"
#include "search/substitutions/term.hpp"

namespace substitutions {

// Kind and function in one byte. Both halves of a split have the code of split0.
using Code = std::uint8_t;
inline constexpr Code kNoCode = 0xff;  // of nodes that no rule speaks of: sources, reshapes, dropout, ...
inline constexpr std::size_t kCodes = 256;
[[nodiscard]] Code code_of(Kind kind, Function function);
// A half of a split that stands alone is a slice in a graph: the first, or the last part of an axis.
inline constexpr Code kFirstPart = static_cast<Code>(static_cast<int>(Kind::split1) * 8);
inline constexpr Code kLastPart = kFirstPart + 1;

using TensorId = std::uint32_t;
inline constexpr std::size_t kMostInputs = 3;  // of an operator that has a code

// Kernel, stride and padding, rows and columns, of a convolution or a pool.
using Window = std::array<int, 6>;
[[nodiscard]] Window window_of(const pcg::Operator& op);
[[nodiscard]] Window same_window(int kernel_h, int kernel_w);  // stride 1; the output has the input's rows and columns

struct NodeFacts {
  Code code = kNoCode;
  std::uint8_t input_count = 0;
  std::array<Code, kMostInputs> producers{kNoCode, kNoCode, kNoCode};
  std::array<TensorId, kMostInputs> inputs{};
  TensorId first_output = 0;
  std::int8_t dim = -1;  // that it joins, splits, cuts or combines; of a transpose of the last two dims: the last but one
  int degree = 1;        // of a parallel operator
  std::int64_t at = 0;   // of a split or a slice: the size of the first part
  double factor = 1;     // of a scaling
  Window window{};
};

struct TensorFacts {
  std::uint32_t node = 0;
  std::int8_t output = 0;
  std::int8_t rank = 0;
  bool index = false;
  std::uint32_t first_size = 0;
  std::uint32_t first_reader = 0, readers = 0;
};

class GraphIndex {
 public:
  explicit GraphIndex(const pcg::Pcg& graph);

  [[nodiscard]] std::span<const NodeFacts> nodes() const { return nodes_; }
  [[nodiscard]] const NodeFacts& node(std::uint32_t n) const { return nodes_[n]; }
  [[nodiscard]] const TensorFacts& tensor(TensorId t) const { return tensors_[t]; }
  [[nodiscard]] std::span<const std::int64_t> sizes(TensorId t) const {
    return std::span(sizes_).subspan(tensors_[t].first_size, static_cast<std::size_t>(tensors_[t].rank));
  }
  // Nodes that read it, ascending, once for each input that is it.
  [[nodiscard]] std::span<const std::uint32_t> readers(TensorId t) const {
    return std::span(readers_).subspan(tensors_[t].first_reader, tensors_[t].readers);
  }
  // Nodes of a code, ascending.
  [[nodiscard]] std::span<const std::uint32_t> of_code(Code c) const { return by_code_[c]; }
  // All inputs of a node, also beyond kMostInputs.
  [[nodiscard]] std::span<const TensorId> inputs(std::uint32_t n) const {
    return std::span(edges_).subspan(first_edge_[n], first_edge_[n + 1] - first_edge_[n]);
  }
  [[nodiscard]] TensorId output(std::uint32_t n, int o) const { return nodes_[n].first_output + static_cast<TensorId>(o); }
  [[nodiscard]] int outputs(std::uint32_t n) const;

 private:
  std::vector<NodeFacts> nodes_;
  std::vector<TensorFacts> tensors_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::uint32_t> readers_;
  std::vector<TensorId> edges_;
  std::vector<std::uint32_t> first_edge_;  // by node, and the end
  std::array<std::vector<std::uint32_t>, kCodes> by_code_;
};

}  // namespace substitutions
