#include <algorithm>

#include "search/rules/matching/match.hpp"
#include "search/rules/matching/pattern.hpp"

namespace rules {

// What is no sum of letters does not occur in rules that were read; "?" stands for a size that nothing has.
SizeText size_text(const Numbers& n) { return {letters_of(n).value_or("?"), n[0]}; }

Learnt learn(LetterSizes& sizes, const SizeText& text, std::int64_t size) {
  if (text.letters.empty()) return text.number == size ? Learnt::agrees : Learnt::disagrees;
  std::int64_t known = 0;
  int unknown = 0, times = 0;
  char letter = 0;
  for (char c : text.letters) {  // sorted: equal letters are neighbours
    if (c == '?') return Learnt::disagrees;
    const std::int64_t s = sizes[index_of(c)];
    known += s;
    if (s != 0) continue;
    if (c != letter) ++unknown;
    letter = c;
    ++times;
  }
  if (unknown > 1) return Learnt::open;
  if (unknown == 0) return known == size ? Learnt::agrees : Learnt::disagrees;
  if (size <= known || (size - known) % times != 0) return Learnt::disagrees;
  sizes[index_of(letter)] = (size - known) / times;
  return Learnt::agrees;
}

namespace {

class OccurrenceSearch {
 public:
  OccurrenceSearch(const GraphIndex& graph, const Pattern& pattern, std::size_t rule) : graph_(graph), p_(pattern), rule_(rule) {}

  // Begins with the operator of the source that the graph has fewest of.
  std::vector<Match> run() {
    const auto rarest = std::ranges::min_element(p_.operators, {}, [&](const PatternOperator& op) {
      const auto [some, others] = candidates(op);
      return some.size() + others.size();
    });
    const auto anchor = static_cast<std::uint8_t>(rarest - p_.operators.begin());
    path_ = &p_.paths[anchor];
    State s;
    s.nodes.fill(kUnbound);
    s.variables.fill(kUnbound);
    for (const std::span<const std::uint32_t> nodes : candidates(*rarest))
      for (std::uint32_t n : nodes) bind(anchor, n, 0, s);
    std::ranges::sort(found_);
    return std::move(found_);
  }

 private:
  static constexpr std::uint32_t kUnbound = 0xffffffff;
  // A sum of two letters identifies the second letter once another size has identified the first; sums of rules have at most three letters.
  static constexpr int kRoundsOfLearning = 3;
  struct State {
    std::array<std::uint32_t, kMostOperators> nodes;
    std::array<TensorId, kMostVariables> variables;
    std::array<bool, kMostOperators> swapped{};
    int row = -1;     // not known
    int excess = -1;  // dims beyond the rule's rank, of tensors that have any; not known
  };

  // The nodes that an operator of the source may be, by the two codes that it accepts.
  std::array<std::span<const std::uint32_t>, 2> candidates(const PatternOperator& op) const {
    const auto of = [&](Code c) { return c == kNoCode ? std::span<const std::uint32_t>() : graph_.of_code(c); };
    return {of(op.code), of(op.other_code)};
  }

  TensorId output_of(const PatternOperator& op, std::uint32_t node) const { return graph_.output(node, op.output_of(graph_.node(node))); }

  void bind(std::uint8_t o, std::uint32_t node, std::size_t step, const State& s) {
    const PatternOperator& op = p_.operators[o];
    const NodeFacts& f = graph_.node(node);
    if (!op.accepts(f.code)) return;
    // A long concat is bound as each of its views, one after another.
    if (const auto views = graph_.views_of(node); !views.empty()) {
      for (const std::uint32_t view : views) bind(o, view, step, s);
      return;
    }
    for (std::size_t other = 0; other < p_.operators.size(); ++other) {  // halves of a split share a node, and nothing else does
      if (s.nodes[other] == kUnbound) continue;
      const bool same = graph_.node_of_graph(s.nodes[other]) == graph_.node_of_graph(node);
      if (same != (op.half == static_cast<int>(other))) return;
    }
    bind_as(o, node, false, step, s);
    if (op.commutative && f.inputs[0] != f.inputs[1]) bind_as(o, node, true, step, s);
  }

