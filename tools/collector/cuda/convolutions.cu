// Convolutions through cuDNN: the algorithm that its heuristic names first and that fits the workspace, as frameworks take it without
// trying all. Half precision in NHWC, fp32 and tf32 in NCHW. Without cuDNN's headers every convolution is left out.
#include "tools/collector/cuda/convolutions.cuh"

#ifdef FORESHARD_CUDNN
#include <cudnn.h>

#include "tools/collector/cuda/kernels.cuh"
#endif

namespace collector {

#ifndef FORESHARD_CUDNN

std::string cudnn_version() { return ""; }
Launch convolution_launch(const Bench&, const Case&) { throw NotSupported("built without cuDNN"); }

#else
namespace {

void check_dnn(cudnnStatus_t status, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string what = std::string(file) + ":" + std::to_string(line) + ": " + cudnnGetErrorString(status);
  // 3xxx: not supported, 2xxx: bad parameter (a combination that cuDNN does not have); older versions number them 9 and 3.
  const int code = static_cast<int>(status);
  if (status == CUDNN_STATUS_NOT_SUPPORTED || code / 1000 == 3 || status == CUDNN_STATUS_BAD_PARAM || code / 1000 == 2)
    throw NotSupported(what);
  throw GpuError(what);
}

// cuDNN's handle for the process: it is costly to make, and has no state that a case could spoil.
cudnnHandle_t handle() {
  static const struct Owner {
    Owner() { check_dnn(cudnnCreate(&it)); }
    ~Owner() { cudnnDestroy(it); }
    cudnnHandle_t it = nullptr;
  } owner;
  return owner.it;
}

template <class T, cudnnStatus_t (*create)(T*), cudnnStatus_t (*destroy)(T)>
class Descriptor {
 public:
  Descriptor() { check_dnn(create(&it_)); }
  ~Descriptor() { destroy(it_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] T get() const { return it_; }

 private:
  T it_ = nullptr;
};
using Tensor = Descriptor<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using Filter = Descriptor<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using Sweep = Descriptor<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor>;

class Convolution {
 public:
  Convolution(const Case& c, const DeviceMemory& workspace) : operation_(c.operation), workspace_(workspace) {
    const auto s = std::get<ConvolutionShape>(c.shape);
    const bool half = c.precision == Precision::fp16 || c.precision == Precision::bf16;
    const cudnnTensorFormat_t format = half ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    const cudnnDataType_t type = c.precision == Precision::fp16   ? CUDNN_DATA_HALF
                                 : c.precision == Precision::bf16 ? CUDNN_DATA_BFLOAT16
                                                                  : CUDNN_DATA_FLOAT;
    const auto whole = [](std::int64_t n) { return static_cast<int>(n); };
    check_dnn(cudnnSetTensor4dDescriptor(x_.get(), format, type, whole(s.samples), whole(s.channels), whole(s.height), whole(s.width)));
    check_dnn(
        cudnnSetTensor4dDescriptor(y_.get(), format, type, whole(s.samples), whole(s.out), whole(s.out_height()), whole(s.out_width())));
    check_dnn(cudnnSetFilter4dDescriptor(w_.get(), type, format, whole(s.out), whole(s.channels / s.groups), s.kernel_h, s.kernel_w));
    check_dnn(cudnnSetConvolution2dDescriptor(sweep_.get(), s.pad_h, s.pad_w, s.stride, s.stride, 1, 1, CUDNN_CROSS_CORRELATION,
                                              CUDNN_DATA_FLOAT));
    check_dnn(cudnnSetConvolutionGroupCount(sweep_.get(), s.groups));
    check_dnn(cudnnSetConvolutionMathType(sweep_.get(), c.precision == Precision::fp32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH));
    const double each = element_bytes(c.precision);
    x_bytes_ = aligned(each * s.samples * s.channels * s.height * s.width);
    w_bytes_ = aligned(each * s.out * (s.channels / s.groups) * s.kernel_h * s.kernel_w);
    footprint_ = static_cast<double>(x_bytes_ + w_bytes_ + aligned(each * s.samples * s.out * s.out_height() * s.out_width()));
    choose();
  }

