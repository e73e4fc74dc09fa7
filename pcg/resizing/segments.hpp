#pragma once
// Where concats, splits and slices cut the dims of graphs.

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "pcg/graph/graph.hpp"

namespace pcg {

// Every dim of every tensor as a run of segments, of which its size is the sum. A concat joins the runs of its inputs, a split or a slice
// takes a part of one. Dims that an operator indexes by one loop and that have one size are one dim, and so are those of inputs and weights
// of one name in several graphs: where one is cut, all are. Where the parts of a dim are given new sizes segment by segment, sums of sizes
// stay sums, whoever joins or takes apart: a + b of two merged convolutions is a + b, though another tensor has a size of its own that
// equals it.
class Segments {
 public:
  // The segments of all graphs. Cost: O((dims + concats, splits, slices and their inputs * cuts) * longest chain of them). A dim that is
  // cut in more than kMostCuts places (a tensor added to itself, shifted by one) is not cut further.
  explicit Segments(std::span<const Graph> graphs);

  // Returns the ascending offsets inside a dim at which graph number `graph` is cut.
  [[nodiscard]] const std::set<std::int64_t>& cuts(std::size_t graph, GraphTensorRef tensor, std::size_t dim) const;
  // Returns the sizes of a dim's segments, in order.
  [[nodiscard]] std::vector<std::int64_t> of(std::size_t graph, GraphTensorRef tensor, std::size_t dim) const;

  static constexpr std::size_t kMostCuts = 256;

 private:
  struct Part {  // dim `part` is dim `whole` from `begin` on
    std::size_t part = 0, whole = 0;
    std::int64_t begin = 0;
  };
  void number(const Graph& graph);
  void join_sources(std::span<const Graph> graphs);
  void join_loops(std::size_t graph, const GraphNode& node, std::size_t n);
  void add_parts(const Graph& graph, std::size_t g, std::size_t n);
  bool spread(const Part& p);
  bool cut(std::size_t dim, std::int64_t at);
  [[nodiscard]] std::size_t index(std::size_t graph, GraphTensorRef tensor, std::size_t dim) const;
  [[nodiscard]] std::size_t root(std::size_t dim) const;

  std::vector<std::vector<std::vector<std::size_t>>> first_;  // by graph, node, output: the number of dim 0
  std::vector<std::int64_t> sizes_;                           // of each dim
  mutable std::vector<std::size_t> parent_;                   // of a dim, towards the representative of all that are the same
  std::vector<std::set<std::int64_t>> cuts_;                  // of the representatives
  std::vector<Part> parts_;
};

}  // namespace pcg