  // The state is a copy: whatever is bound on from here is forgotten when the search comes back.
  void bind_as(std::uint8_t o, std::uint32_t node, bool swapped, std::size_t step, State s) {
    const PatternOperator& op = p_.operators[o];
    const NodeFacts& f = graph_.node(node);
    s.nodes[o] = node;
    s.swapped[o] = swapped;
    for (std::uint8_t i = 0; i < op.slot_count; ++i)
      if (!bind_slot(op, i, f.inputs[swapped ? 1U - i : i], s)) return;
    if (!bind_axis(op, f, s)) return;
    // Readers bound before it must read it.
    for (std::size_t r = 0; r < p_.operators.size(); ++r) {
      if (s.nodes[r] == kUnbound || r == o) continue;
      const PatternOperator& reader = p_.operators[r];
      for (std::size_t i = 0; i < reader.slot_count; ++i)
        if (!reader.slots[i].variable && reader.slots[i].index == o &&
            graph_.node(s.nodes[r]).inputs[s.swapped[r] ? 1 - i : i] != output_of(op, node))
          return;
    }
    take(step, s);
  }

  bool bind_slot(const PatternOperator& op, std::uint8_t i, TensorId tensor, State& s) const {
    // An operator that is not bound yet need only be one that may be: it is bound through this one later.
    const Slot slot = op.slots[i];
    if (!slot.variable) {
      const PatternOperator& child = p_.operators[slot.index];
      const std::uint32_t node = s.nodes[slot.index];
      if (node != kUnbound) return output_of(child, node) == tensor;
      const TensorFacts& t = graph_.tensor(tensor);
      const NodeFacts& f = graph_.node(t.node);
      return child.accepts(f.code) && t.output == child.output_of(f);
    }
    TensorId& known = s.variables[slot.index];
    if (known != kUnbound) return known == tensor;
    known = tensor;
    const PatternVariable& v = p_.variables[slot.index];
    const int rank = graph_.tensor(tensor).rank;
    return graph_.tensor(tensor).index == v.index && (!p_.exact_rank || rank == v.rank) && bind_rank(v.rank, rank, s);
  }

  // All tensors that have more dims than the rule have equally many more: they are rows that the rule takes as one.
  static bool bind_rank(int rule_rank, int rank, State& s) {
    const int excess = rank - rule_rank;
    if (excess <= 0) return excess == 0;
    if (s.excess >= 0 && s.excess != excess) return false;
    s.excess = excess;
    return s.row <= excess;
  }

  // The rule's last dims are the last ones of the graph; its dim 0 may be any of the rows, the same one throughout.
  bool bind_axis(const PatternOperator& op, const NodeFacts& f, State& s) const {
    if (f.dim < 0) return true;
    const int excess = graph_.tensor(f.inputs[0]).rank - op.rank;
    if (excess < 0) return false;
    const int axis = op.kind == Kind::transpose ? op.rank - 2 : op.axis;
    if (excess == 0 || axis > 0) return f.dim == axis + excess;
    if (f.dim > excess || (s.row >= 0 && s.row != f.dim)) return false;
    s.row = f.dim;
    return true;
  }

  void take(std::size_t step, const State& s) {
    if (step == path_->size()) return finish(s);
    const Step& next = (*path_)[step];
    const PatternOperator& to = p_.operators[next.to];
    if (next.by == Step::By::producer) {
      const TensorId t = graph_.node(s.nodes[next.from]).inputs[s.swapped[next.from] ? 1U - next.slot : next.slot];
      return bind(next.to, graph_.tensor(t).node, step + 1, s);
    }
    const bool shared = next.by == Step::By::shared;
    const TensorId t = shared ? s.variables[next.from] : output_of(p_.operators[next.from], s.nodes[next.from]);
    std::uint32_t last = kUnbound;
    for (std::uint32_t reader : graph_.readers(t)) {
      if (reader == last || !to.accepts(graph_.node(reader).code)) continue;  // twice a reader: once is enough
      last = reader;
      bind(next.to, reader, step + 1, s);
    }
  }

