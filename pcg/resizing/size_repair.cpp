// Random sizes seldom fit together: a residual adds a derived size to a free one, heads must divide a width. Where an operator would
// refuse its inputs, one free size can often be named that has to change.
#include "pcg/resizing/size_repair.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pcg/operators/head_dims.hpp"

namespace pcg {
namespace {

using Sizes = std::vector<std::int64_t>;
using Repair = std::optional<SizeRepair>;

constexpr std::int64_t kMostTokens = 4096;  // more would not be small sizes to try a plan with

std::int64_t product(const Sizes& s) { return std::accumulate(s.begin(), s.end(), std::int64_t{1}, std::multiplies<>()); }

struct Situation {
  const Operator& changed;
  std::span<const TensorShape> before, after;
  const SizeMap& map;
  const SizeLaws& laws;
  const InputSegments& segments;

  [[nodiscard]] std::int64_t degree(std::int64_t old_size) const {
    const auto it = laws.find(old_size);
    return it == laws.end() ? 1 : it->second.modulus;
  }
  [[nodiscard]] Sizes last(std::size_t i) const { return segments(i, before[i].sizes.size() - 1); }
  [[nodiscard]] bool is_free(std::int64_t size) const { return map.contains(size); }
  [[nodiscard]] std::int64_t mapped(std::int64_t size) const { return new_size(map, size); }
  [[nodiscard]] std::int64_t mapped(const Sizes& run) const {
    return std::accumulate(run.begin(), run.end(), std::int64_t{0}, [&](std::int64_t sum, std::int64_t s) { return sum + mapped(s); });
  }
  // A size that follows the map becomes another: its last segment that can make up the difference changes.
  [[nodiscard]] Repair become(const Sizes& run, std::int64_t wanted) const {
    const std::int64_t now = mapped(run);
    for (std::size_t p = run.size(); p-- > 0;) {
      const auto count = static_cast<std::int64_t>(std::ranges::count(run, run[p]));
      const std::int64_t size = mapped(run[p]) + (wanted - now) / count;
      if (wanted != now && is_free(run[p]) && (wanted - now) % count == 0 && size >= 1) return SizeRepair{run[p], size};
    }
    return std::nullopt;
  }
  // Two sizes of a dim of input i must agree: the one that follows the map follows the other.
  [[nodiscard]] Repair agree(std::size_t i, std::size_t d, std::int64_t a, std::int64_t b) const {
    if (a == b) return std::nullopt;
    const Sizes run = segments(i, d);
    return become(run, a == mapped(run) ? b : a);
  }
  // Holds dims `from` .. `to` - 1 of inputs i and j against each other, where they had equal sizes.
  [[nodiscard]] Repair agree_dims(std::size_t i, std::size_t j, std::size_t from, std::size_t to) const {
    for (std::size_t d = from; d < to; ++d)
      if (before[i].sizes[d] == before[j].sizes[d])
        if (auto r = agree(i, d, after[i].sizes[d], after[j].sizes[d])) return r;
    return std::nullopt;
  }
  // A dim of input 0 that is summed over, and of the weight where that does not follow from the operator.
  [[nodiscard]] Repair agree_product(std::size_t of_input, std::size_t of_weight) const {
    return after[1].sizes.empty() ? std::nullopt : agree(0, of_input, after[0].sizes[of_input], after[1].sizes[of_weight]);
  }
  // A size that must be a multiple: all of its segments are.
  [[nodiscard]] Repair divide(const Sizes& run, std::int64_t size, std::int64_t divisor) const {
    if (divisor < 1 || size % divisor == 0) return std::nullopt;
    for (std::int64_t segment : run)
      if (is_free(segment) && mapped(segment) % divisor != 0) return SizeRepair{segment, 0, divisor};
    return std::nullopt;
  }
};

template <class Other>
Repair repair(const Other&, const Situation&) {
  return std::nullopt;
}

// Broadcasting aligns the last dims.
Repair aligned(const Situation& s) {
  const Sizes &a = s.before[0].sizes, &b = s.before[1].sizes;
  for (std::size_t d = 0; d < b.size(); ++d) {
    const std::size_t at = a.size() - b.size() + d;
    if (a[at] == b[d])
      if (auto r = s.agree(1, d, s.after[0].sizes[at], s.after[1].sizes[d])) return r;
  }
  return std::nullopt;
}
Repair repair(const Binary&, const Situation& s) { return aligned(s); }
Repair repair(const SquaredError&, const Situation& s) { return aligned(s); }

Repair repair(const Summands&, const Situation& s) {
  for (std::size_t i = 1; i < s.before.size(); ++i)
    if (auto r = s.agree_dims(0, i, 0, s.before[0].sizes.size())) return r;
  return std::nullopt;
}

Repair repair(const Concat& o, const Situation& s) {
  const std::size_t rank = s.before[0].sizes.size(), axis = resolve_axis(o.axis, rank);
  for (std::size_t i = 1; i < s.before.size(); ++i) {
    if (auto r = s.agree_dims(0, i, 0, axis)) return r;
    if (auto r = s.agree_dims(0, i, axis + 1, rank)) return r;
  }
  return std::nullopt;
}

Repair repair(const Linear& o, const Situation& s) { return s.agree_product(s.before[0].sizes.size() - 1, o.transposed_weight ? 1 : 0); }

Repair repair(const CrossEntropy&, const Situation& s) { return s.agree_dims(0, 1, 0, s.before[1].sizes.size()); }

Repair repair(const BatchMatmul& o, const Situation& s) {
  const std::size_t rank = s.before[0].sizes.size();
  if (auto r = s.agree_dims(0, 1, 0, rank - 2)) return r;
  return s.agree(0, rank - 1, s.after[0].sizes[rank - 1], s.after[1].sizes[o.transpose_b ? rank - 1 : rank - 2]);
}

Repair repair(const Conv2d& o, const Situation& s) {
  const Conv2d& now = std::get<Conv2d>(s.changed);
  if (o.groups == 1)
    if (auto r = s.agree_product(1, 1)) return r;
  if (auto r = s.divide(s.segments(0, 1), s.after[0].sizes[1], now.groups)) return r;
  return s.divide(s.segments(1, 0), now.out, now.groups);
}

// Keys are as wide as queries by head, values of any width that divides by heads; those that were as wide as keys stay so.
Repair separate_widths(const Situation& s, std::int64_t heads, std::int64_t kv) {
  const std::int64_t width = s.after[0].sizes.back() / heads * kv;
  if (s.after[1].sizes.back() != width)
    if (auto r = s.become(s.last(1), width)) return r;
  if (s.before[2].sizes.back() == s.before[1].sizes.back() && s.after[2].sizes.back() != width)
    if (auto r = s.become(s.last(2), width)) return r;
  return s.divide(s.last(2), s.after[2].sizes.back(), kv);
}

// In each head a query is wider than what keys share, and the rest of a key leaves room for a value.
Repair latent_widths(const Attention&, const Situation& s, std::int64_t heads, std::int64_t kv) {
  const std::int64_t shared = s.after[2].sizes.back(), query = s.after[0].sizes.back() / heads;
  const std::int64_t old_query = s.before[0].sizes.back(), old_both = s.before[1].sizes.back();
  if (query <= shared) return s.is_free(old_query) ? Repair(SizeRepair{old_query, heads * (shared + 1)}) : std::nullopt;
  if (auto r = s.divide(s.last(1), s.after[1].sizes.back(), kv)) return r;
  if (s.after[1].sizes.back() / kv > query - shared || !s.is_free(old_both)) return std::nullopt;
  return SizeRepair{old_both, kv * (query - shared + 1)};
}

// Key heads divide heads, and heads divide the width; queries, keys and values then have equal widths by head.
Repair repair(const Attention& o, const Situation& s) {
  const std::int64_t heads = s.mapped(o.heads), kv = s.mapped(o.kv_heads);
  if (auto r = s.divide({o.heads}, heads, kv)) return r;
  if (heads % kv != 0) return std::nullopt;
  const std::int64_t parts = o.packed ? heads + 2 * kv : heads;
  if (auto r = s.divide(s.last(0), s.after[0].sizes.back(), parts)) return r;
  if (o.packed || s.after[0].sizes.back() % parts != 0) return std::nullopt;
  for (std::size_t i = 1; i <= 2; ++i)
    if (auto r = s.agree_dims(0, i, 0, s.before[0].sizes.size() - 2)) return r;
  return o.latent ? latent_widths(o, s, heads, kv) : separate_widths(s, heads, kv);
}

// Groups divide heads; the width is then that of heads about as wide as it now has room for.
Repair repair(const StateSpace& o, const Situation& s) {
  const StateSpace changed{.heads = s.mapped(o.heads), .groups = s.mapped(o.groups), .state = s.mapped(o.state)};
  if (auto r = s.divide({o.heads}, changed.heads, changed.groups)) return r;
  const std::int64_t width = s.after[0].sizes.back();
  if (changed.heads % changed.groups != 0 || try_state_space_dims(changed, width)) return std::nullopt;
  const std::int64_t of_heads = width - 2 * changed.groups * changed.state;
  return s.become(s.last(0), state_space_width(changed, std::max<std::int64_t>(1, (of_heads / changed.heads - 1) / 2)));
}

Repair repair(const Split& o, const Situation& s) {
  const std::size_t axis = resolve_axis(o.axis, s.before[0].sizes.size());
  const Sizes& now = std::get<Split>(s.changed).sizes;
  const std::int64_t sum = std::accumulate(now.begin(), now.end(), std::int64_t{0});
  const std::int64_t have = s.after[0].sizes[axis];
  if (sum == have) return std::nullopt;
  // Without cuts the whole follows the map; else it follows from something else, and a part makes up for it.
  const Sizes whole = s.segments(0, axis);
  if (whole.size() == 1 && s.is_free(whole[0]) && have == s.mapped(whole[0])) return SizeRepair{whole[0], sum};
  return s.become(whole.size() == 1 ? o.sizes : whole, have);
}

// Dims are matched in runs of equal product; where the product of a run no longer agrees, its last free size is set, else a free
// size of the input.
Repair repair(const Reshape& o, const Situation& s) {
  const Sizes& now = std::get<Reshape>(s.changed).sizes;
  if (std::ranges::find(o.sizes, -1) != o.sizes.end()) {
    std::int64_t known = 1, open = 0;
    for (std::size_t d = 0; d < o.sizes.size(); ++d)
      if (o.sizes[d] >= 0) known *= o.sizes[d] == 0 ? s.after[0].sizes[d] : now[d];
    for (std::int64_t size : o.sizes)
      if (size > 1 && s.is_free(size)) open = size;
    // The rest must be whole: the last free size of the input grows until it is.
    if (known > 0 && product(s.after[0].sizes) % known == 0) return std::nullopt;
    for (std::size_t d = s.before[0].sizes.size(); d-- > 0;)
      if (s.is_free(s.before[0].sizes[d]) && open > 0 && s.before[0].sizes[d] % open == 0 && s.after[0].sizes[d] % s.mapped(open) != 0)
        return s.divide(s.segments(0, d), s.after[0].sizes[d], s.mapped(open));
    return std::nullopt;
  }
  const Sizes& x = s.before[0].sizes;
  std::size_t i = 0, j = 0;
  while (i < x.size() && j < o.sizes.size()) {
    auto old_out = [&](std::size_t d) { return o.sizes[d] == 0 ? x[d] : o.sizes[d]; };
    auto new_out = [&](std::size_t d) { return o.sizes[d] == 0 ? s.after[0].sizes[d] : now[d]; };
    std::int64_t left = x[i], right = old_out(j), new_left = s.after[0].sizes[i], new_right = new_out(j);
    std::size_t i_end = i + 1, j_end = j + 1;
    while (left != right) {
      if (left < right && i_end < x.size()) left *= x[i_end], new_left *= s.after[0].sizes[i_end++];
      else if (left > right && j_end < o.sizes.size()) right *= old_out(j_end), new_right *= new_out(j_end++);
      else return std::nullopt;
    }
    if (new_left != new_right) {
      for (std::size_t d = j_end; d-- > j;)
        if (o.sizes[d] > 1 && s.is_free(o.sizes[d]) && new_left % (new_right / new_out(d)) == 0)
          return SizeRepair{o.sizes[d], new_left / (new_right / new_out(d))};
      for (std::size_t d = i_end; d-- > i;)
        if (s.is_free(x[d]) && new_right % (new_left / s.after[0].sizes[d]) == 0)
          return SizeRepair{x[d], new_right / (new_left / s.after[0].sizes[d])};
      return std::nullopt;
    }
    i = i_end;
    j = j_end;
  }
  return std::nullopt;
}

Repair enough_experts(int top_k, std::int64_t old_experts, std::int64_t experts, const Situation& s) {
  return experts >= top_k || !s.is_free(old_experts) ? std::nullopt : std::optional(SizeRepair{old_experts, top_k * experts});
}
// The places of a sample at each expert follow from its tokens: where ranks share the places, there must be enough tokens that the
// shares are equal.
Repair divisible_places(const MoeDispatch& o, const Situation& s) {
  const auto places = [&](std::int64_t tokens, std::int64_t experts) {
    return static_cast<std::int64_t>(
        std::ceil(o.top_k * static_cast<double>(tokens) * o.capacity_factor * o.imbalance / static_cast<double>(experts)));
  };
  const std::int64_t old_tokens = s.before[1].sizes[1], tokens = s.after[1].sizes[1], experts = s.after[1].sizes[2];
  const std::int64_t degree = s.degree(places(old_tokens, s.before[1].sizes[2])), step = s.degree(old_tokens);
  if (!s.is_free(old_tokens) || places(tokens, experts) % degree == 0) return std::nullopt;
  const auto taken = [&](std::int64_t n) {
    return std::ranges::any_of(s.map, [&](const auto& entry) { return entry.first != old_tokens && entry.second == n; });
  };
  for (std::int64_t n = tokens + step; n <= kMostTokens; n += step)
    if (places(n, experts) % degree == 0 && !taken(n)) return SizeRepair{old_tokens, n};
  return std::nullopt;
}
Repair repair(const MoeDispatch& o, const Situation& s) {
  if (auto r = s.agree_dims(0, 1, 0, 2)) return r;
  if (auto r = enough_experts(o.top_k, s.before[1].sizes[2], s.after[1].sizes[2], s)) return r;
  return divisible_places(o, s);
}
Repair repair(const MoeCombine& o, const Situation& s) { return enough_experts(o.top_k, s.before[1].sizes[2], s.after[1].sizes[2], s); }

class Reading {
 public:
  Reading(const Pcg& pcg, const Together& one) : pcg_(pcg), one_(one) {}

