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
  const TensorShape& q = p.in[0];
  const TensorShape& k = p.in[o.packed ? 0 : 1];
  AttentionSizes a;
  a.samples = product(without_last(q, 2));
  a.heads = o.heads;
  a.queries = q.sizes[q.sizes.size() - 2];
  const std::int64_t own_keys = k.sizes[k.sizes.size() - 2];
  a.keys = o.keys > 0 ? o.keys : own_keys;
  a.own_keys = static_cast<double>(own_keys) / static_cast<double>(a.keys);
  a.dims = head_dims(o, p.in);
  const auto elements = [&](std::int64_t positions, std::int64_t heads, std::int64_t dim) {
    return static_cast<double>(a.samples) * static_cast<double>(positions) * static_cast<double>(heads * dim);
  };
  a.query_elements = elements(a.queries, o.heads, a.dims.query);
  a.output_elements = elements(a.queries, o.heads, a.dims.value);
  a.key_elements = elements(a.keys, o.kv_heads, a.dims.query);
  a.value_elements = elements(a.keys, o.kv_heads, a.dims.value);
  a.scores = static_cast<double>(a.samples * a.heads) * static_cast<double>(a.queries) * static_cast<double>(a.keys);
  a.reach = keys_in_reach(o, a.keys);
  a.met = share_met(o, a.keys);
  return a;
}

double copies_of_keys(const Attention& o) { return o.repeated_keys ? static_cast<double>(o.heads) / static_cast<double>(o.kv_heads) : 1; }

base::Bytes bytes_met(const Attention& o, const Shard& p) {
  const AttentionSizes s = sizes_of(o, p);
  base::Bytes weights;
  for (std::size_t i = p.in.size() - (o.sinks ? 1U : 0U) - (o.has_bias ? 1U : 0U); i < p.in.size(); ++i) weights += p.bytes_in(i);
  return p.bytes_of_reals(s.query_elements + copies_of_keys(o) * (s.key_elements + s.value_elements)) + weights;
}

Kernel flash_kernel(std::string_view name, const AttentionSizes& s, std::int64_t dims, base::Bytes bytes) {
  const std::int64_t width = (s.dims.query + s.dims.value) / 2;  // what a model of products over one head width sees
  Kernel k = matmul(name, s.samples * s.heads, s.queries, s.reach, width, bytes);
  k.kind = KernelKind::attention;
  k.flops = k.flops * (s.met * static_cast<double>(dims) / static_cast<double>(width));
  return k;
}

std::vector<double> normalised_elements(const Attention& o, const AttentionSizes& s) {
  if (!o.qk_norm) return {};
  return {s.query_elements, s.key_elements * s.own_keys};
}

// Latent attention: the shared dims of each query, and of each key once.
double rotated_elements(const Attention& o, const AttentionSizes& s) {
  if (!o.latent) return s.query_elements + s.key_elements;
  const double share = static_cast<double>(s.dims.shared) / static_cast<double>(s.dims.query);
  return share * (s.query_elements + s.key_elements * s.own_keys / static_cast<double>(o.kv_heads));
}

base::Bytes bytes_joined(const Shard& p, const AttentionSizes& s) {
  return p.bytes_of_reals((s.key_elements + s.value_elements) * s.own_keys);
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
    case Unary::Kind::relu2: return 2;
  }
  BASE_CHECK(false, "function {}", static_cast<int>(kind));
}

}  // namespace pcg::work
