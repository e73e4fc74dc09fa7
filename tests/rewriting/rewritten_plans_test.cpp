// Models rewritten by algebraic rules and cut over devices: `foreshard check` finds that such plans compute what their models do, and finds
// faults in them.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <fmt/core.h>

#include <map>
#include <numeric>
#include <optional>

#include "base/random.hpp"
#include "generated.hpp"
#include "pcg/evaluator/equivalence.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/models/load.hpp"
#include "planted.hpp"
#include "rules.hpp"
#include "search/rules/language/text.hpp"
#include "tests/oracles/evaluation.hpp"

namespace rules::rewriting {
namespace {

using pcg::Graph;
using pcg::GraphNodeId;
using pcg::GraphTensorRef;

// generated() has relu alone; what holds of it holds of every function.
const std::vector<Rule>& algebraic() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> some;
    for (const Rule& r : generated()) {
      if (kind_of(r.equation) != RuleKind::algebraic) continue;
      some.push_back(r);
      Equation e = r.equation;
      for (Term* t : {&e.left, &e.right})
        for (Node& n : t->nodes)
          if (n.function != Function::none) n.function = Function::gelu;
      if (e == r.equation) continue;
      if (auto typed = TypedEquation::make(std::move(e))) some.push_back({r.name, std::move(*typed), r.forward, {}});
    }
    return some;
  }();
  return rules;
}

// The model behind `steps` random rewrites, rules taken evenly; what was used is added to `used`.
Graph rewritten(const Graph& model, Matcher& matcher, int steps, base::Random& random, std::map<std::string, int>& used) {
  pcg::Pcg g = serial_pcg(model);
  matcher.restart(g);
  for (int step = 0, tries = 0; step < steps && tries < 20 * steps && !matcher.matches().empty(); ++tries) {
    std::map<std::size_t, std::vector<const Match*>> present;
    for (const Match& m : matcher.matches()) present[m.rule].push_back(&m);
    auto of_rule = present.begin();
    std::advance(of_rule, static_cast<std::ptrdiff_t>(random.below(present.size())));
    const Match& match = *of_rule->second[random.below(of_rule->second.size())];
    const Rule& rule = algebraic()[match.rule];
    base::Attempt<Rewritten> next = apply(rule, match, g, {});
    if (!next) continue;
    ++step;
    ++used[fmt::format("{} = {}", to_text(rule.source(), rule.equation.variables()), to_text(rule.target(), rule.equation.variables()))];
    g = std::move(next->graph);
    matcher.restart(g);
  }
  return pcg::serial(g);
}

// Everything cut by samples where that is lawful; `mixed`: here and there by another loop, or not at all.
pcg::Plan over_six(const Graph& g, bool mixed, base::Random& random) {
  std::vector<pcg::Sharding> all;
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    const pcg::GraphNode& node = g.nodes()[n];
    const std::vector<pcg::TensorShape> inputs = g.input_shapes(GraphNodeId(n));
    pcg::Sharding s = unsharded(*node.space);
    const auto cut = [&](std::size_t loop, int degree) {
      pcg::Sharding more = s;
      more.degrees[loop] = degree;
      if (!violation(*node.space, more, inputs, node.outputs)) s = more;
    };
    const bool other = mixed && random.below(4) == 0;
    if (other && !node.space->loops.empty()) cut(random.below(node.space->loops.size()), random.below(2) == 0 ? 2 : 3);
    if (!other || random.below(2) == 0)
      for (std::size_t l = 0; l < node.space->loops.size(); ++l)
        if (node.space->outputs[0].size() > 0 && node.space->outputs[0][0] == static_cast<int>(l) && s.degrees[l] == 1) cut(l, 6);
    all.push_back(s);
  }
  pcg::Plan plan;
  plan.pcg = parallelize(g, all);
  return plan;
}

using Used = std::map<std::string, int>;