  SizeLaws run() {
    std::vector<std::vector<GraphTensorRef>> serial;  // by node of the PCG: its outputs there
    std::uint32_t next = 0;
    for (const PcgNode& node : pcg_.nodes()) {
      if (node.parallel_operator()) {
        serial.push_back({serial[node.inputs[0].node.value][static_cast<std::size_t>(node.inputs[0].output)]});
      } else {
        if (std::holds_alternative<Summands>(*node.operation()) && node.inputs.size() > 2)
          next += static_cast<std::uint32_t>(node.inputs.size()) - 2;
        std::vector<GraphTensorRef>& outputs = serial.emplace_back();
        for (std::size_t o = 0; o < node.outputs.size(); ++o) outputs.push_back({GraphNodeId(next), static_cast<int>(o)});
        ++next;
        if (node.computes()) of_counts(node);
      }
      for (std::size_t o = 0; o < node.outputs.size(); ++o)
        for (std::size_t d = 0; d < node.outputs[o].dims.size(); ++d)
          if (const int degree = node.outputs[o].dims[d].degree; degree > 1)
            for (std::int64_t segment : one_.segments.of(one_.number, serial.back()[o], d)) need(segment, degree);
    }
    return std::move(result_);
  }

 private:
  void need(std::int64_t size, std::int64_t degree) {
    std::int64_t& modulus = result_[size].modulus;
    modulus = std::lcm(modulus, degree);
  }
  // Loops over heads and groups.
  void of_counts(const PcgNode& node) {
    const IterationSpace& space = *node.space;
    std::vector<bool> is_size(space.loops.size(), false);
    const auto look = [&](const std::vector<int>& loops, const ParallelShape& shape) {
      for (std::size_t d = 0; d < loops.size(); ++d)
        if (loops[d] >= 0 && shape.dims[d].size == space.loops[static_cast<std::size_t>(loops[d])].size)
          is_size[static_cast<std::size_t>(loops[d])] = true;
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) look(space.inputs[i], pcg_.shape(node.inputs[i]));
    for (std::size_t o = 0; o < node.outputs.size(); ++o) look(space.outputs[o], node.outputs[o]);
    for (std::size_t l = 0; l < space.loops.size(); ++l)
      if (!is_size[l] && node.sharding.degrees[l] > 1) need(space.loops[l].size, node.sharding.degrees[l]);
  }

  const Pcg& pcg_;
  const Together& one_;
  SizeLaws result_;
};

}  // namespace

std::optional<SizeRepair> repair_sizes(const Operator& op, const Operator& changed, std::span<const TensorShape> before,
                                       std::span<const TensorShape> after, const SizeMap& map, const SizeLaws& laws,
                                       const InputSegments& segments) {
  return std::visit([&](const auto& o) { return repair(o, Situation{changed, before, after, map, laws, segments}); }, op);
}

bool allows(const SizeLaws& laws, std::int64_t old_size, std::int64_t new_size) {
  const auto it = laws.find(old_size);
  return it == laws.end() || ((new_size - old_size) % it->second.modulus == 0 && new_size % it->second.multiple == 0);
}

SizeLaws laws_of_degrees(const Pcg& pcg, const Together& serial) { return Reading(pcg, serial).run(); }

}  // namespace pcg
