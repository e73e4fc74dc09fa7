#include "pcg/operators/tensor.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>

#include "base/check.hpp"

namespace pcg {

std::int64_t TensorShape::elements() const { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()); }

std::string to_text(const TensorShape& s) {
  return fmt::format("[{}]{}", fmt::join(s.sizes, ", "), s.element == Element::index ? " index" : "");
}

std::string_view to_text(Precision p) {
  switch (p) {
    case Precision::fp32: return "fp32";
    case Precision::tf32: return "tf32";
    case Precision::fp16: return "fp16";
    case Precision::bf16: return "bf16";
    case Precision::fp8: return "fp8";
    case Precision::mxfp8: return "mxfp8";
    case Precision::nvfp4: return "nvfp4";
  }
  BASE_CHECK(false, "precision {}", static_cast<int>(p));
}

base::Bytes element_bytes(Element e, Precision p) {
  if (e == Element::index) return base::Bytes(8);
  return base::Bytes(p == Precision::fp32 || p == Precision::tf32 ? 4 : 2);
}

base::Bytes bytes_of(const TensorShape& s, Precision p) { return element_bytes(s.element, p) * static_cast<double>(s.elements()); }

}  // namespace pcg