  [[nodiscard]] double footprint() const { return footprint_; }
  void run(char* slot, cudaStream_t s) const {
    const float one = 1, zero = 0;
    char *const x = slot, *const w = slot + x_bytes_, *const y = w + w_bytes_;
    check_dnn(cudnnSetStream(handle(), s));
    if (operation_ == Operation::convolution_forward)
      check_dnn(cudnnConvolutionForward(handle(), &one, x_.get(), x, w_.get(), w, sweep_.get(), forward_, workspace_.data(), room_, &zero,
                                        y_.get(), y));
    else if (operation_ == Operation::convolution_input_gradient)
      check_dnn(cudnnConvolutionBackwardData(handle(), &one, w_.get(), w, y_.get(), y, sweep_.get(), data_, workspace_.data(), room_, &zero,
                                             x_.get(), x));
    else
      check_dnn(cudnnConvolutionBackwardFilter(handle(), &one, x_.get(), x, y_.get(), y, sweep_.get(), filter_, workspace_.data(), room_,
                                               &zero, w_.get(), w));
  }

 private:
  template <class Found>
  const Found& first_that_fits(const Found* found, int count) {
    for (int i = 0; i < count; ++i)
      if (found[i].status == CUDNN_STATUS_SUCCESS && found[i].memory <= workspace_.bytes()) {
        check_dnn(cudnnSetConvolutionMathType(sweep_.get(), found[i].mathType));
        room_ = found[i].memory;
        return found[i];
      }
    throw NotSupported("cuDNN has no algorithm");
  }
  void choose() {
    int count = 0;
    if (operation_ == Operation::convolution_forward) {
      cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
      check_dnn(cudnnGetConvolutionForwardAlgorithm_v7(handle(), x_.get(), w_.get(), sweep_.get(), y_.get(),
                                                       CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &count, found));
      forward_ = first_that_fits(found, count).algo;
    } else if (operation_ == Operation::convolution_input_gradient) {
      cudnnConvolutionBwdDataAlgoPerf_t found[CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT];
      check_dnn(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle(), w_.get(), y_.get(), sweep_.get(), x_.get(),
                                                            CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, &count, found));
      data_ = first_that_fits(found, count).algo;
    } else {
      cudnnConvolutionBwdFilterAlgoPerf_t found[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT];
      check_dnn(cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle(), x_.get(), y_.get(), sweep_.get(), w_.get(),
                                                              CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, &count, found));
      filter_ = first_that_fits(found, count).algo;
    }
  }

  Operation operation_;
  const DeviceMemory& workspace_;
  Tensor x_, y_;
  Filter w_;
  Sweep sweep_;
  std::size_t x_bytes_ = 0, w_bytes_ = 0, room_ = 0;
  double footprint_ = 0;
  cudnnConvolutionFwdAlgo_t forward_{};
  cudnnConvolutionBwdDataAlgo_t data_{};
  cudnnConvolutionBwdFilterAlgo_t filter_{};
};

}  // namespace

std::string cudnn_version() {
  const std::size_t v = cudnnGetVersion();  // 91900: 9.19.0; before 9: 8907 is 8.9.7
  const std::size_t major = v >= 90000 ? v / 10000 : v / 1000, minor = v >= 90000 ? v / 100 % 100 : v / 100 % 10;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(v % 100);
}

Launch convolution_launch(const Bench& b, const Case& c) {
  const auto convolution = std::make_shared<Convolution>(c, b.workspace());
  return {[convolution](char* slot, cudaStream_t s) { convolution->run(slot, s); }, convolution->footprint()};
}

#endif

Launch case_launch(const Bench& b, const Case& c) {
  if (std::holds_alternative<MatmulShape>(c.shape)) return product_launch(b, c);
  if (std::holds_alternative<RowsShape>(c.shape)) return rows_launch(b, c);
  return convolution_launch(b, c);
}

}  // namespace collector
