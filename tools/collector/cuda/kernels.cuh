#pragma once
// Kernels of our own: what has no library, is bound by memory traffic, and so says what the memory gives. 16 bytes per access where rows
// allow it. All pointers aligned to 256 B.

#include <cuda_runtime.h>

#include <cstdint>

#include "tools/collector/case.hpp"

namespace collector {

// Numbers in [-1, 1) of that precision (fp8: e4m3 bytes below 2), the same for the same seed. Timing zeros would flatter the power budget.
void fill_random(char* to, std::size_t bytes, Precision p, std::uint32_t seed, cudaStream_t s);
void fill_indices(std::int64_t* to, std::int64_t count, std::int64_t below, cudaStream_t s);
// Reads `bytes`, so that nothing else is left in L2; writes nothing that must be flushed later.
void read_all(const char* from, std::size_t bytes, float* sink, cudaStream_t s);
// Keeps the stream busy, so that what follows is queued before it starts.
void spin(double seconds, cudaStream_t s);
void empty(cudaStream_t s);
// Copies `bytes`, a multiple of 16, `rounds` times over by so many blocks, each of which has a multiprocessor for itself: what a
// collective's channels do to kernels beside them.
void copy_by_blocks(const char* from, char* to, std::size_t bytes, int rounds, int blocks, cudaStream_t s);

// fp32, fp16 or bf16; x, y: [rows, width]. Statistics in fp32.
void softmax(Precision p, const char* x, char* y, std::int64_t rows, std::int64_t width, cudaStream_t s);
void layer_norm(Precision p, const char* x, const char* gain, const char* bias, char* y, std::int64_t rows, std::int64_t width,
                cudaStream_t s);
void rms_norm(Precision p, const char* x, const char* gain, char* y, std::int64_t rows, std::int64_t width, cudaStream_t s);
void add(Precision p, const char* a, const char* b, char* y, std::int64_t count, cudaStream_t s);
void gelu(Precision p, const char* x, char* y, std::int64_t count, cudaStream_t s);
void dropout(Precision p, const char* x, char* y, char* mask, std::int64_t count, cudaStream_t s);
void embedding(Precision p, const std::int64_t* indices, const char* table, char* y, std::int64_t rows, std::int64_t width, cudaStream_t s);
// States: two moments, and for half precision the master copy, `count` floats each, one after the other, each from a multiple of 256 B.
void adam(Precision p, char* weight, const char* gradient, char* states, std::int64_t count, cudaStream_t s);

[[nodiscard]] inline std::size_t aligned(double bytes) { return (static_cast<std::size_t>(bytes) + 255) / 256 * 256; }

}  // namespace collector
