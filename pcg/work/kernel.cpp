#include "pcg/work/kernel.hpp"

#include "base/check.hpp"

namespace pcg {

std::string_view to_text(KernelKind k) {
  switch (k) {
    case KernelKind::matmul: return "matmul";
    case KernelKind::convolution: return "convolution";
    case KernelKind::attention: return "attention";
    case KernelKind::attention_gradient: return "attention_gradient";
    case KernelKind::scan: return "scan";
    case KernelKind::scan_gradient: return "scan_gradient";
    case KernelKind::softmax: return "softmax";
    case KernelKind::norm: return "norm";
    case KernelKind::elementwise: return "elementwise";
    case KernelKind::embedding: return "embedding";
    case KernelKind::pooling: return "pooling";
    case KernelKind::reduction: return "reduction";
    case KernelKind::copy: return "copy";
    case KernelKind::permutation: return "permutation";
    case KernelKind::strided: return "strided";
    case KernelKind::loss: return "loss";
    case KernelKind::optimizer: return "optimizer";
  }
  BASE_CHECK(false, "kernel kind {}", static_cast<int>(k));
}

}  // namespace pcg
