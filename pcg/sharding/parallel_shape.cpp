#include "pcg/sharding/parallel_shape.hpp"

#include <fmt/core.h>

#include <array>
#include <numeric>
#include <optional>

namespace pcg {

int ParallelShape::shards() const {
  int n = sum * copy;
  for (const ParallelDim& d : dims) n *= d.degree;
  return n;
}

TensorShape ParallelShape::whole() const {
  TensorShape t{.element = element};
  for (const ParallelDim& d : dims) t.sizes.push_back(d.size);
  return t;
}

TensorShape ParallelShape::shard() const {
  TensorShape t{.element = element};
  for (const ParallelDim& d : dims) t.sizes.push_back(d.size / d.degree);
  return t;
}

ParallelShape unsharded(const TensorShape& s) {
  ParallelShape p;
  p.element = s.element;
  for (std::int64_t size : s.sizes) p.dims.push_back({size, 1});
  return p;
}

std::string to_text(const ParallelShape& s) {
  std::string text = "[";
  for (std::size_t d = 0; d < s.dims.size(); ++d) {
    text += fmt::format("{}{}", d == 0 ? "" : ", ", s.dims[d].size);
    if (s.dims[d].degree > 1) text += fmt::format("/{}", s.dims[d].degree);
  }
  text += "]";
  if (s.sum > 1) text += fmt::format(" sum {}", s.sum);
  if (s.copy > 1) text += fmt::format(" copy {}", s.copy);
  if (s.element == Element::index) text += " index";
  return text;
}

ShardIndex shard_index(const ParallelShape& s, int shard) {
  ShardIndex i;
  i.block.resize(s.dims.size());
  for (std::size_t d = s.dims.size(); d-- > 0;) {
    i.block[d] = shard % s.dims[d].degree;
    shard /= s.dims[d].degree;
  }
  i.copy = shard % s.copy;
  i.sum = shard / s.copy;
  return i;
}

int shard_number(const ParallelShape& s, const ShardIndex& i) {
  int n = i.sum * s.copy + i.copy;
  for (std::size_t d = 0; d < s.dims.size(); ++d) n = n * s.dims[d].degree + i.block[d];
  return n;
}

namespace {

// In the order of the alternatives of ParallelOperator.
constexpr auto kParallelNames =
    std::to_array<std::string_view>({"partition", "combine", "replicate", "reduce", "discard", "pipeline", "batch"});
static_assert(kParallelNames.size() == std::variant_size_v<ParallelOperator>);

using Result = std::optional<base::Refusal>;

template <class Change>
Result at_dim(ParallelShape& s, int dim, const char* who, Change&& change) {
  if (dim < 0 || static_cast<std::size_t>(dim) >= s.dims.size())
    return base::Refusal{fmt::format("{}: dim {} does not exist in {}", who, dim, to_text(s))};
  return change(s.dims[static_cast<std::size_t>(dim)]);
}

Result not_positive(int degree, const char* who) {
  return degree >= 1 ? std::nullopt : Result(base::Refusal{fmt::format("{}: degree {} must be at least 1", who, degree)});
}

// Multiplies a degree of `s`, which has at most kMostShards shards.
Result multiply(int& value, int degree, const char* who, const ParallelShape& s) {
  if (auto why = not_positive(degree, who)) return why;
  if (static_cast<std::int64_t>(s.shards()) * degree > kMostShards)
    return base::Refusal{fmt::format("{}: more than {} shards of {}", who, kMostShards, to_text(s))};
  value *= degree;
  return std::nullopt;
}

Result divide(int& value, int degree, const char* who, const char* what, const ParallelShape& s) {
  if (auto why = not_positive(degree, who)) return why;
  if (value % degree != 0) return base::Refusal{fmt::format("{}: {} {} of {} does not divide by {}", who, what, value, to_text(s), degree)};
  value /= degree;
  return std::nullopt;
}

// --- one overload per operator: changes `out`, which comes in as `in` ---
Result change(const Partition& p, const ParallelShape& in, ParallelShape& out) {
  if (auto why = not_positive(p.degree, "partition")) return why;
  return at_dim(out, p.dim, "partition", [&](ParallelDim& d) -> Result {
    if (d.size % (static_cast<std::int64_t>(d.degree) * p.degree) != 0)
      return base::Refusal{fmt::format("partition: dim {} of {} does not divide by {} more", p.dim, to_text(in), p.degree)};
    return multiply(d.degree, p.degree, "partition", in);
  });
}
Result change(const Combine& c, const ParallelShape& in, ParallelShape& out) {
  return at_dim(out, c.dim, "combine", [&](ParallelDim& d) { return divide(d.degree, c.degree, "combine", "degree", in); });
}
Result change(const Replicate& r, const ParallelShape& in, ParallelShape& out) { return multiply(out.copy, r.degree, "replicate", in); }
Result change(const Reduce& r, const ParallelShape& in, ParallelShape& out) { return divide(out.sum, r.degree, "reduce", "sum", in); }
Result change(const Discard& r, const ParallelShape& in, ParallelShape& out) { return divide(out.copy, r.degree, "discard", "copy", in); }
Result change(const Pipeline& p, const ParallelShape& in, ParallelShape& out) {
  if (auto why = not_positive(p.count, "pipeline")) return why;
  return at_dim(out, p.dim, "pipeline", [&](ParallelDim& d) -> Result {
    if (d.size % (static_cast<std::int64_t>(d.degree) * p.count) != 0)
      return base::Refusal{fmt::format("pipeline: dim {} of {} does not divide into {} micro-batches", p.dim, to_text(in), p.count)};
    d.size /= p.count;
    return std::nullopt;
  });
}
Result change(const Batch& b, const ParallelShape&, ParallelShape& out) {
  if (auto why = not_positive(b.count, "batch")) return why;
  return at_dim(out, b.dim, "batch", [&](ParallelDim& d) -> Result {
    d.size *= b.count;
    return std::nullopt;
  });
}

}  // namespace

std::string_view kind_name(const ParallelOperator& op) { return kParallelNames[op.index()]; }

const std::vector<std::string>& parallel_operator_kind_names() {
  static const std::vector<std::string> names(kParallelNames.begin(), kParallelNames.end());
  return names;
}

base::Attempt<ParallelShape> try_apply(const ParallelOperator& op, const ParallelShape& in) {
  ParallelShape out = in;
  if (auto why = std::visit([&](const auto& o) { return change(o, in, out); }, op)) return *why;
  return out;
}

ParallelShape apply(const ParallelOperator& op, const ParallelShape& in) { return accepted(try_apply(op, in)); }

std::vector<ParallelOperator> conversion(const ParallelShape& from, const ParallelShape& to) {
  if (from.whole() != to.whole())
    throw ShapeError(fmt::format("no conversion from {} to {}: they are different tensors", to_text(from), to_text(to)));
  if (from.sum % to.sum != 0)
    throw ShapeError(fmt::format("no conversion from {} to {}: partial sums can be added, not made", to_text(from), to_text(to)));
  std::vector<ParallelOperator> chain;
  if (from.sum != to.sum) chain.push_back(Reduce{from.sum / to.sum});
  const int common_copy = std::gcd(from.copy, to.copy);
  if (from.copy != common_copy) chain.push_back(Discard{from.copy / common_copy});
  auto common = [&](std::size_t d) { return std::gcd(from.dims[d].degree, to.dims[d].degree); };
  for (std::size_t d = 0; d < from.dims.size(); ++d)
    if (from.dims[d].degree != common(d)) chain.push_back(Combine{static_cast<int>(d), from.dims[d].degree / common(d)});
  for (std::size_t d = 0; d < from.dims.size(); ++d)
    if (to.dims[d].degree != common(d)) chain.push_back(Partition{static_cast<int>(d), to.dims[d].degree / common(d)});
  if (to.copy != common_copy) chain.push_back(Replicate{to.copy / common_copy});
  return chain;
}

}  // namespace pcg
