// One pass over elements, rows of a table, or nothing at all.
#include <algorithm>

#include "tools/collector/cuda/gpu.cuh"
#include "tools/collector/cuda/kernels.cuh"
#include "tools/collector/cuda/pack.cuh"

namespace collector {
namespace {

constexpr unsigned kThreads = 256;

__device__ std::uint32_t hash(std::uint64_t x) {  // splitmix64's finaliser
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<std::uint32_t>(x ^ (x >> 31));
}
__device__ std::int64_t first_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ std::int64_t all_threads() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((threads + kThreads - 1) / kThreads, 1, 1 << 20));
}

template <class T>
__global__ void random_kernel(T* to, std::int64_t count, std::uint32_t seed) {
  for (std::int64_t i = first_index(); i < count; i += all_threads())
    to[i] = from_float<T>(static_cast<float>(hash(static_cast<std::uint64_t>(i) * 2654435761u + seed)) * 0x1p-31f - 1);
}
// Any byte with the exponent's upper bit clear is a number below 2 in e4m3.
__global__ void random_bytes_kernel(unsigned char* to, std::int64_t count, std::uint32_t seed) {
  for (std::int64_t i = first_index(); i < count; i += all_threads())
    to[i] = static_cast<unsigned char>(hash(static_cast<std::uint64_t>(i) + seed) & 0xBFu);
}
__global__ void indices_kernel(std::int64_t* to, std::int64_t count, std::int64_t below) {
  for (std::int64_t i = first_index(); i < count; i += all_threads())
    to[i] = static_cast<std::int64_t>(hash(static_cast<std::uint64_t>(i) + 77)) % below;
}
__global__ void read_kernel(const float4* from, std::int64_t count, float* sink) {
  float sum = 0;
  for (std::int64_t i = first_index(); i < count; i += all_threads()) {
    const float4 v = from[i];
    sum += v.x + v.y + v.z + v.w;
  }
  if (sum == 1.2345e33f) *sink = sum;  // never, but the compiler cannot know
}
__global__ void spin_kernel(std::uint64_t nanoseconds) {
  std::uint64_t start = 0, now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); } while (now - start < nanoseconds);
}
__global__ void empty_kernel() {}

// As many threads and as much shared memory as a block of a collective: nothing else fits beside it on its multiprocessor.
constexpr int kResidentThreads = 640;
constexpr int kResidentShared = 100 << 10;
__global__ void __launch_bounds__(kResidentThreads, 1) copy_rounds_kernel(const uint4* from, uint4* to, std::int64_t count, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (std::int64_t i = first_index(); i < count; i += 4 * all_threads()) {
      uint4 held[4];
      for (int j = 0; j < 4; ++j)
        if (i + j * all_threads() < count) held[j] = from[i + j * all_threads()];
      for (int j = 0; j < 4; ++j)
        if (i + j * all_threads() < count) to[i + j * all_threads()] = held[j];
    }
}

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Gelu {
  __device__ float operator()(float x, float) const { return 0.5f * x * (1 + erff(x * 0.70710678f)); }
};

// y[i] = f(a[i], b[i]), 16 B at a time, the rest one by one.
template <class T, int N, class F>
__global__ void map_kernel(const T* a, const T* b, T* y, std::int64_t count, F f) {
  const std::int64_t packs = count / N;
  for (std::int64_t i = first_index(); i < packs; i += all_threads()) {
    Pack<T, N> p = reinterpret_cast<const Pack<T, N>*>(a)[i];
    Pack<T, N> q = p;
    if (b != nullptr) q = reinterpret_cast<const Pack<T, N>*>(b)[i];
    for (int j = 0; j < N; ++j) p.value[j] = from_float<T>(f(to_float(p.value[j]), to_float(q.value[j])));
    reinterpret_cast<Pack<T, N>*>(y)[i] = p;
  }
  const std::int64_t rest = packs * N + first_index();
  if (rest < count) y[rest] = from_float<T>(f(to_float(a[rest]), to_float((b != nullptr ? b : a)[rest])));
}

template <class T, int N>
__global__ void dropout_kernel(const T* x, T* y, unsigned char* mask, std::int64_t count) {
  const std::int64_t packs = (count + N - 1) / N;  // the tensors' ends are padded to 256 B: the last pack may run over
  for (std::int64_t i = first_index(); i < packs; i += all_threads()) {
    Pack<T, N> p = reinterpret_cast<const Pack<T, N>*>(x)[i];
    Pack<unsigned char, N> kept;
    for (int j = 0; j < N; ++j) {
      kept.value[j] = hash(static_cast<std::uint64_t>(i * N + j)) > 429496729u ? 1 : 0;  // a tenth is dropped
      p.value[j] = from_float<T>(kept.value[j] != 0 ? to_float(p.value[j]) * (1 / 0.9f) : 0.0f);
    }
    reinterpret_cast<Pack<T, N>*>(y)[i] = p;
    reinterpret_cast<Pack<unsigned char, N>*>(mask)[i] = kept;
  }
}

template <class T, int N>
__global__ void embedding_kernel(const std::int64_t* indices, const T* table, T* y, std::int64_t packs) {
  const auto* from = reinterpret_cast<const Pack<T, N>*>(table) + indices[blockIdx.x] * packs;
  auto* to = reinterpret_cast<Pack<T, N>*>(y) + packs * blockIdx.x;
  for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) to[i] = from[i];
}

