#pragma once
// Rows and columns of images, which shrink little: kernels and strides must still fit.

#include <cstdint>
#include <set>

#include "base/random.hpp"
#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"

namespace pcg {

class ImageSizes {
 public:
  // Of the graph's inputs of four dims. `pcg`: whose degrees must go into rows and columns, or nullptr.
  ImageSizes(const Graph& graph, const Pcg* pcg);
  [[nodiscard]] bool contains(std::int64_t size) const { return sizes_.contains(size); }
  // Returns a new size, never larger than the old one, which it is when nothing else may do. Where rows or columns are cut it
  // differs from the old one by a multiple of all strides behind each other times the degrees: then each convolution and pool makes as many
  // rows less as the degrees go into.
  [[nodiscard]] std::int64_t draw(std::int64_t size, bool last_resort, base::Random& random) const;

 private:
  std::set<std::int64_t> sizes_;
  std::int64_t step_ = 0;  // 0: no row or column is cut
};

}  // namespace pcg
