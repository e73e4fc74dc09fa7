#include "planted.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/sharding/sharding.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "search/rules/language/text.hpp"
#include "search/rules/matching/pattern.hpp"
#include "search/rules/rewriting/target.hpp"

namespace rules::rewriting {
namespace {

using pcg::NodeId;
using pcg::TensorRef;

constexpr std::array<int, 2> kDegrees{2, 2};

// A rule's degree at kDegrees, from its values in the assignments.
int degree_of(const Numbers& values) { return *degree_at(degree_from(values).value(), kDegrees); }

class Plant {
 public:
  Plant() : builder_("planted", {{"all", true}}) {}

  // Whether the rule's source could be planted.
  bool add(const Rule& rule) {
    unit_ = unit_for(rule);
    Match match;
    for (const Variable& v : rule.equation.variables()) match.variables.push_back(variable(v));
    for (char c = 'a'; c <= 'z'; ++c) match.sizes[index_of(c)] = size_of(c);
    Equation from_nothing{rule.equation.variables(), {}, rule.source()};  // or from an attention, whose heads the source takes
    if (std::ranges::count(rule.source().nodes, Kind::attention, &Node::kind) > 0) add_attention(from_nothing, match);
    const Rule source{.name = "planted", .equation = TypedEquation::make(std::move(from_nothing)).value(), .axioms = {}};
    pcg::PcgBuilder copy = builder_;
    const base::Attempt<Target> planted = instantiate(source, match, std::move(copy).build(), kDegrees);
    if (!planted) return false;
    const Target& t = *planted;
    std::vector<NodeId> made;
    for (const FreshNode& n : t.nodes) {
      std::vector<TensorRef> in;
      for (const Wire& w : n.inputs) in.push_back({w.fresh ? made[w.node] : NodeId(w.node), w.output});
      if (const auto* op = std::get_if<pcg::Operator>(&n.op)) made.push_back(builder_.add(name(), *op, in, n.sharding, 0));
      else made.push_back(builder_.add(name(), std::get<pcg::ParallelOperator>(n.op), in[0], 0));
    }
    for (const Wire& w : t.outputs) read({w.fresh ? made[w.node] : NodeId(w.node), w.output});
    return true;
  }
  // Somebody reads every output, so that a variable may take its place.
  void read(TensorRef t) {
    const pcg::ParallelShape s = builder_.shape(t);
    const pcg::Unary identity{pcg::Unary::Kind::identity};
    const pcg::IterationSpace space = pcg::iteration_space(identity, std::vector{s.whole()});
    builder_.add(name(), identity, {t}, *pcg::infer_sharding(space, std::vector{s}), 0);
  }
  [[nodiscard]] pcg::Pcg build() && { return std::move(builder_).build(); }

 private:
  // Room for three degrees, or, where nothing is computed, for all that layout operators of one dim cut; more dims would be large.
  static std::int64_t unit_for(const Rule& rule) {
    const auto has_rank = [&](int least) {
      return std::ranges::any_of(rule.equation.variables(), [&](const Variable& v) { return v.types[0].rank >= least; });
    };
    if (has_rank(3)) return 4;
    return kind_of(rule.equation) == RuleKind::parallel ? (has_rank(2) ? 16 : 64) : 8;
  }
  // 1, 2, 3, 4 units in turn, for letters in the order of the alphabet: neighbours differ.
  [[nodiscard]] std::int64_t size_of(char letter) const { return unit_ * (1 + (letter - 'a') % 4); }
  [[nodiscard]] std::int64_t size_of(const Numbers& n) const {
    const SizeText text = size_text(n);
    std::int64_t sum = text.letters.empty() ? text.number : 0;
    for (char c : text.letters) sum += size_of(c);
    return sum;
  }

  std::string name() { return fmt::format("n{}", count_++); }