  void finish(const State& s) {
    if (!is_closed(s) || !windows_agree(s) || !attentions_agree(s) || !scalars_agree(s)) return;
    const std::optional<LetterSizes> sizes = letter_sizes(s);
    if (!sizes) return;
    std::array<DegreeEquation, kMostOperators> equations;
    std::size_t count = 0;
    for (std::size_t o = 0; o < p_.operators.size(); ++o) {
      if (is_movement(p_.operators[o].kind)) equations[count++] = {p_.degrees[o], graph_.node(s.nodes[o]).degree};
    }
    const auto degrees = solve(std::span(equations).first(count));
    if (!degrees) return;
    const int first = std::max(s.row, 0), last = s.row >= 0 ? s.row : rows(s) - 1;
    for (int row = first; row <= last; ++row) {
      Match& m = found_.emplace_back();
      m.rule = rule_;
      m.row = row;
      m.sizes = s.row >= 0 ? *sizes : with_row(s, static_cast<std::size_t>(row), *sizes);
      m.degrees = *degrees;
      for (std::size_t v = 0; v < p_.variables.size(); ++v)
        m.variables.push_back(s.variables[v] == kUnbound ? pcg::TensorRef{} : ref(s.variables[v]));
      for (std::size_t o = 0; o < p_.operators.size(); ++o) {
        m.nodes.emplace_back(graph_.node_of_graph(s.nodes[o]));
        if (const ConcatView* v = graph_.view(s.nodes[o])) m.views.push_back(taken(o, *v, m));
        if (const int scalar = p_.operators[o].scalar; scalar >= 0) m.variables[static_cast<std::size_t>(scalar)] = {m.nodes[o], 0};
      }
    }
  }

  pcg::TensorRef ref(TensorId t) const { return {pcg::NodeId(graph_.tensor(t).node), graph_.tensor(t).output}; }

  // A part of several inputs is named by the first of them.
  ConcatAsTwo taken(std::size_t o, const ConcatView& v, Match& m) const {
    const PatternOperator& op = p_.operators[o];
    const std::array<std::uint32_t, 3> at{v.begin, v.cut, v.end};
    for (std::size_t part = 0; part < 2; ++part)
      if (op.slots[part].variable && at[part + 1] - at[part] > 1)
        m.variables[op.slots[part].index] = ref(graph_.inputs(v.concat)[at[part]]);
    return {o, v.begin, v.cut, v.end};
  }

  // Dims that the rule's dim 0 may stand for, where only the target asks.
  int rows(const State& s) const {
    for (std::uint8_t v : p_.row_choice)
      if (s.variables[v] != kUnbound)
        if (const int excess = graph_.tensor(s.variables[v]).rank - p_.variables[v].rank; excess > 0) return excess + 1;
    return 1;
  }

  // Only the occurrence reads what is computed for it and is not an output. A half of a split that the rule does not speak of stays
  // what it is, and so does a movement for its other readers: nothing is computed twice.
  bool is_closed(const State& s) const {
    for (std::size_t o = 0; o < p_.operators.size(); ++o)
      if (!p_.operators[o].is_output && !is_movement(p_.operators[o].kind)) {
        const TensorId t = output_of(p_.operators[o], s.nodes[o]);
        if (graph_.readers(t).size() != reads_inside(s, t)) return false;
      }
    return true;
  }
  std::size_t reads_inside(const State& s, TensorId t) const {
    std::size_t reads = 0;
    for (std::size_t o = 0; o < p_.operators.size(); ++o) {
      if (p_.operators[o].half > static_cast<int>(o)) continue;  // the other half counts for both
      const NodeFacts& f = graph_.node(s.nodes[o]);
      reads += static_cast<std::size_t>(std::count(f.inputs.begin(), f.inputs.begin() + f.input_count, t));
    }
    return reads;
  }

  bool windows_agree(const State& s) const {
    std::array<const Window*, 3> any{};  // of convolutions, max pools, average pools
    for (std::size_t o = 0; o < p_.operators.size(); ++o) {
      const PatternOperator& op = p_.operators[o];
      const bool conv = is_convolution(op.kind);
      if (!conv && !is_pool(op.kind)) continue;
      const Window& w = graph_.node(s.nodes[o]).window;
      if (!op.any_window) {
        if (w != op.window) return false;
        continue;
      }
      const Window*& first = any[conv ? 0 : op.kind == Kind::max_pool ? 1 : 2];
      if (first && *first != w) return false;
      first = &w;
    }
    return true;
  }

