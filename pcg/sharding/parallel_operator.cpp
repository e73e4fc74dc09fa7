// Typing of the parallel operators, and the chain of them that turns one layout into another.

#include "pcg/sharding/parallel_operator.hpp"

#include <fmt/core.h>

#include <numeric>

namespace pcg {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

ParallelDim& dim_at(ParallelShape& s, int dim, const char* who) {
  if (dim < 0 || static_cast<std::size_t>(dim) >= s.dims.size())
    throw ShapeError(fmt::format("{}: dim {} does not exist in {}", who, dim, to_text(s)));
  return s.dims[static_cast<std::size_t>(dim)];
}

void need_positive(int degree, const char* who) {
  if (degree < 1) throw ShapeError(fmt::format("{}: degree {} must be at least 1", who, degree));
}

// Multiplies a degree of `s`, which has at most kMostShards shards.
void multiply(int& value, int degree, const char* who, const ParallelShape& s) {
  need_positive(degree, who);
  if (static_cast<std::int64_t>(s.shards()) * degree > kMostShards)
    throw ShapeError(fmt::format("{}: more than {} shards of {}", who, kMostShards, to_text(s)));
  value *= degree;
}

void divide(int& value, int degree, const char* who, const char* what, const ParallelShape& s) {
  need_positive(degree, who);
  if (value % degree != 0) throw ShapeError(fmt::format("{}: {} {} of {} does not divide by {}", who, what, value, to_text(s), degree));
  value /= degree;
}

}  // namespace

std::string_view kind_name(const ParallelOperator& op) {
  return std::visit(Overloaded{[](const Partition&) { return "partition"; }, [](const Combine&) { return "combine"; },
                               [](const Replicate&) { return "replicate"; }, [](const Reduce&) { return "reduce"; },
                               [](const Discard&) { return "discard"; }, [](const Pipeline&) { return "pipeline"; },
                               [](const Batch&) { return "batch"; }},
                    op);
}

ParallelShape apply(const ParallelOperator& op, const ParallelShape& in) {
  ParallelShape out = in;
  std::visit(
      Overloaded{
          [&](const Partition& p) {
            need_positive(p.degree, "partition");
            ParallelDim& d = dim_at(out, p.dim, "partition");
            if (d.size % (static_cast<std::int64_t>(d.degree) * p.degree) != 0)
              throw ShapeError(fmt::format("partition: dim {} of {} does not divide by {} more", p.dim, to_text(in), p.degree));
            multiply(d.degree, p.degree, "partition", in);
          },
          [&](const Combine& c) { divide(dim_at(out, c.dim, "combine").degree, c.degree, "combine", "degree", in); },
          [&](const Replicate& r) { multiply(out.copy, r.degree, "replicate", in); },
          [&](const Reduce& r) { divide(out.sum, r.degree, "reduce", "sum", in); },
          [&](const Discard& r) { divide(out.copy, r.degree, "discard", "copy", in); },
          [&](const Pipeline& p) {
            need_positive(p.count, "pipeline");
            ParallelDim& d = dim_at(out, p.dim, "pipeline");
            if (d.size % (static_cast<std::int64_t>(d.degree) * p.count) != 0)
              throw ShapeError(fmt::format("pipeline: dim {} of {} does not divide into {} micro-batches", p.dim, to_text(in), p.count));
            d.size /= p.count;
          },
          [&](const Batch& b) {
            need_positive(b.count, "batch");
            dim_at(out, b.dim, "batch").size *= b.count;
          },
      },
      op);
  return out;
}

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
