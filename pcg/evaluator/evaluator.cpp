#include "pcg/evaluator/evaluator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/hash.hpp"
#include "pcg/evaluator/evaluator_operator.hpp"
#include "pcg/evaluator/field.hpp"

namespace pcg {
namespace {

using Shards = std::vector<std::shared_ptr<const FieldTensor>>;  // by shard number; equal copies may be one object

// Block `which` of `count` along a dim.
FieldTensor block_of(const FieldTensor& t, std::size_t dim, int which, int count) {
  TensorShape shape = t.shape;
  const std::int64_t size = shape.sizes[dim] /= count;
  FieldTensor r = blank(std::move(shape));
  copy_layers(t, which * size, r, 0, size, dim);
  return r;
}
FieldTensor added(const Shards& summands) {
  FieldTensor r = *summands[0];
  for (std::size_t i = 1; i < summands.size(); ++i)
    for (std::size_t v = 0; v < r.values.size(); ++v) r.values[v] = field::add(r.values[v], summands[i]->values[v]);
  return r;
}

// Returns blocks put together along a dim. Requires: at least one.
FieldTensor joined(const Shards& blocks, std::size_t dim) {
  TensorShape shape = blocks[0]->shape;
  const std::int64_t size = shape.sizes[dim];
  shape.sizes[dim] *= static_cast<std::int64_t>(blocks.size());
  FieldTensor r = blank(std::move(shape));
  for (std::size_t b = 0; b < blocks.size(); ++b) copy_layers(*blocks[b], 0, r, static_cast<std::int64_t>(b) * size, size, dim);
  return r;
}

// Applies a parallel operator to shards. `out` is the shape after it.
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
  template <class Counted>
  Shards operator()(const Counted& op) const {
    throw ShapeError(fmt::format("{}: micro-batches are counted by the plan, not evaluated as an operator", kind_name(op)));
  }

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

Place place_of(const ParallelShape& s, const ShardIndex& at) {
  Place p;
  for (std::size_t d = 0; d < s.dims.size(); ++d) {
    p.whole.push_back(s.dims[d].size);
    p.offset.push_back(s.dims[d].size / s.dims[d].degree * at.block[d]);
  }
  return p;
}

// Returns the shards after a parallel operator. Requires: op applies to `in`, the shape of `from`. Throws: ShapeError for pipeline and
// batch.
Shards move_shards(const ParallelOperator& op, const Shards& from, const ParallelShape& in) {
  return std::visit(Mover(from, in, pcg::apply(op, in)), op);
}

// Returns the whole tensor: sums added, one of the copies taken, blocks joined.
FieldTensor whole(Shards shards, ParallelShape shape) {
  for (const ParallelOperator& op : conversion(shape, unsharded(shape.whole()))) {
    shards = move_shards(op, shards, shape);
    shape = pcg::apply(op, shape);
  }
  return *shards[0];
}

FieldTensor values_at(const std::string& name, const TensorShape& shape, const Place& place, std::uint64_t shift, std::int64_t limit,
                      std::uint64_t seed) {
  FieldTensor t = blank(shape);
  const field::Hash source = field::Hash(seed)(base::hash_text(name));
  const bool bounded = shape.element == Element::index && limit > 0;
  for (std::size_t i = 0; i < t.values.size(); ++i) {
    field::Hash h = source;
    h(shift + global_index(place, shape.sizes, static_cast<std::int64_t>(i)));
    t.values[i] = bounded ? static_cast<std::uint32_t>(h.value() % static_cast<std::uint64_t>(limit)) : h.element();
  }
  return t;
}

// Index limits: what an index tensor is looked up in, smallest first. Limits flow back from embeddings and losses to the inputs.
std::vector<std::int64_t> index_limits(const Pcg& g) {
  std::vector<std::int64_t> limit(g.nodes().size(), 0);  // 0: none. Of all outputs of a node together.
  auto tighten = [&](TensorRef t, std::int64_t bound) {
    std::int64_t& l = limit[t.node.value];
    if (bound > 0) l = l == 0 ? bound : std::min(l, bound);
  };
  for (std::size_t n = g.nodes().size(); n-- > 0;) {
    const PcgNode& node = g.nodes()[n];
    const Operator* op = node.operation();
    if (const auto* e = op ? std::get_if<Embedding>(op) : nullptr) tighten(node.inputs[0], e->vocabulary);
    else if (const auto* b = op ? std::get_if<EmbeddingBag>(op) : nullptr) tighten(node.inputs[0], b->vocabulary);
    else if (op && std::holds_alternative<CrossEntropy>(*op)) tighten(node.inputs[1], g.shape(node.inputs[0]).dims.back().size);
    else
      for (TensorRef t : node.inputs) tighten(t, limit[n]);
  }
  return limit;
}

class Evaluation {
 public:
  Evaluation(const Pcg& pcg, int micro_batch, std::uint64_t seed)
      : pcg_(pcg), micro_batch_(micro_batch), seed_(seed), made_(pcg.nodes().size()) {
    limits_ = index_limits(pcg);
    for (std::size_t n = 0; n < pcg.nodes().size(); ++n)
      for (TensorRef t : pcg.nodes()[n].inputs) last_reader_[t] = n;
  }