  TensorRef variable(const Variable& v) {
    const Type &a = v.types[0], &b = v.types[1], &c = v.types[2];
    pcg::ParallelShape s;
    s.element = a.index ? pcg::Element::index : pcg::Element::real;
    for (std::size_t d = 0; d < a.rank; ++d)
      s.dims.push_back({size_of(dim_size(v.types, d)), degree_of({a.degree[d], b.degree[d], c.degree[d]})});
    s.sum = degree_of({a.summands, b.summands, c.summands});
    s.copy = degree_of({a.copies, b.copies, c.copies});
    if (a.rank == 0) {  // a number is the factor of a scaling
      s.dims = {{4, 1}};
      return {builder_.add(name(), pcg::Unary{pcg::Unary::Kind::scale, static_cast<double>(3 + count_)}, {tensor(s)}, {.degrees = {1}}, 0),
              0};
    }
    return tensor(s);
  }
  // Eight heads; sizes that are no rule's.
  void add_attention(Equation& source, Match& match) {
    const auto v = static_cast<std::uint8_t>(source.variables.size());
    source.variables.push_back(parse_variable("heads: [2, 4, 24]"));
    source.left = {.nodes = {{.kind = Kind::variable, .variable = v}, {.kind = Kind::attention, .inputs = {0}}}, .outputs = {1}};
    const TensorRef qkv = tensor({.dims = {{2, 1}, {4, 1}, {24, 1}}});
    match.variables.push_back(qkv);
    const pcg::Attention op{.heads = 8, .kv_heads = 8};
    const pcg::IterationSpace space = pcg::iteration_space(op, std::vector{builder_.shape(qkv).whole()});
    match.nodes.push_back(builder_.add(name(), op, {qkv}, pcg::unsharded(space), 0));
  }
  // Partial sums are made by a reduction over one more dim.
  TensorRef tensor(const pcg::ParallelShape& s) {
    pcg::Sharding cut{.degrees = {}, .copies = s.copy};
    pcg::TensorShape whole = s.whole();
    if (s.sum > 1) {
      whole.sizes.insert(whole.sizes.begin(), s.sum);
      cut.degrees.push_back(s.sum);
    }
    for (const pcg::ParallelDim& d : s.dims) cut.degrees.push_back(d.degree);
    const TensorRef x{builder_.add(name(), pcg::Input{whole}, {}, cut, 0), 0};
    if (s.sum == 1) return x;
    return {builder_.add(name(), pcg::Reduction{.axis = 0}, {x}, cut, 0), 0};
  }

  pcg::PcgBuilder builder_;
  std::int64_t unit_ = 4;
  int count_ = 0;
};

}  // namespace

std::optional<pcg::Pcg> planted(std::span<const Rule> rules) {
  Plant plant;
  try {
    for (const Rule& r : rules)
      if (!plant.add(r)) return std::nullopt;
  } catch (const pcg::ShapeError&) { return std::nullopt; }  // a source of one of the rule's variables cannot lie so
  return std::move(plant).build();
}

pcg::Pcg serial_pcg(const pcg::Graph& g) { return pcg::parallelize(g, pcg::unsharded(g)); }

std::vector<pcg::ParallelShape> result_shapes(const pcg::Pcg& g) {
  std::vector<pcg::ParallelShape> shapes;
  for (TensorRef t : g.results()) shapes.push_back(g.shape(t));
  return shapes;
}

Match match_at(std::size_t number, const Rule& rule, const pcg::Pcg& graph, pcg::TensorRef tensor, int row, const LetterSizes& chosen) {
  Match m{.rule = number, .nodes = {}, .variables = {tensor}, .row = row, .views = {}, .degrees = {0, 0}, .sizes = chosen};
  const Types& types = rule.equation.variables()[0].types;
  const std::vector<std::int64_t> have = graph.shape(tensor).whole().sizes;
  if (have.size() < types[0].rank) return m;  // applying it says so
  const std::size_t excess = have.size() - types[0].rank;
  for (std::size_t d = 0; d < types[0].rank; ++d)
    (void)learn(m.sizes, size_text(dim_size(types, d)), have[d > 0 || excess == 0 ? d + excess : static_cast<std::size_t>(row)]);
  return m;
}

}  // namespace rules::rewriting
