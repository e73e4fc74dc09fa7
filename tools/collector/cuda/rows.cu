// Own kernels over rows and elements: where their operands lie in a slot.
#include "tools/collector/cuda/bench.cuh"
#include "tools/collector/cuda/kernels.cuh"

namespace collector {
namespace {

Launch table_launch(const Bench& b, Precision p, const RowsShape& r, double each) {
  if (static_cast<std::size_t>(r.rows) > kMostIndices) throw NotSupported("more indices than are kept");
  fill_indices(b.indices(), r.rows, r.vocabulary, b.stream());
  const std::size_t table = aligned(each * static_cast<double>(r.vocabulary * r.width));
  const std::int64_t* indices = b.indices();
  return {[=](char* at, cudaStream_t s) { embedding(p, indices, at, at + table, r.rows, r.width, s); },
          static_cast<double>(table + aligned(each * static_cast<double>(r.rows * r.width)))};
}

}  // namespace

Launch rows_launch(const Bench& b, const Case& c) {
  const RowsShape r = std::get<RowsShape>(c.shape);
  const Precision p = c.precision;
  const double each = element_bytes(p);
  const std::int64_t count = r.rows * r.width;
  const std::size_t x = aligned(each * static_cast<double>(count));  // one tensor
  const std::size_t w = aligned(each * static_cast<double>(r.width));
  switch (c.operation) {
    case Operation::attention_softmax:
    case Operation::softmax_forward:
      return {[=](char* at, cudaStream_t s) { softmax(p, at, at + x, r.rows, r.width, s); }, static_cast<double>(2 * x)};
    case Operation::layer_norm_forward:
      return {[=](char* at, cudaStream_t s) { layer_norm(p, at, at + 2 * x, at + 2 * x + w, at + x, r.rows, r.width, s); },
              static_cast<double>(2 * x + 2 * w)};
    case Operation::rms_norm_forward:
      return {[=](char* at, cudaStream_t s) { rms_norm(p, at, at + 2 * x, at + x, r.rows, r.width, s); }, static_cast<double>(2 * x + w)};
    case Operation::add: return {[=](char* at, cudaStream_t s) { add(p, at, at + x, at + 2 * x, count, s); }, static_cast<double>(3 * x)};
    case Operation::gelu: return {[=](char* at, cudaStream_t s) { gelu(p, at, at + x, count, s); }, static_cast<double>(2 * x)};
    case Operation::dropout:
      return {[=](char* at, cudaStream_t s) { dropout(p, at, at + x, at + 2 * x, count, s); },
              static_cast<double>(2 * x + aligned(static_cast<double>(count)))};
    case Operation::adam:
      return {[=](char* at, cudaStream_t s) { adam(p, at, at + x, at + 2 * x, count, s); },
              static_cast<double>(2 * x + (each < 4 ? 3 : 2) * aligned(4.0 * static_cast<double>(count)))};
    case Operation::embedding: return table_launch(b, p, r, each);
    default: throw NotSupported("no kernel of our own");
  }
}

}  // namespace collector
