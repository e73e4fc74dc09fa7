#include "pcg/evaluator/evaluator_attention.hpp"

#include "pcg/evaluator/field.hpp"

namespace pcg {
namespace {

using field::Hash;

enum AttentionTag : std::uint64_t { kWeight = 101, kRope, kMask };

// Reads heads out of the rows of the operands. A group is a key and value head with its queries.
struct Heads {
  Heads(const Attention& op, const ShardTask& t)
      : q(t.inputs[0]), k(t.inputs[op.packed ? 0 : 1]), v(t.inputs[op.packed ? 0 : 2]), rope(op.rope) {
    queries = op.heads / op.kv_heads;
    d = q.place.whole.back() / (op.packed ? op.heads + 2 * op.kv_heads : op.heads);
    q_span = op.packed ? (queries + 2) * d : queries * d;
    kv_span = op.packed ? q_span : d;
    k_begin = op.packed ? queries * d : 0;
    v_begin = op.packed ? (queries + 1) * d : 0;
    groups = q.sizes().back() / q_span;
  }

  static const std::uint32_t* row(const Operand& x, std::int64_t lead, std::int64_t s) {
    const std::vector<std::int64_t>& sizes = x.sizes();
    return x.values->values.data() + (lead * sizes[sizes.size() - 2] + s) * sizes.back();
  }
  [[nodiscard]] std::uint32_t rotated(std::uint32_t x, std::int64_t position, std::int64_t c) const {
    return rope ? Hash(kRope)(x)(static_cast<std::uint64_t>(position))(static_cast<std::uint64_t>(c)).element() : x;
  }

  const Operand &q, &k, &v;
  bool rope;
  std::int64_t queries, d, q_span, kv_span, k_begin, v_begin, groups;
};

struct Query {
  std::int64_t lead, position, head_group, query;  // position in the whole sequence; group and query among those of this shard
};

// Scores of one query against the keys that it may see.
std::vector<std::uint32_t> scores(const Attention& op, const ShardTask& t, const Heads& h, const Query& i) {
  const std::int64_t keys = h.k.sizes()[h.k.sizes().size() - 2];
  const std::int64_t queries = h.q.place.whole[h.q.place.whole.size() - 2];
  const std::int64_t seen = op.causal ? std::min(keys, i.position + 1 + (keys - queries)) : keys;  // the last query sees the last key
  const std::uint32_t* q =
      Heads::row(h.q, i.lead, i.position - h.q.place.offset[h.q.place.offset.size() - 2]) + i.head_group * h.q_span + i.query * h.d;
  std::vector<std::uint32_t> result(static_cast<std::size_t>(std::max<std::int64_t>(seen, 0)));
  for (std::int64_t j = 0; j < seen; ++j) {
    const std::uint32_t* k = Heads::row(h.k, i.lead, j) + i.head_group * h.kv_span + h.k_begin;
    std::uint64_t sum = 0;
    for (std::int64_t c = 0; c < h.d; ++c) sum += field::fold(std::uint64_t{h.rotated(q[c], i.position, c)} * h.rotated(k[c], j, c));
    if (op.has_bias) {
      const FieldTensor& bias = *t.inputs.back().values;
      const std::int64_t buckets = bias.shape.sizes[0], apart = i.position - j, heads = bias.shape.sizes[1];
      const std::int64_t bucket = (apart % buckets + buckets) % buckets;
      sum += bias.values[static_cast<std::size_t>(bucket * heads + i.head_group * h.queries + i.query)];
    }
    result[static_cast<std::size_t>(j)] = field::reduce(sum);
  }
  return result;
}

}  // namespace

// out = sum over keys of weight * value; a weight is a function of all scores of the query and of its own.
FieldTensor run_attention(const Attention& op, const ShardTask& t) {
  const OutputShard& out = t.outputs[0];
  FieldTensor y = blank(out);
  const Heads h(op, t);
  const std::size_t rank = out.shape.sizes.size();
  const std::int64_t rows = out.shape.sizes[rank - 2], width = out.shape.sizes[rank - 1], leads = out.shape.elements() / (rows * width);
  for (std::int64_t lead = 0; lead < leads; ++lead)
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t g = 0; g < h.groups; ++g)
        for (std::int64_t query = 0; query < h.queries; ++query) {
          const Query i{lead, out.place.offset[rank - 2] + row, g, query};
          const std::vector<std::uint32_t> score = scores(op, t, h, i);
          Hash all(kWeight);
          for (std::uint32_t s : score) all(s);
          const std::int64_t first = (lead * rows + row) * width + (g * h.queries + query) * h.d;
          const std::uint64_t place = global_index(out.place, out.shape.sizes, first);
          for (std::size_t j = 0; j < score.size(); ++j) {
            std::uint32_t weight = Hash(all)(score[j]).element();
            if (op.dropout > 0) weight = field::multiply(weight, Hash(kMask)(t.name_hash)(t.micro_batch)(place)(j).element());
            const std::uint32_t* v = Heads::row(h.v, lead, static_cast<std::int64_t>(j)) + g * h.kv_span + h.v_begin;
            for (std::int64_t c = 0; c < h.d; ++c) {
              std::uint32_t& sum = y.values[static_cast<std::size_t>(first + c)];
              sum = field::add(sum, field::multiply(weight, v[c]));
            }
          }
        }
  return y;
}

}  // namespace pcg
