#include "pcg/work/work_parts.hpp"

#include <functional>
#include <numeric>

#include "base/check.hpp"

namespace pcg::work {
namespace {

std::int64_t product(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}
std::span<const std::int64_t> without_last(const TensorShape& s, std::size_t n) { return std::span(s.sizes).first(s.sizes.size() - n); }

}  // namespace

base::Bytes Shard::bytes_of_inputs() const {
  base::Bytes total;
  for (std::size_t i = 0; i < in.size(); ++i) total += bytes_in(i);
  return total;
}

Kernel matmul(std::string_view name, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, base::Bytes bytes) {
  const double flops = 2.0 * static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return {.kind = KernelKind::matmul,
          .name = name,
          .flops = base::Flops(flops),
          .bytes = bytes,
          .batch = batch,
          .m = m,
          .n = n,
          .k = k,
          .tensor_cores = true};
}

Kernel simple(KernelKind kind, std::string_view name, double flops, base::Bytes bytes) {
  return {.kind = kind, .name = name, .flops = base::Flops(flops), .bytes = bytes};
}

MatmulSizes sizes_of(const Linear&, const Shard& p) {
  return {.m = product(without_last(p.in[0], 1)), .n = p.out[0].sizes.back(), .k = p.in[0].sizes.back()};
}
MatmulSizes sizes_of(const BatchMatmul&, const Shard& p) {
  const std::vector<std::int64_t>& a = p.in[0].sizes;
  return {.batch = product(without_last(p.in[0], 2)), .m = a[a.size() - 2], .n = p.out[0].sizes.back(), .k = a.back()};
}
MatmulSizes sizes_of(const ExpertLinear&, const Shard& p) {
  const std::vector<std::int64_t>& x = p.in[0].sizes;
  return {.batch = x[0], .m = x[1] * x[2], .n = p.out[0].sizes.back(), .k = x.back()};
}
MatmulSizes sizes_of(const Conv2d&, const Shard& p) {
  const std::vector<std::int64_t>& y = p.out[0].sizes;
  const std::vector<std::int64_t>& w = p.in[1].sizes;
  const std::int64_t groups = p.in[0].sizes[1] / w[1];  // of this shard: a cut over channels takes whole groups
  return {.batch = groups, .m = y[0] * y[2] * y[3], .n = y[1] / groups, .k = w[1] * w[2] * w[3]};
}

AttentionSizes sizes_of(const Attention& o, const Shard& p) {
  const TensorShape& q = p.out[0];  // the output is as large as the queries
  const TensorShape& k = p.in[o.packed ? 0 : 1];
  AttentionSizes a;
  a.samples = product(without_last(q, 2));
  a.heads = o.heads;
  a.queries = q.sizes[q.sizes.size() - 2];
  const std::int64_t own_keys = k.sizes[k.sizes.size() - 2];
  a.keys = o.keys > 0 ? o.keys : own_keys;
  a.head_dim = q.sizes.back() / o.heads;
  a.query_elements = count(q);
  a.key_elements = (o.packed ? (count(p.in[0]) - count(q)) / 2 : count(k)) * static_cast<double>(a.keys) / static_cast<double>(own_keys);
  a.scores = static_cast<double>(a.samples * a.heads) * static_cast<double>(a.queries) * static_cast<double>(a.keys);
  return a;
}

base::Bytes bytes_met(const Attention& o, const Shard& p) {
  const AttentionSizes s = sizes_of(o, p);
  const base::Bytes bias = o.has_bias ? p.bytes_in(p.in.size() - 1) : base::Bytes(0);
  return p.bytes_of_reals(s.query_elements + 2 * s.key_elements) + bias;
}

double flops_per_element(Unary::Kind kind) {
  switch (kind) {
    case Unary::Kind::relu: return 1;
    case Unary::Kind::gelu: return 5;  // x/sqrt(2), erf, +1, *x, /2
    case Unary::Kind::tanh: return 1;
    case Unary::Kind::sigmoid: return 4;  // -x, exp, +1, 1/
    case Unary::Kind::silu: return 5;
    case Unary::Kind::exp: return 1;
    case Unary::Kind::scale: return 1;
    case Unary::Kind::identity: return 0;
  }
  BASE_CHECK(false, "function {}", static_cast<int>(kind));
}

}  // namespace pcg::work
