#include "pcg/evaluator/evaluator_operator.hpp"

#include <algorithm>

#include "pcg/operators/head_dims.hpp"

namespace pcg {
namespace {

using field::Hash;

enum AttentionTag : std::uint64_t { kWeight = 101, kRope, kMask, kNorm };

using Vector = std::vector<std::uint32_t>;  // of one query, key or value

// Reads heads out of the rows of the operands. A group is a key and value head with its queries.
class Heads {
 public:
  Heads(const Attention& op, const ShardTask& t) : queries(op.heads / op.kv_heads), op_(op), t_(t) {
    std::vector<TensorShape> whole;
    for (const Operand& x : t.inputs) whole.push_back({.sizes = x.place.whole});
    dims = head_dims(op, whole);
    q_span_ = op.packed ? (queries + 2) * dims.query : queries * dims.query;
    groups = t.inputs[0].sizes().back() / q_span_;
  }

  [[nodiscard]] std::int64_t keys() const {
    const std::vector<std::int64_t>& sizes = key_operand().sizes();
    return sizes[sizes.size() - 2];
  }
  // `position` in the whole sequence.
  [[nodiscard]] Vector query(std::int64_t lead, std::int64_t position, std::int64_t group, std::int64_t query) const {
    const std::vector<std::int64_t>& offset = t_.inputs[0].place.offset;  // a packed input is there with all its keys
    const std::uint32_t* q = row_of(t_.inputs[0], lead, position - offset[offset.size() - 2]) + group * q_span_ + query * dims.query;
    return placed(Vector(q, q + dims.query), position, 0);
  }
  [[nodiscard]] Vector key(std::int64_t lead, std::int64_t position, std::int64_t group) const {
    const std::uint32_t* row = row_of(key_operand(), lead, position);
    if (op_.packed) row += group * q_span_ + queries * dims.query;
    else row += group * (op_.latent ? dims.query - dims.shared + dims.value : dims.query);
    Vector k(row, row + dims.query - dims.shared);
    if (op_.latent) {
      const std::uint32_t* shared = row_of(t_.inputs[2], lead, position);
      k.insert(k.end(), shared, shared + dims.shared);
    }
    return placed(std::move(k), position, 1);
  }
  [[nodiscard]] const std::uint32_t* value(std::int64_t lead, std::int64_t position, std::int64_t group) const {
    if (op_.packed) return row_of(t_.inputs[0], lead, position) + group * q_span_ + (queries + 1) * dims.query;
    if (!op_.latent) return row_of(t_.inputs[2], lead, position) + group * dims.value;
    const std::int64_t own = dims.query - dims.shared;
    return row_of(t_.inputs[1], lead, position) + group * (own + dims.value) + own;
  }
  // The weights of a head depend on its scores and on its sink.
  [[nodiscard]] Hash start(std::int64_t group, std::int64_t query) const {
    Hash all(kWeight);
    if (op_.sinks)
      all(t_.inputs[attention_activations(op_) + (op_.qk_norm ? 2U : 0U)]
              .values->values[static_cast<std::size_t>(group * queries + query)]);
    return all;
  }

  HeadDims dims;
  std::int64_t queries, groups = 0;

 private:
  [[nodiscard]] const Operand& key_operand() const { return t_.inputs[op_.packed ? 0 : 1]; }
  static const std::uint32_t* row_of(const Operand& x, std::int64_t lead, std::int64_t s) {
    const std::vector<std::int64_t>& sizes = x.sizes();
    return x.values->values.data() + (lead * sizes[sizes.size() - 2] + s) * sizes.back();
  }
  // Normalised with gain number `gain` (0: of queries, 1: of keys) and rotated, as the operator says.
  [[nodiscard]] Vector placed(Vector x, std::int64_t position, std::size_t gain) const {
    if (op_.qk_norm) {
      const std::vector<std::uint32_t>& gains = t_.inputs[attention_activations(op_) + gain].values->values;
      Hash statistics(kNorm);
      for (const std::uint32_t v : x) statistics(v);
      for (std::size_t c = 0; c < x.size(); ++c) x[c] = field::multiply(Hash(statistics)(x[c]).element(), gains[c]);
    }
    const std::size_t first = op_.latent ? x.size() - static_cast<std::size_t>(dims.shared) : 0;
    for (std::size_t c = first; op_.rope && c < x.size(); ++c)
      x[c] = Hash(kRope)(x[c])(static_cast<std::uint64_t>(position))(static_cast<std::uint64_t>(c)).element();
    return x;
  }