  // By node, by output: the shards of everything; of results alone, which nothing reads, where that is what is kept.
  enum class Kept { results, all };
  std::vector<std::vector<Shards>> run(Kept kept) {
    for (std::size_t n = 0; n < pcg_.nodes().size(); ++n) {
      const PcgNode& node = pcg_.nodes()[n];
      made_[n] = evaluate_node(node, n);
      if (kept == Kept::all) continue;
      for (TensorRef t : node.inputs)
        if (last_reader_[t] == n) made_[t.node.value][static_cast<std::size_t>(t.output)].clear();
    }
    return std::move(made_);
  }

 private:
  std::vector<Shards> evaluate_node(const PcgNode& node, std::size_t n) {
    if (node.is_source()) return {source(node, limits_[n])};
    if (const ParallelOperator* op = node.parallel_operator())
      return {move_shards(*op, shards(node.inputs[0]), pcg_.shape(node.inputs[0]))};
    std::vector<Shards> out = compute(node);
    for (std::size_t o = 0; o < out.size(); ++o) compare_copies(node, out[o], node.outputs[o]);
    return out;
  }

  [[nodiscard]] const Shards& shards(TensorRef t) const { return made_[t.node.value][static_cast<std::size_t>(t.output)]; }

  [[nodiscard]] Shards source(const PcgNode& node, std::int64_t limit) const {
    const ParallelShape& s = node.outputs[0];
    const std::uint64_t shift =
        node.is_input() ? static_cast<std::uint64_t>(s.whole().elements()) * static_cast<std::uint64_t>(micro_batch_) : 0;
    Shards result;
    for (int p = 0; p < s.shards(); ++p) {
      ShardIndex i = shard_index(s, p);
      const Place place = place_of(s, i);
      if (i.copy > 0) {
        i.copy = 0;
        result.push_back(result[static_cast<std::size_t>(shard_number(s, i))]);
      } else {
        result.push_back(std::make_shared<const FieldTensor>(values_at(node.name, s.shard(), place, shift, limit, seed_)));
      }
    }
    return result;
  }

  std::vector<Shards> compute(const PcgNode& node) const {
    const IterationSpace& space = *node.space;
    std::vector<Shards> result;
    for (const ParallelShape& s : node.outputs) result.emplace_back(static_cast<std::size_t>(s.shards()));
    for (int point = 0; point < node.sharding.points(); ++point) {
      std::vector<std::shared_ptr<const FieldTensor>> kept;  // what `operands` point to
      std::vector<Operand> operands;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) operands.push_back(operand(node, space, i, point, kept));
      std::vector<OutputShard> outputs;
      std::vector<int> numbers;
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        numbers.push_back(output_shard(space, node.sharding, o, point));
        outputs.push_back({node.outputs[o].shard(), place_of(node.outputs[o], shard_index(node.outputs[o], numbers[o]))});
      }
      const ShardTask task{.name_hash = base::hash_text(node.name),
                           .micro_batch = static_cast<std::uint64_t>(micro_batch_),
                           .first_summand = shard_index(node.outputs[0], numbers[0]).sum == 0,
                           .through = node.sharding.through,
                           .inputs = operands,
                           .outputs = outputs};
      std::vector<FieldTensor> values = run_shard(*node.operation(), task);
      for (std::size_t o = 0; o < values.size(); ++o)
        result[o][static_cast<std::size_t>(numbers[o])] = std::make_shared<const FieldTensor>(std::move(values[o]));
    }
    return result;
  }