void check_builtin(const std::string& name, Matcher& matcher, bool mixed) {
  base::Random random(17);
  Used used;
  const Graph model = pcg::models::builtin(name, 12);
  const Graph after = rewritten(model, matcher, 40, random, used);
  const pcg::Plan plan = over_six(after, mixed, random);
  const pcg::EquivalenceResult r = check_equivalence(plan, model, 3, 1);
  MESSAGE(fmt::format("{}{}: {} nodes, now {}, by {} rules", name, mixed ? ", mixed" : "", model.nodes().size(), after.nodes().size(),
                      used.size()));
  CHECK_MESSAGE(r.equivalent, name, ": ", r.detail);
}

TEST_CASE("builtin models behind random algebraic rewrites, cut over six devices, compute what they are") {
  Matcher matcher(algebraic(), pcg::Pcg());
  for (const char* name : {"mlp-mnist", "mlp", "bert-large", "inception-v3", "dlrm", "xdl", "candle-uno", "resnext-50"}) {
    check_builtin(name, matcher, false);
    check_builtin(name, matcher, true);
  }
}

// Matrices and images whose widths are sums of each other in many ways.
class WideModel {
 public:
  explicit WideModel(base::Random& random) : random_(random), b_("wide") {
    for (int i = 0; i < 2; ++i) keep(b_.input(name(), pcg::real({12, width()})));
    keep(b_.input(name(), pcg::real({12, width(), 2, 2})));
  }
  Graph build() && {
    for (int i = 0; i < 12; ++i) add();
    return std::move(b_).build();
  }

 private:
  std::string name() { return fmt::format("n{}", count_++); }
  std::int64_t width() { return 16 * static_cast<std::int64_t>(2 + random_.below(7)); }
  GraphTensorRef keep(GraphTensorRef t) {
    tensors_.push_back(t);
    return t;
  }
  [[nodiscard]] const std::vector<std::int64_t>& sizes(GraphTensorRef t) const { return b_.shape(t).sizes; }
  GraphTensorRef product(GraphTensorRef x, std::int64_t out) {
    const auto f = static_cast<pcg::Activation>(random_.below(2));
    if (sizes(x).size() == 2) return b_.add(name(), pcg::Linear{.out = out, .activation = f}, {x});
    return b_.add(name(), pcg::Conv2d{.out = out, .activation = f}, {x});
  }
  void add() {
    const GraphTensorRef x = tensors_[tensors_.size() - 1 - random_.below(std::min<std::size_t>(4, tensors_.size()))];
    switch (random_.below(6)) {
      case 0:
      case 1:  // two of one input: they merge
        keep(product(x, width()));
        keep(product(x, width()));
        return;
      case 2: keep(b_.add(name(), pcg::Unary{pcg::Unary::Kind::relu}, {x})); return;
      case 3: keep(b_.add(name(), pcg::Binary{}, {x, product(x, sizes(x)[1])})); return;
      case 4:
        for (const GraphTensorRef y : tensors_)
          if (sizes(y).size() == sizes(x).size() && sizes(x)[1] + sizes(y)[1] < 512) {
            keep(b_.add(name(), pcg::Concat{.axis = 1}, {x, y}));
            return;
          }
        return;
      default:
        if (const std::int64_t size = sizes(x)[1]; size > 16) {
          const std::int64_t first = 16 * static_cast<std::int64_t>(1 + random_.below(static_cast<std::size_t>((size - 1) / 16)));
          for (GraphTensorRef t : b_.add_raw(name(), pcg::Split{1, {first, size - first}}, {x})) keep(t);
        }
    }
  }

  base::Random& random_;
  pcg::GraphBuilder b_;
  std::vector<GraphTensorRef> tensors_;
  int count_ = 0;
};

// The graph with inputs of concats, outputs of splits or places of slices interchanged at one node; nullopt where that cannot be done
// there.
std::optional<Graph> with_fault(const Graph& g, std::size_t at) {
  pcg::GraphBuilder b(g.name());
  bool changed = false;
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    const pcg::GraphNode& node = g.nodes()[n];
    pcg::Operator op = node.op;
    std::vector<GraphTensorRef> in = node.inputs;
    if (n == at && std::holds_alternative<pcg::Concat>(op) && g.shape(in[0]) == g.shape(in[1])) {
      std::swap(in[0], in[1]);
      changed = true;
    }
    if (auto* s = std::get_if<pcg::Slice>(&op); s && n == at && s->begin >= 16) {
      s->begin -= 16;
      changed = true;
    }
    const bool halves = at < g.nodes().size() && std::holds_alternative<pcg::Split>(g.nodes()[at].op) &&
                        g.nodes()[at].outputs[0] == g.nodes()[at].outputs[1];
    for (GraphTensorRef& t : in)
      if (halves && t.node.value == at) {
        t.output = t.output < 2 ? 1 - t.output : t.output;
        changed = true;
      }
    b.add_raw(node.name, op, in);
  }
  if (!changed) return std::nullopt;
  return std::move(b).build();
}

