#include "pcg/evaluator/evaluator_shards.hpp"

#include "pcg/evaluator/field.hpp"

namespace pcg {
namespace {

// Block `which` of `count` along a dim.
FieldTensor block_of(const FieldTensor& t, std::size_t dim, int which, int count) {
  FieldTensor r{t.shape, {}};
  r.shape.sizes[dim] /= count;
  std::int64_t run = r.shape.sizes[dim], outer = 1;
  for (std::size_t d = dim + 1; d < t.shape.sizes.size(); ++d) run *= t.shape.sizes[d];
  for (std::size_t d = 0; d < dim; ++d) outer *= t.shape.sizes[d];
  for (std::int64_t o = 0; o < outer; ++o) {
    const auto from = t.values.begin() + static_cast<std::ptrdiff_t>((o * count + which) * run);
    r.values.insert(r.values.end(), from, from + static_cast<std::ptrdiff_t>(run));
  }
  return r;
}
FieldTensor added(const Shards& summands) {
  FieldTensor r = *summands[0];
  for (std::size_t i = 1; i < summands.size(); ++i)
    for (std::size_t v = 0; v < r.values.size(); ++v) r.values[v] = field::add(r.values[v], summands[i]->values[v]);
  return r;
}

// What a parallel operator does to shards. `out` is the shape behind it.
class Mover {
 public:
  Mover(const Shards& from, const ParallelShape& in, const ParallelShape& out) : from_(from), in_(in), out_(out) {}

  Shards operator()(const Partition& p) const {
    const auto dim = static_cast<std::size_t>(p.dim);
    return each([&](ShardIndex i) {
      const int which = i.block[dim] % p.degree;
      i.block[dim] /= p.degree;
      return std::make_shared<const FieldTensor>(block_of(*shard(i), dim, which, p.degree));
    });
  }
  Shards operator()(const Combine& c) const {
    const auto dim = static_cast<std::size_t>(c.dim);
    return each([&](ShardIndex i) { return std::make_shared<const FieldTensor>(joined(several(i, i.block[dim], c.degree), dim)); });
  }
  Shards operator()(const Reduce& r) const {
    return each([&](ShardIndex i) { return std::make_shared<const FieldTensor>(added(several(i, i.sum, r.degree))); });
  }
  Shards operator()(const Replicate& r) const {
    return each([&](ShardIndex i) {
      i.copy /= r.degree;
      return shard(i);
    });
  }
  Shards operator()(const Discard& d) const {
    return each([&](ShardIndex i) {
      i.copy *= d.degree;
      return shard(i);
    });
  }
  Shards operator()(const Pipeline&) const {
    throw ShapeError("pipeline: micro-batches are counted by the plan, not evaluated as an operator");
  }
  Shards operator()(const Batch&) const { throw ShapeError("batch: micro-batches are counted by the plan, not evaluated as an operator"); }

 private:
  template <class Make>
  Shards each(Make&& make) const {
    Shards result;
    for (int p = 0; p < out_.shards(); ++p) result.push_back(make(shard_index(out_, p)));
    return result;
  }
  [[nodiscard]] const std::shared_ptr<const FieldTensor>& shard(const ShardIndex& i) const {
    return from_[static_cast<std::size_t>(shard_number(in_, i))];
  }
  // The `count` shards that one coordinate of the result stands for; `coordinate` is a member of `i`.
  [[nodiscard]] Shards several(ShardIndex& i, int& coordinate, int count) const {
    Shards result;
    const int first = coordinate * count;
    for (int c = 0; c < count; ++c) {
      coordinate = first + c;
      result.push_back(shard(i));
    }
    return result;
  }

  const Shards& from_;
  const ParallelShape& in_;
  const ParallelShape& out_;
};

}  // namespace

Place place_of(const ParallelShape& s, const ShardIndex& at) {
  Place p;
  for (std::size_t d = 0; d < s.dims.size(); ++d) {
    p.whole.push_back(s.dims[d].size);
    p.offset.push_back(s.dims[d].size / s.dims[d].degree * at.block[d]);
  }
  return p;
}

FieldTensor joined(const Shards& blocks, std::size_t dim) {
  FieldTensor r{blocks[0]->shape, {}};
  std::int64_t run = 1, outer = 1;
  for (std::size_t d = dim; d < r.shape.sizes.size(); ++d) run *= r.shape.sizes[d];
  for (std::size_t d = 0; d < dim; ++d) outer *= r.shape.sizes[d];
  r.shape.sizes[dim] *= static_cast<std::int64_t>(blocks.size());
  for (std::int64_t o = 0; o < outer; ++o)
    for (const auto& b : blocks) {
      const auto from = b->values.begin() + static_cast<std::ptrdiff_t>(o * run);
      r.values.insert(r.values.end(), from, from + static_cast<std::ptrdiff_t>(run));
    }
  return r;
}

Shards move_shards(const ParallelOperator& op, const Shards& from, const ParallelShape& in) {
  const ParallelShape out = pcg::apply(op, in);
  return std::visit(Mover(from, in, out), op);
}

FieldTensor whole(Shards shards, ParallelShape shape) {
  for (const ParallelOperator& op : conversion(shape, unsharded(shape.whole()))) {
    shards = move_shards(op, shards, shape);
    shape = pcg::apply(op, shape);
  }
  return *shards[0];
}

}  // namespace pcg
