#pragma once
// Plain (not parallel) tensors of a computation graph: sizes and what an element is. Precision is not part of a graph:
// the training configuration sets it, so that one graph serves every precision.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace pcg {

enum class Element { real, index };  // a number of the training precision; a token or label (8 bytes)

// How reals are stored and multiplied. tf32 stores 4 bytes and multiplies on tensor cores; fp8 stores 2 bytes
// (activations stay bf16) and multiplies at the FP8 rate.
enum class Precision { fp32, tf32, fp16, bf16, fp8 };

struct TensorShape {
  std::vector<std::int64_t> sizes;  // outermost first; a sample dimension, where there is one, comes first
  Element element = Element::real;

  [[nodiscard]] std::int64_t elements() const;  // product of sizes, 1 for a scalar
  bool operator==(const TensorShape&) const = default;
};

[[nodiscard]] std::string to_text(const TensorShape& s);  // "[4, 512, 1024]", "[4, 512] index"
[[nodiscard]] std::string_view to_text(Precision p);
[[nodiscard]] base::Bytes element_bytes(Element e, Precision p);
[[nodiscard]] base::Bytes bytes_of(const TensorShape& s, Precision p);

}  // namespace pcg