  // The shard of input i at a point; along a loop whose cut an internal collective bridges, all of it.
  Operand operand(const PcgNode& node, const IterationSpace& space, std::size_t i, int point, Shards& kept) const {
    const ParallelShape& shape = pcg_.shape(node.inputs[i]);
    const int number = input_shard(space, node.sharding, i, point);
    if (number < 0) {  // another input's summand
      kept.push_back(nullptr);
      return {};
    }
    Place place = place_of(shape, shard_index(shape, number));
    kept.push_back(gathered(node, space, i, point, 0));
    for (std::size_t d = 0; d < space.inputs[i].size(); ++d)
      if (is_bridged(node, space, i, d)) place.offset[d] = 0;
    return {kept.back().get(), std::move(place)};
  }

  static bool is_bridged(const PcgNode& node, const IterationSpace& space, std::size_t i, std::size_t dim) {
    const int l = space.inputs[i][dim];
    return l >= 0 && space.loops[static_cast<std::size_t>(l)].cut == Cut::internal &&
           node.sharding.degrees[static_cast<std::size_t>(l)] > 1;
  }

  // The shard of input i at a point, joined along the dims from `dim` on whose cut an internal collective bridges.
  std::shared_ptr<const FieldTensor> gathered(const PcgNode& node, const IterationSpace& space, std::size_t i, int point,
                                              std::size_t dim) const {
    while (dim < space.inputs[i].size() && !is_bridged(node, space, i, dim)) ++dim;
    if (dim == space.inputs[i].size()) return shards(node.inputs[i])[static_cast<std::size_t>(input_shard(space, node.sharding, i, point))];
    const auto loop = static_cast<std::size_t>(space.inputs[i][dim]);
    int step = 1;  // between points that differ in that loop alone
    for (std::size_t l = loop + 1; l < space.loops.size(); ++l) step *= node.sharding.degrees[l];
    const int degree = node.sharding.degrees[loop];
    const int first = point - point / step % degree * step;
    Shards blocks;
    for (int c = 0; c < degree; ++c) blocks.push_back(gathered(node, space, i, first + c * step, dim + 1));
    return std::make_shared<const FieldTensor>(joined(blocks, dim));
  }

  static void compare_copies(const PcgNode& node, const Shards& shards, const ParallelShape& s) {
    if (s.copy == 1) return;
    for (int p = 0; p < s.shards(); ++p) {
      ShardIndex i = shard_index(s, p);
      if (i.copy == 0) continue;
      i.copy = 0;
      if (*shards[static_cast<std::size_t>(p)] != *shards[static_cast<std::size_t>(shard_number(s, i))])
        throw ShapeError(fmt::format("{}: copies of its output that must be equal are not", node.name));
    }
  }

  const Pcg& pcg_;
  int micro_batch_;
  std::uint64_t seed_;
  std::vector<std::int64_t> limits_;  // by node
  std::map<TensorRef, std::size_t> last_reader_;
  std::vector<std::vector<Shards>> made_;  // by node, by output
};

}  // namespace

std::vector<FieldTensor> evaluate_micro_batch(const Pcg& pcg, int micro_batch, std::uint64_t seed) {
  std::vector<FieldTensor> results;
  std::vector<std::vector<Shards>> made = Evaluation(pcg, micro_batch, seed).run(Evaluation::Kept::results);
  for (TensorRef t : pcg.results())
    results.push_back(whole(std::move(made[t.node.value][static_cast<std::size_t>(t.output)]), pcg.shape(t)));
  return results;
}

std::vector<std::vector<FieldTensor>> evaluate_all(const Pcg& pcg, int micro_batch, std::uint64_t seed) {
  std::vector<std::vector<FieldTensor>> all;
  for (std::vector<Shards>& outputs : Evaluation(pcg, micro_batch, seed).run(Evaluation::Kept::all)) {
    const PcgNode& node = pcg.nodes()[all.size()];
    std::vector<FieldTensor>& values = all.emplace_back();
    for (Shards& shards : outputs) values.push_back(whole(std::move(shards), node.outputs[values.size()]));
  }
  return all;
}

std::vector<std::vector<FieldTensor>> evaluate_shards(const Pcg& pcg, std::uint64_t seed) {
  std::vector<std::vector<FieldTensor>> results;
  const std::vector<std::vector<Shards>> made = Evaluation(pcg, 0, seed).run(Evaluation::Kept::results);
  for (TensorRef t : pcg.results()) {
    results.emplace_back();
    for (const auto& p : made[t.node.value][static_cast<std::size_t>(t.output)]) results.back().push_back(*p);
  }
  return results;
}

// A graph is a PCG in which nothing is cut.
std::vector<FieldTensor> evaluate_micro_batch(const Graph& graph, int micro_batch, std::uint64_t seed) {
  return evaluate_micro_batch(parallelize(graph, unsharded(graph)), micro_batch, seed);
}

}  // namespace pcg