TEST_CASE("random models with sums of sizes, rewritten at random, are what they were; with a fault they are not") {
  Matcher matcher(algebraic(), pcg::Pcg());
  Used used;
  int faults = 0, harmless = 0;
  CHECK(rc::check([&] {
    base::Random random(*rc::gen::arbitrary<std::uint64_t>());
    const Graph model = WideModel(random).build();
    const Graph after = rewritten(model, matcher, 15, random, used);
    const pcg::EquivalenceResult same = check_equivalence(over_six(after, true, random), model, 1, 1);
    if (!same.equivalent) RC_FAIL(same.detail);
    std::vector<std::size_t> places(after.nodes().size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    for (std::size_t left = places.size(); left > 0; --left) {
      std::swap(places[left - 1], places[random.below(left)]);
      const std::optional<Graph> wrong = with_fault(after, places[left - 1]);
      if (!wrong) continue;
      // Equal halves may be interchanged; the whole graph knows.
      const bool matters = pcg::evaluate(*wrong, 3) != pcg::evaluate(model, 3);
      const pcg::EquivalenceResult r = check_equivalence(over_six(*wrong, true, random), model, 1, 1);
      if (r.equivalent == matters) RC_FAIL(after.nodes()[places[left - 1]].name + ": " + r.detail);
      ++(matters ? faults : harmless);
      break;
    }
  }));
  MESSAGE(fmt::format("{} rules, {} faults, {} that change nothing", used.size(), faults, harmless));
  CHECK(used.size() > 60);
  CHECK(faults > 30);
}

// Every two convolutions of one input that the rule finds are one.
Graph merged_inception(const Graph& model) {
  const std::vector<Rule> merge{rule("merge", "x: [a, b, c, d]; k: [e, b, 3, 3]; l: [f, b, 3, 3]", "conv(x, k) ; conv(x, l)",
                                     "split0[1 at k.0](conv(x, concat[0](k, l))) ; split1[1 at k.0](conv(x, concat[0](k, l)))")};
  pcg::Pcg g = serial_pcg(model);
  Matcher matcher(merge, g);
  for (std::size_t m = 0; m < matcher.matches().size();) {
    base::Attempt<Rewritten> next = apply(merge[0], matcher.matches()[m], g, {});
    if (!next) {
      ++m;
      continue;
    }
    g = std::move(next->graph);
    matcher.restart(g);
    m = 0;
  }
  return pcg::serial(g);
}

TEST_CASE("merged convolutions of inception modules are checked, and halves that are interchanged have a place") {
  const Graph model = pcg::models::builtin("inception-v3", 12), merged = merged_inception(model);
  base::Random random(1);
  CHECK(merged.nodes().size() != model.nodes().size());
  const pcg::EquivalenceResult r = check_equivalence(over_six(merged, false, random), model, 2, 1);
  CHECK_MESSAGE(r.equivalent, r.detail);
  bool tried = false;
  for (std::size_t n = 0; n < merged.nodes().size() && !tried; ++n) {
    if (!std::holds_alternative<pcg::Split>(merged.nodes()[n].op)) continue;
    const std::optional<Graph> wrong = with_fault(merged, n);
    if (!wrong) continue;
    tried = true;
    const pcg::EquivalenceResult found = check_equivalence(over_six(*wrong, false, random), model, 1, 1);
    CHECK(!found.equivalent);
    MESSAGE(found.detail);
    CHECK(found.detail.find("is the first to differ on the way, after \"" + merged.nodes()[n].name + "\"") != std::string::npos);
  }
  CHECK(tried);
}

}  // namespace
}  // namespace rules::rewriting