  // All alike; where there are several, none drops anything out, as no rule identifies their masks.
  bool attentions_agree(const State& s) const {
    const pcg::Attention* first = nullptr;
    for (std::size_t o = 0; o < p_.operators.size(); ++o) {
      if (p_.operators[o].kind != Kind::attention) continue;
      const pcg::Attention& a = graph_.attention(graph_.node(s.nodes[o]).attention);
      if (first && (*first != a || a.dropout > 0)) return false;
      first = &a;
    }
    return true;
  }

  bool scalars_agree(const State& s) const {
    for (std::size_t o = 0; o < p_.operators.size(); ++o)
      for (std::size_t q = 0; q < o; ++q)
        if (p_.operators[o].scalar >= 0 && p_.operators[o].scalar == p_.operators[q].scalar &&
            graph_.node(s.nodes[o]).factor != graph_.node(s.nodes[q]).factor)
          return false;
    return true;
  }

  // Equal letters are equal sizes. Learns until nothing is open that can be learnt; what stays open is not identifiable, and is refused.
  // Nullopt: sizes of the graph disagree with the rule's, or leave a letter open.
  std::optional<LetterSizes> letter_sizes(const State& s) const {
    const bool grouped = is_grouped(s);
    if (grouped && !p_.any_heads) return std::nullopt;
    LetterSizes sizes{};
    for (int round = 0; round < kRoundsOfLearning; ++round) {
      const Learnt all = learn_all(s, grouped, sizes);
      if (all == Learnt::disagrees) return std::nullopt;
      if (all == Learnt::agrees) return sizes;
    }
    return std::nullopt;
  }

  Learnt learn_all(const State& s, bool grouped, LetterSizes& sizes) const {
    Learnt all = Learnt::agrees;
    const auto holds = [&](const SizeText& text, std::int64_t size) {
      const Learnt one = learn(sizes, text, size);
      if (one != Learnt::agrees) all = one;
      return one != Learnt::disagrees;
    };
    for (std::size_t v = 0; v < p_.variables.size(); ++v) {
      if (s.variables[v] == kUnbound) continue;
      const PatternVariable& var = p_.variables[v];
      const std::span<const std::int64_t> have = graph_.sizes(s.variables[v]);
      const std::size_t excess = have.size() - var.rank;
      for (std::size_t d = 0; d < var.rank; ++d) {
        if ((var.kernel && d >= 2) || (grouped && var.packed && d == 2)) continue;
        if (d == 0 && excess > 0 && s.row < 0) continue;  // whichever row: the others are alike, which typing sees to
        const std::size_t at = d > 0 ? d + excess : excess > 0 ? static_cast<std::size_t>(s.row) : 0;
        if (!holds(var.sizes[d], have[at])) return all;
      }
    }
    for (std::size_t o = 0; o < p_.operators.size(); ++o)
      if (is_split(p_.operators[o].kind) && !holds(p_.split_at[o], graph_.node(s.nodes[o]).at)) return all;
    return all;
  }

  // The letters of dims 0, once it is chosen which row they are.
  LetterSizes with_row(const State& s, std::size_t row, LetterSizes sizes) const {
    for (int round = 0; round < kRoundsOfLearning; ++round)
      for (std::size_t v = 0; v < p_.variables.size(); ++v) {
        const PatternVariable& var = p_.variables[v];
        if (s.variables[v] == kUnbound || var.rank == 0) continue;
        const std::span<const std::int64_t> have = graph_.sizes(s.variables[v]);
        if (have.size() > var.rank) (void)learn(sizes, var.sizes[0], have[row]);  // typing refuses a target that needs other rows
      }
    return sizes;
  }

  bool is_grouped(const State& s) const {
    for (std::size_t o = 0; o < p_.operators.size(); ++o) {
      if (p_.operators[o].kind != Kind::attention) continue;
      const pcg::Attention& a = graph_.attention(graph_.node(s.nodes[o]).attention);
      if (a.heads != a.kv_heads) return true;
    }
    return false;
  }

  const GraphIndex& graph_;
  const Pattern& p_;
  std::size_t rule_;
  const std::vector<Step>* path_ = nullptr;  // from the operator that the search begins with
  std::vector<Match> found_;
};

}  // namespace

std::vector<Match> occurrences(const GraphIndex& graph, const Pattern& pattern, std::size_t rule) {
  return OccurrenceSearch(graph, pattern, rule).run();
}

}  // namespace rules
