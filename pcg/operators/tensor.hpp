#pragma once
// Plain (not parallel) tensors of a computation graph: sizes and what an element is. Precision is not part of a graph:
// the training configuration sets it, so that one graph serves every precision.

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/attempt.hpp"
#include "base/units.hpp"

namespace pcg {

enum class Element { real, index };  // a number of the training precision; a token or label (8 bytes)

// How reals are stored and multiplied. tf32 stores 4 bytes and multiplies on tensor cores. The last three are bf16 outside of linear
// layers, and multiply what is cast for these: fp8 with scales of a recipe (pcg/plan/low_precision.hpp), mxfp8 with a scale for 32 numbers,
// nvfp4 in 4 bits with a scale for 16.
enum class Precision { fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4 };
constexpr auto words(Precision) { return std::to_array<std::string_view>({"fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"}); }
[[nodiscard]] constexpr std::string_view to_text(Precision p) { return words(p)[static_cast<std::size_t>(p)]; }
// Linear layers cast what they multiply, and all else is in bf16.
[[nodiscard]] constexpr bool casts_products(Precision p) { return p >= Precision::fp8; }
// Whether activations have two bytes.
[[nodiscard]] constexpr bool is_half(Precision p) { return p == Precision::fp16 || p == Precision::bf16 || casts_products(p); }

struct TensorShape {
  std::vector<std::int64_t> sizes;  // outermost first; a sample dimension, where there is one, comes first
  Element element = Element::real;

  [[nodiscard]] std::int64_t elements() const;  // product of sizes, 1 for a scalar
  bool operator==(const TensorShape&) const = default;
};
[[nodiscard]] inline TensorShape real(std::vector<std::int64_t> sizes) { return {.sizes = std::move(sizes), .element = Element::real}; }
[[nodiscard]] inline TensorShape index(std::vector<std::int64_t> sizes) { return {.sizes = std::move(sizes), .element = Element::index}; }

// The axis that `axis` means: counted from the end where it is negative. Requires: -rank <= axis < rank.
[[nodiscard]] constexpr std::size_t resolve_axis(int axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(rank) : axis);
}

[[nodiscard]] std::string to_text(const TensorShape& s);  // "[4, 512, 1024]", "[4, 512] index"
[[nodiscard]] base::Bytes element_bytes(Element e, Precision p);
[[nodiscard]] base::Bytes bytes_of(const TensorShape& s, Precision p);

// Thrown, in place of a refusal that is returned, by functions whose callers expect the shapes to fit.
struct ShapeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Returns the value. Throws: ShapeError with the text of the refusal.
template <class T>
[[nodiscard]] T accepted(base::Attempt<T> attempt) {
  if (!attempt) throw ShapeError(attempt.refusal().why);
  return *std::move(attempt);
}

}  // namespace pcg
