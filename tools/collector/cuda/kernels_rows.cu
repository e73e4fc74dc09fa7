// One block per row: softmax and norms. The row is read twice, the second time from cache.
#include <algorithm>

#include "tools/collector/cuda/gpu.cuh"
#include "tools/collector/cuda/kernels.cuh"
#include "tools/collector/cuda/pack.cuh"

namespace collector {
namespace {

struct Add {
  __device__ Two operator()(Two x, Two y) const { return {x.a + y.a, x.b + y.b}; }
};
// a: the largest so far, b: the sum of exp(value - a).
struct JoinExponents {
  __device__ Two operator()(Two x, Two y) const {
    const float top = fmaxf(x.a, y.a);
    return {top, x.b * __expf(x.a - top) + y.b * __expf(y.a - top)};
  }
};
constexpr float kLowest = -3.4e38f;

template <class T, int N>
__global__ void softmax_kernel(const T* x, T* y, std::int64_t packs) {
  const auto* from = reinterpret_cast<const Pack<T, N>*>(x) + packs * blockIdx.x;
  auto* to = reinterpret_cast<Pack<T, N>*>(y) + packs * blockIdx.x;
  Two state{kLowest, 0};
  for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
    const Pack<T, N> p = from[i];
    float top = state.a;
    for (int j = 0; j < N; ++j) top = fmaxf(top, to_float(p.value[j]));
    state.b *= __expf(state.a - top);
    state.a = top;
    for (int j = 0; j < N; ++j) state.b += __expf(to_float(p.value[j]) - top);
  }
  state = over_block(state, {kLowest, 0}, JoinExponents{});
  const float scale = 1 / state.b;
  for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
    Pack<T, N> p = from[i];
    for (int j = 0; j < N; ++j) p.value[j] = from_float<T>(__expf(to_float(p.value[j]) - state.a) * scale);
    to[i] = p;
  }
}

template <class T, int N, bool Rms>
__global__ void norm_kernel(const T* x, const T* gain, const T* bias, T* y, std::int64_t packs) {
  const auto* from = reinterpret_cast<const Pack<T, N>*>(x) + packs * blockIdx.x;
  const auto* gains = reinterpret_cast<const Pack<T, N>*>(gain);
  const auto* biases = reinterpret_cast<const Pack<T, N>*>(bias);
  auto* to = reinterpret_cast<Pack<T, N>*>(y) + packs * blockIdx.x;
  Two sums{0, 0};
  for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
    const Pack<T, N> p = from[i];
    for (int j = 0; j < N; ++j) {
      const float v = to_float(p.value[j]);
      sums = Add{}(sums, {v, v * v});
    }
  }
  sums = over_block(sums, {0, 0}, Add{});
  const float width = static_cast<float>(packs * N);
  const float mean = Rms ? 0 : sums.a / width;
  const float scale = rsqrtf(sums.b / width - mean * mean + 1e-5f);
  for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
    Pack<T, N> p = from[i];
    const Pack<T, N> g = gains[i];
    for (int j = 0; j < N; ++j) {
      float v = (to_float(p.value[j]) - mean) * scale * to_float(g.value[j]);
      if constexpr (!Rms) v += to_float(biases[i].value[j]);
      p.value[j] = from_float<T>(v);
    }
    to[i] = p;
  }
}

unsigned threads_for(std::int64_t packs) { return static_cast<unsigned>(std::clamp<std::int64_t>((packs + 31) / 32 * 32, 32, 1024)); }

// f(packs per row, numbers per pack as a constant): 16 B where the rows stay aligned, else one number.
template <class T, class F>
void by_width(std::int64_t width, const F& f) {
  constexpr int kWide = 16 / sizeof(T);
  if (width % kWide == 0) f(width / kWide, std::integral_constant<int, kWide>{});
  else f(width, std::integral_constant<int, 1>{});
}

template <bool Rms>
void norm(Precision p, const char* x, const char* gain, const char* bias, char* y, std::int64_t rows, std::int64_t width, cudaStream_t s) {
  with_type(p, [&](auto zero) {
    using T = decltype(zero);
    by_width<T>(width, [&](std::int64_t packs, auto n) {
      norm_kernel<T, decltype(n)::value, Rms>
          <<<static_cast<unsigned>(rows), threads_for(packs), 0, s>>>(reinterpret_cast<const T*>(x), reinterpret_cast<const T*>(gain),
                                                                      reinterpret_cast<const T*>(bias), reinterpret_cast<T*>(y), packs);
    });
  });
  check_launch();
}

}  // namespace

void softmax(Precision p, const char* x, char* y, std::int64_t rows, std::int64_t width, cudaStream_t s) {
  with_type(p, [&](auto zero) {
    using T = decltype(zero);
    by_width<T>(width, [&](std::int64_t packs, auto n) {
      softmax_kernel<T, decltype(n)::value>
          <<<static_cast<unsigned>(rows), threads_for(packs), 0, s>>>(reinterpret_cast<const T*>(x), reinterpret_cast<T*>(y), packs);
    });
  });
  check_launch();
}
void layer_norm(Precision p, const char* x, const char* gain, const char* bias, char* y, std::int64_t rows, std::int64_t width,
                cudaStream_t s) {
  norm<false>(p, x, gain, bias, y, rows, width, s);
}
void rms_norm(Precision p, const char* x, const char* gain, char* y, std::int64_t rows, std::int64_t width, cudaStream_t s) {
  norm<true>(p, x, gain, nullptr, y, rows, width, s);
}

}  // namespace collector
