#pragma once
// Several numbers in one access, and reductions over a block. Private to the kernels.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <stdexcept>

#include "tools/collector/case.hpp"

namespace collector {

template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T value[N];
};

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__half x) { return __half2float(x); }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline __half from_float<__half>(float x) {
  return __float2half(x);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16(x);
}

// Calls f(T{}) with the element type of the precision.
template <class F>
void with_type(Precision p, const F& f) {
  switch (p) {
    case Precision::fp32: return f(float{});
    case Precision::fp16: return f(__half{});
    case Precision::bf16: return f(__nv_bfloat16{});
    default: throw std::logic_error("own kernels have fp32, fp16 and bf16");
  }
}

// Both results in every thread. Requires: whole warps, at most 32 of them.
struct Two {
  float a, b;
};
template <class Join>
__device__ Two over_block(Two x, Two nothing, Join join) {
  __shared__ Two parts[32];
  for (int offset = 16; offset > 0; offset /= 2)
    x = join(x, {__shfl_xor_sync(0xffffffffu, x.a, offset), __shfl_xor_sync(0xffffffffu, x.b, offset)});
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  x = threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : nothing;
  for (int offset = 16; offset > 0; offset /= 2)
    x = join(x, {__shfl_xor_sync(0xffffffffu, x.a, offset), __shfl_xor_sync(0xffffffffu, x.b, offset)});
  return x;
}

}  // namespace collector
