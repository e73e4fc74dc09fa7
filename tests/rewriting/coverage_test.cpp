// How much of the builtin models the rules speak of: an operator that is in no occurrence ends every chain of rewrites.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <map>
#include <set>

#include "generated.hpp"
#include "pcg/models/load.hpp"
#include "planted.hpp"
#include "tests/about.hpp"
#include "tests/oracles/operator_cut.hpp"

namespace rules::rewriting {
namespace {

// Kinds of operators, and how many of each.
using Kinds = std::map<std::string, int>;

struct Coverage {
  int all = 0;
  Kinds in_no_rule;  // in no occurrence of a generated rule
  Kinds whole;       // those that no loop cuts
};

// generated() has relu alone; whatever holds of that holds of every function.
std::vector<Rule> for_all_functions() {
  std::vector<Rule> all = generated();
  for (const Function f : {Function::gelu, Function::tanh, Function::sigmoid, Function::silu, Function::relu2})
    for (const Rule& r : generated()) {
      Equation e = r.equation;
      for (Term* t : {&e.left, &e.right})
        for (Node& n : t->nodes)
          if (n.function != Function::none) n.function = f;
      if (e == r.equation) continue;
      if (auto typed = TypedEquation::make(std::move(e))) all.push_back({r.name, std::move(*typed), r.forward, {}});
    }
  return all;
}

Coverage coverage(const pcg::Pcg& g, const Matcher& matcher) {
  std::set<pcg::NodeId> in_rule, cut;
  for (const Match& m : matcher.matches()) in_rule.insert(m.nodes.begin(), m.nodes.end());
  for (const OperatorCut& c : operator_cuts(g)) cut.insert(c.node);
  Coverage c;
  for (std::uint32_t n = 0; n < g.nodes().size(); ++n) {
    if (!g.nodes()[n].computes()) continue;
    ++c.all;
    const std::string kind(pcg::kind_name(*g.nodes()[n].operation()));
    if (!in_rule.contains(pcg::NodeId(n))) ++c.in_no_rule[kind];
    if (!cut.contains(pcg::NodeId(n))) ++c.whole[kind];
  }
  return c;
}

int count(const Kinds& kinds) {
  int sum = 0;
  for (const auto& [kind, n] : kinds) sum += n;
  return sum;
}
std::string counted(const Kinds& kinds) {
  std::string text;
  for (const auto& [kind, n] : kinds) text += fmt::format(" {} {}", n, kind);
  return text;
}

TEST_CASE("every operator of the builtin models has a sharded form, and terms speak of all but a few kinds") {
  // What only its own loops cut. Losses; broadcasts (of positions), views and pools of whole planes; convolutions of several channels to a
  // group; a transposed weight (tied to the embedding), and results of one column; attention with a bias or other weights of its own, of
  // latent keys or of two sequences; experts; state spaces; of attention within windows, the copies into windows and back, and means.
  const std::set<std::string> known{"attention",     "binary",  "broadcast",     "conv2d",       "cross_entropy",
                                    "expert_linear", "linear",  "moe_combine",   "moe_dispatch", "pool2d",
                                    "reduction",     "reshape", "squared_error", "state_space",  "transpose"};
  std::set<std::string> unspoken;
  Matcher matcher(for_all_functions(), pcg::Pcg());
  for (const std::string& name : pcg::models::builtin_names()) {
    const pcg::Pcg g = serial_pcg(pcg::models::builtin(name, 8));
    matcher.restart(g);
    const Coverage c = coverage(g, matcher);
    CHECK_MESSAGE(c.whole.empty(), name, ":", counted(c.whole));
    for (const auto& [kind, n] : c.in_no_rule) unspoken.insert(kind);
    MESSAGE(fmt::format("{}: {} of {} in a rule; not{}", name, c.all - count(c.in_no_rule), c.all, counted(c.in_no_rule)));
  }
  CHECK(unspoken == known);
}

TEST_CASE("operators that no term has are cut in each way that their loops allow") {
  std::map<std::string, std::set<std::string>> loops;  // by kind
  for (const std::string name : {"resnext-50", "t5-large", "moe-380m", "deepseek-v3", "vit-huge", "bert-large", "bert-proxy"}) {
    const pcg::Pcg g = serial_pcg(pcg::models::builtin(name, 8));
    for (const OperatorCut& c : operator_cuts(g)) {
      const pcg::PcgNode& n = g.node(c.node);
      if (c.loop >= 0) loops[std::string(pcg::kind_name(*n.operation()))].insert(n.space->loops[static_cast<std::size_t>(c.loop)].name);
    }
  }
  using Names = std::set<std::string>;
  CHECK(loops["attention"] == Names{"b", "heads", "s"});
  CHECK(loops["broadcast"] == Names{"b", "h"});
  CHECK(loops["conv2d"] == Names{"b", "c", "h", "n", "w"});
  CHECK(loops["cross_entropy"] == Names{"b", "class", "s"});
  CHECK(loops["expert_linear"] == Names{"b", "c", "experts", "k", "n"});
  CHECK(loops["linear"] == Names{"b", "k", "n", "s"});
  CHECK(loops["moe_combine"] == Names{"b", "h", "s"});
  CHECK(loops["moe_dispatch"] == Names{"b", "h", "s"});
  CHECK(loops["pool2d"] == Names{"b", "c", "h", "w"});
  CHECK(loops["reshape"] == Names{"b", "d2", "s"});
  CHECK(loops["slice"] == Names{"b", "h"});
  CHECK(loops["split"] == Names{"b", "s"});
  CHECK(loops["squared_error"] == Names{"b", "s"});
}

// Convolutions of one input that differ in their kernels alone, and would be one if the smaller kernels were enlarged with zeros.
struct Enlargeable {
  int pairs = 0;
  double growth = 0;  // of the multiply-adds of a pair, at most
};
Enlargeable enlargeable(const pcg::Pcg& g) {
  const auto same_size = [](const pcg::Window& w) { return w.stride == 1 && w.kernel == 2 * w.padding + 1; };
  Enlargeable all;
  for (const pcg::PcgNode& n : g.nodes())
    for (const pcg::PcgNode* m = &n + 1; m != g.nodes().data() + g.nodes().size(); ++m) {
      if (n.is_source() || m->is_source() || n.inputs[0] != m->inputs[0]) continue;
      const auto *a = std::get_if<pcg::Conv2d>(n.operation()), *b = std::get_if<pcg::Conv2d>(m->operation());
      if (!a || !b || a->groups > 1 || b->groups > 1 || a->activation != b->activation || a->has_bias != b->has_bias) continue;
      if (a->rows == b->rows && a->columns == b->columns) continue;
      if (!same_size(a->rows) || !same_size(a->columns) || !same_size(b->rows) || !same_size(b->columns)) continue;
      const auto work = [](const pcg::Conv2d& c) { return static_cast<double>(c.out) * c.rows.kernel * c.columns.kernel; };
      const int rows = std::max(a->rows.kernel, b->rows.kernel), columns = std::max(a->columns.kernel, b->columns.kernel);
      ++all.pairs;
      all.growth = std::max(all.growth, static_cast<double>(a->out + b->out) * rows * columns / (work(*a) + work(*b)));
    }
  return all;
}

TEST_CASE("enlarged kernels would join four pairs of convolutions of Inception-v3, at three times their work, and none elsewhere") {
  for (const std::string& name : pcg::models::builtin_names()) {
    const Enlargeable e = enlargeable(serial_pcg(pcg::models::builtin(name, 8)));
    INFO(name);
    CHECK(e.pairs == (name.starts_with("inception-v3") ? 4 : 0));
    if (e.pairs > 0) CHECK(e.growth == test::about(3));
  }
}

}  // namespace
}  // namespace rules::rewriting
