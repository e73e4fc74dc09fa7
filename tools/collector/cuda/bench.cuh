#pragma once
// What every measurement uses: the GPU's memory, handles, and how one launch is timed.

#include <cublasLt.h>

#include <functional>
#include <memory>

#include "tools/collector/case.hpp"
#include "tools/collector/cuda/gpu.cuh"
#include "tools/collector/device.hpp"
#include "tools/collector/statistics.hpp"

namespace collector {

// Throws: GpuError.
[[nodiscard]] Device device_facts(int index);

// One launch of a case, with its operands at `slot`, 256-B aligned, `footprint` long. Enqueues only.
struct Launch {
  std::function<void(char* slot, cudaStream_t s)> run;
  double footprint = 0;
};

class Bench {
 public:
  Bench(const Device& d, bool cold);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  [[nodiscard]] cublasLtHandle_t blas() const { return blas_; }
  [[nodiscard]] const DeviceMemory& workspace() const { return workspace_; }
  [[nodiscard]] std::int64_t* indices() const { return reinterpret_cast<std::int64_t*>(indices_.data()); }
  // Operands for one launch, filled with random numbers.
  [[nodiscard]] char* operands(double footprint, Precision p);

  // Time of one launch: two warm-ups, then samples of several launches in a row inside a graph, the first sample dropped. Cold: each
  // launch of a sample has operands of its own, as far as memory goes, and L2 holds something else when the sample starts.
  // Throws: GpuError, NotSupported from the launch.
  [[nodiscard]] Summary time(const Launch& launch, Precision p);

 private:
  [[nodiscard]] double one_launch(const std::function<void(int)>& run);
  void prepare_sample();

  Device device_;
  bool cold_;
  Stream stream_;
  Event before_, after_;
  DeviceMemory arena_, flush_, workspace_, indices_;
  cublasLtHandle_t blas_ = nullptr;
};

inline constexpr std::size_t kMostIndices = 1 << 20;

// Throws: NotSupported when the libraries have nothing for it. The case's descriptors live as long as the launch.
[[nodiscard]] Launch product_launch(const Bench& b, const Case& c);  // cuBLASLt
[[nodiscard]] Launch rows_launch(const Bench& b, const Case& c);     // own kernels
[[nodiscard]] Launch case_launch(const Bench& b, const Case& c);     // any of them, and convolutions where cuDNN is there

}  // namespace collector