// Kingma and Ba, arXiv 1412.6980, algorithm 1, with the corrections of bias left to the host.
__device__ float adam_step(float weight, float gradient, float& first, float& second) {
  first = 0.9f * first + 0.1f * gradient;
  second = 0.999f * second + 0.001f * gradient * gradient;
  return weight - 1e-4f * first / (sqrtf(second) + 1e-8f);
}
// master == nullptr: the weight itself is fp32.
template <class T>
__global__ void adam_kernel(T* weight, const T* gradient, float* first, float* second, float* master, std::int64_t count) {
  for (std::int64_t i = first_index(); i < count; i += all_threads()) {
    float a = first[i], b = second[i];
    const float updated = adam_step(master != nullptr ? master[i] : to_float(weight[i]), to_float(gradient[i]), a, b);
    first[i] = a;
    second[i] = b;
    if (master != nullptr) master[i] = updated;
    weight[i] = from_float<T>(updated);
  }
}

template <class F>
void map(Precision p, const char* a, const char* b, char* y, std::int64_t count, F f, cudaStream_t s) {
  with_type(p, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kWide = 16 / sizeof(T);
    map_kernel<T, kWide><<<blocks_for(count / kWide + kWide), kThreads, 0, s>>>(
        reinterpret_cast<const T*>(a), reinterpret_cast<const T*>(b), reinterpret_cast<T*>(y), count, f);
  });
  check_launch();
}

}  // namespace

void fill_random(char* to, std::size_t bytes, Precision p, std::uint32_t seed, cudaStream_t s) {
  const auto count = static_cast<std::int64_t>(bytes);
  if (p == Precision::fp8) {
    random_bytes_kernel<<<blocks_for(count / 8), kThreads, 0, s>>>(reinterpret_cast<unsigned char*>(to), count, seed);
  } else {
    with_type(p == Precision::tf32 ? Precision::fp32 : p, [&](auto zero) {
      using T = decltype(zero);
      const std::int64_t n = count / static_cast<std::int64_t>(sizeof(T));
      random_kernel<T><<<blocks_for(n / 4), kThreads, 0, s>>>(reinterpret_cast<T*>(to), n, seed);
    });
  }
  check_launch();
}
void fill_indices(std::int64_t* to, std::int64_t count, std::int64_t below, cudaStream_t s) {
  indices_kernel<<<blocks_for(count), kThreads, 0, s>>>(to, count, below);
  check_launch();
}
void read_all(const char* from, std::size_t bytes, float* sink, cudaStream_t s) {
  const auto count = static_cast<std::int64_t>(bytes / sizeof(float4));
  read_kernel<<<blocks_for(count / 4), kThreads, 0, s>>>(reinterpret_cast<const float4*>(from), count, sink);
  check_launch();
}
void spin(double seconds, cudaStream_t s) {
  spin_kernel<<<1, 1, 0, s>>>(static_cast<std::uint64_t>(seconds * 1e9));
  check_launch();
}
void copy_by_blocks(const char* from, char* to, std::size_t bytes, int rounds, int blocks, cudaStream_t s) {
  int device = 0, most = 0;  // GPUs before A100 have less
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  const int shared = most < kResidentShared ? most : kResidentShared;
  check(cudaFuncSetAttribute(copy_rounds_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  copy_rounds_kernel<<<static_cast<unsigned>(blocks), kResidentThreads, static_cast<std::size_t>(shared), s>>>(
      reinterpret_cast<const uint4*>(from), reinterpret_cast<uint4*>(to), static_cast<std::int64_t>(bytes / sizeof(uint4)), rounds);
  check_launch();
}
void empty(cudaStream_t s) {
  empty_kernel<<<1, 32, 0, s>>>();
  check_launch();
}

void add(Precision p, const char* a, const char* b, char* y, std::int64_t count, cudaStream_t s) { map(p, a, b, y, count, Sum{}, s); }
void gelu(Precision p, const char* x, char* y, std::int64_t count, cudaStream_t s) { map(p, x, nullptr, y, count, Gelu{}, s); }
void dropout(Precision p, const char* x, char* y, char* mask, std::int64_t count, cudaStream_t s) {
  with_type(p, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kWide = 16 / sizeof(T);
    dropout_kernel<T, kWide><<<blocks_for(count / kWide + 1), kThreads, 0, s>>>(reinterpret_cast<const T*>(x), reinterpret_cast<T*>(y),
                                                                                reinterpret_cast<unsigned char*>(mask), count);
  });
  check_launch();
}
void embedding(Precision p, const std::int64_t* indices, const char* table, char* y, std::int64_t rows, std::int64_t width,
               cudaStream_t s) {
  with_type(p, [&](auto zero) {
    using T = decltype(zero);
    const auto launch = [&](auto n) {
      const std::int64_t packs = width / decltype(n)::value;
      const auto threads = static_cast<unsigned>(std::clamp<std::int64_t>((packs + 31) / 32 * 32, 32, 256));
      embedding_kernel<T, decltype(n)::value>
          <<<static_cast<unsigned>(rows), threads, 0, s>>>(indices, reinterpret_cast<const T*>(table), reinterpret_cast<T*>(y), packs);
    };
    constexpr int kWide = 16 / sizeof(T);
    if (width % kWide == 0) launch(std::integral_constant<int, kWide>{});
    else launch(std::integral_constant<int, 1>{});
  });
  check_launch();
}
void adam(Precision p, char* weight, const char* gradient, char* states, std::int64_t count, cudaStream_t s) {
  const std::size_t each = aligned(4.0 * static_cast<double>(count));
  const auto state = [&](int i) { return reinterpret_cast<float*>(states + i * each); };
  with_type(p, [&](auto zero) {
    using T = decltype(zero);
    adam_kernel<T><<<blocks_for(count), kThreads, 0, s>>>(reinterpret_cast<T*>(weight), reinterpret_cast<const T*>(gradient), state(0),
                                                          state(1), sizeof(T) < 4 ? state(2) : nullptr, count);
  });
  check_launch();
}

}  // namespace collector