  const Attention& op_;
  const ShardTask& t_;
  std::int64_t q_span_ = 0;
};

struct Query {
  std::int64_t lead, row, position, group, query;  // position in the whole sequence; the others among those of this shard
};

// The keys that a query may see, [first, end).
struct Seen {
  std::int64_t first, end;
};
Seen seen_by(const Attention& op, std::int64_t position, std::int64_t queries, std::int64_t keys) {
  if (!op.causal) return {0, keys};
  const std::int64_t at = position + (keys - queries);  // the last query sees the last key
  Seen seen{0, std::clamp<std::int64_t>(at + 1, 0, keys)};
  if (op.window > 0) seen.first = std::clamp<std::int64_t>(op.chunked ? at / op.window * op.window : at + 1 - op.window, 0, seen.end);
  return seen;
}

Vector scores(const Attention& op, const ShardTask& t, const Heads& h, const Query& i, const Seen& seen) {
  const Vector q = h.query(i.lead, i.position, i.group, i.query);
  Vector result;
  for (std::int64_t j = seen.first; j < seen.end; ++j) {
    const Vector k = h.key(i.lead, j, i.group);
    std::uint64_t sum = 0;
    for (std::size_t c = 0; c < q.size(); ++c) sum += field::fold(std::uint64_t{q[c]} * k[c]);
    if (op.has_bias) {
      const FieldTensor& bias = *t.inputs.back().values;
      const std::int64_t buckets = bias.shape.sizes[0], apart = i.position - j, heads = bias.shape.sizes[1];
      const std::int64_t bucket = (apart % buckets + buckets) % buckets;
      sum += bias.values[static_cast<std::size_t>(bucket * heads + i.group * h.queries + i.query)];
    }
    result.push_back(field::reduce(sum));
  }
  return result;
}

// Adds weight * value over the keys that a query sees; a weight is a function of all scores of the query and of its own.
void add_values(const Attention& op, const ShardTask& t, const Heads& h, const Query& i, FieldTensor& y) {
  const OutputShard& out = t.outputs[0];
  const std::vector<std::int64_t>& sizes = out.shape.sizes;
  const Seen seen = seen_by(op, i.position, t.inputs[0].place.whole[sizes.size() - 2], h.keys());
  const Vector score = scores(op, t, h, i, seen);
  Hash all = h.start(i.group, i.query);
  for (const std::uint32_t s : score) all(s);
  const std::int64_t first = (i.lead * sizes[sizes.size() - 2] + i.row) * sizes.back() + (i.group * h.queries + i.query) * h.dims.value;
  const std::uint64_t place = global_index(out.place, sizes, first);
  for (std::int64_t j = seen.first; j < seen.end; ++j) {
    std::uint32_t weight = Hash(all)(score[static_cast<std::size_t>(j - seen.first)]).element();
    if (op.dropout > 0)
      weight = field::multiply(weight, Hash(kMask)(t.name_hash)(t.micro_batch)(place)(static_cast<std::uint64_t>(j)).element());
    const std::uint32_t* v = h.value(i.lead, j, i.group);
    for (std::int64_t c = 0; c < h.dims.value; ++c) {
      std::uint32_t& sum = y.values[static_cast<std::size_t>(first + c)];
      sum = field::add(sum, field::multiply(weight, v[c]));
    }
  }
}

}  // namespace

FieldTensor run_attention(const Attention& op, const ShardTask& t) {
  const OutputShard& out = t.outputs[0];
  FieldTensor y = blank(out);
  const Heads h(op, t);
  const std::size_t rank = out.shape.sizes.size();
  const std::int64_t rows = out.shape.sizes[rank - 2], leads = out.shape.elements() / (rows * out.shape.sizes[rank - 1]);
  for (std::int64_t lead = 0; lead < leads; ++lead)
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t g = 0; g < h.groups; ++g)
        for (std::int64_t query = 0; query < h.queries; ++query)
          add_values(op, t, h, {lead, row, out.place.offset[rank - 2] + row, g, query}, y);
  return y;
}

}  // namespace pcg
