// Matrix products through cuBLASLt, stored as PyTorch stores them: rows one after the other, a linear layer's weight as [out, in].
#include <algorithm>

#include "tools/collector/cuda/bench.cuh"
#include "tools/collector/cuda/kernels.cuh"

namespace collector {
namespace {

void check_blas(cublasStatus_t status, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string what = std::string(file) + ":" + std::to_string(line) + ": " + cublasLtGetStatusString(status);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) throw NotSupported(what);
  throw GpuError(what);
}

// C[m, n] = A B in rows; a_turned: A is stored [k, m]; b_turned: B is stored [n, k].
struct Stored {
  std::int64_t batch, m, n, k;
  bool a_turned, b_turned;
};
// work_of names the sizes as pcg/work does. Of the gradient of the weights that is [in, out]; what is computed is [out, in].
Stored stored(const Case& c) {
  const Work w = work_of(c);
  switch (c.operation) {
    case Operation::linear_forward:
    case Operation::attention_scores: return {w.batch, w.m, w.n, w.k, false, true};
    case Operation::linear_weight_gradient: return {w.batch, w.n, w.m, w.k, true, false};
    default: return {w.batch, w.m, w.n, w.k, false, false};
  }
}

struct Types {
  cudaDataType_t in, out;
  cublasComputeType_t compute;
};
Types types_of(Precision p) {
  switch (p) {
    case Precision::fp32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case Precision::tf32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case Precision::fp16: return {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F};
    case Precision::bf16: return {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case Precision::fp8: return {CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F};
  }
  throw NotSupported("no such precision");
}
std::size_t size_of(cudaDataType_t t) { return t == CUDA_R_32F ? 4 : t == CUDA_R_8F_E4M3 ? 1 : 2; }

// The library counts columns first: our rows are its columns, so it computes C' = B' A'. Owns the descriptors.
class Product {
 public:
  Product(cublasLtHandle_t blas, const DeviceMemory& workspace, Stored s, Precision p) : blas_(blas), workspace_(workspace) {
    const Types t = types_of(p);
    if (p == Precision::fp8) s.a_turned = false, s.b_turned = true;  // the one form that Hopper has for fp8
    const std::size_t in = size_of(t.in);
    a_bytes_ = aligned(static_cast<double>(in) * s.batch * s.m * s.k);
    b_bytes_ = aligned(static_cast<double>(in) * s.batch * s.k * s.n);
    footprint_ = static_cast<double>(a_bytes_ + b_bytes_ + aligned(static_cast<double>(size_of(t.out)) * s.batch * s.m * s.n));
    try {
      check_blas(cublasLtMatmulDescCreate(&operation_, t.compute, CUDA_R_32F));
      set_turned(CUBLASLT_MATMUL_DESC_TRANSA, s.b_turned);
      set_turned(CUBLASLT_MATMUL_DESC_TRANSB, s.a_turned);
      const std::int8_t fast = 1;  // as frameworks' fp8 layers run forward
      if (p == Precision::fp8) check_blas(cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast));
      b_ = s.b_turned ? matrix(t.in, s.k, s.n, s.batch) : matrix(t.in, s.n, s.k, s.batch);
      a_ = s.a_turned ? matrix(t.in, s.m, s.k, s.batch) : matrix(t.in, s.k, s.m, s.batch);
      c_ = matrix(t.out, s.n, s.m, s.batch);
      choose(s, in, size_of(t.out));
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~Product() { destroy(); }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  [[nodiscard]] double footprint() const { return footprint_; }
  void run(char* slot, cudaStream_t s) const {
    const float one = 1, zero = 0;
    char* const c = slot + a_bytes_ + b_bytes_;
    check_blas(cublasLtMatmul(blas_, operation_, &one, slot + a_bytes_, b_, slot, a_, &zero, c, c_, c, c_, &chosen_.algo, workspace_.data(),
                              chosen_.workspaceSize, s));
  }

 private:
  void set_turned(cublasLtMatmulDescAttributes_t which, bool turned) {
    const cublasOperation_t value = turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    check_blas(cublasLtMatmulDescSetAttribute(operation_, which, &value, sizeof value));
  }
  // `rows` are contiguous.
  static cublasLtMatrixLayout_t matrix(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t batch) {
    cublasLtMatrixLayout_t layout = nullptr;
    check_blas(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows));
    const auto count = static_cast<std::int32_t>(batch);
    const std::int64_t stride = rows * columns;
    check_blas(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    check_blas(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
    return layout;
  }
  // The library's own choice, as frameworks take it, with up to 32 MiB of workspace (what PyTorch gives it on Hopper).
  void choose(const Stored& s, std::size_t in, std::size_t out) {
    cublasLtMatmulPreference_t wish = nullptr;
    check_blas(cublasLtMatmulPreferenceCreate(&wish));
    const std::size_t room = std::min<std::size_t>(workspace_.bytes(), std::size_t{32} << 20);
    cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room);
    set_alignment(wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, s.batch, in * s.k * s.n);
    set_alignment(wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, s.batch, in * s.m * s.k);
    set_alignment(wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, s.batch, out * s.m * s.n);
    set_alignment(wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, s.batch, out * s.m * s.n);
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(blas_, operation_, b_, a_, c_, c_, wish, 1, &chosen_, &found);
    cublasLtMatmulPreferenceDestroy(wish);
    check_blas(status);
    if (found == 0) throw NotSupported("cuBLASLt has no algorithm");
  }
  // Matrices after the first of a batch start where the one before ends.
  static void set_alignment(cublasLtMatmulPreference_t wish, cublasLtMatmulPreferenceAttributes_t which, std::int64_t batch,
                            std::size_t stride_bytes) {
    std::uint32_t bytes = 256;
    while (batch > 1 && stride_bytes % bytes != 0) bytes /= 2;
    cublasLtMatmulPreferenceSetAttribute(wish, which, &bytes, sizeof bytes);
  }
  void destroy() {
    for (cublasLtMatrixLayout_t layout : {a_, b_, c_})
      if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
    if (operation_ != nullptr) cublasLtMatmulDescDestroy(operation_);
  }

  cublasLtHandle_t blas_;
  const DeviceMemory& workspace_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_{};
  std::size_t a_bytes_ = 0, b_bytes_ = 0;
  double footprint_ = 0;
};

}  // namespace

Launch product_launch(const Bench& b, const Case& c) {
  const auto product = std::make_shared<Product>(b.blas(), b.workspace(), stored(c), c.precision);
  return {[product](char* slot, cudaStream_t s) { product->run(slot, s); }, product->footprint()};
}

}  // namespace collector
