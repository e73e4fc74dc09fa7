// What a search over algebra gets from the rules that ship: merges that go on, and nothing that leads nowhere.
#include "search/rules/selection/selection.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "pcg/models/load.hpp"
#include "planted.hpp"
#include "rules.hpp"
#include "search/rules/language/text.hpp"
#include "search/rules/rule_files/builtin_rules.hpp"
#include "tests/oracles/evaluation.hpp"

namespace rules::rewriting {
namespace {

using pcg::GraphTensorRef;

std::string source_text(const Rule& r) { return to_text(r.source(), r.equation.variables()); }
std::string target_text(const Rule& r) { return to_text(r.target(), r.equation.variables()); }

LeftOut reason(const std::string& variables, const std::string& left, const std::string& right) {
  return why_left_out(rule("r", variables, left, right), Wanted::algebra);
}

std::map<std::string, int> kinds_of(const pcg::Pcg& g) {
  std::map<std::string, int> kinds;
  for (const pcg::PcgNode& n : g.nodes())
    if (n.computes()) ++kinds[std::string(pcg::kind_name(*n.operation()))];
  return kinds;
}

// Takes the first occurrence of selected rules whose source begins so, and whose target has this; as often as there is one.
int apply_all(pcg::Pcg& g, Matcher& matcher, const std::string& source, const std::string& target) {
  const std::vector<Rule>& rules = builtin_algebraic_rules().rules;
  for (int steps = 0;; ++steps) {
    matcher.restart(g);
    bool applied = false;
    for (const Match& m : matcher.matches()) {
      if (!source_text(rules[m.rule]).starts_with(source) || target_text(rules[m.rule]).find(target) == std::string::npos) continue;
      base::Attempt<Rewritten> next = apply(rules[m.rule], m, g, std::vector<int>{2, 2});
      if (!next) continue;
      g = std::move(next->graph);
      applied = true;
      break;
    }
    if (!applied) return steps;
  }
}

// A module of two towers on one input, as Inception's: convolution, norm, relu, joined behind.
pcg::Graph two_towers() {
  pcg::GraphBuilder b("towers");
  const GraphTensorRef x = b.input("x", pcg::real({2, 3, 4, 4}));
  std::vector<GraphTensorRef> towers;
  for (const auto& [name, channels] : {std::pair("a", 2), std::pair("b", 3)}) {
    GraphTensorRef y = b.add(std::string(name) + ".conv", pcg::Conv2d{.out = channels, .has_bias = false}, {x});
    y = b.add(std::string(name) + ".norm", pcg::BatchNorm{}, {y});
    towers.push_back(b.add(std::string(name) + ".relu", pcg::Unary{.kind = pcg::Unary::Kind::relu}, {y}));
  }
  b.add("joined", pcg::Concat{.axis = 1}, towers);
  return std::move(b).build();
}

}  // namespace

TEST_CASE("why a search leaves rules out") {
  CHECK(reason("x: [m, k]; w: [k, n]; u: [k, o]", "linear(x, w) ; linear(x, u)",
               "split0[1 at w.1](linear(x, concat[1](w, u))) ; split1[1 at w.1](linear(x, concat[1](w, u)))") == LeftOut::no);
  CHECK(reason("x: [m, k]; w: [k, n]", "linear(x, w)", "reduce[d](linear(partition[1, d](x), partition[0, d](w)))") == LeftOut::layout);
  CHECK(why_left_out(rule("r", "x: [m, k]; w: [k, n]", "linear(x, w)", "reduce[d](linear(partition[1, d](x), partition[0, d](w)))"),
                     Wanted::all) == LeftOut::no);  // what it adds moves, and computes nothing
  CHECK(reason("x: [m, k]", "linear(x, identity[x.1])", "x") == LeftOut::never);
  CHECK(reason("x: [m, k]; y: [m, k]", "relu(x) ; relu(y)", "relu(y) ; relu(x)") == LeftOut::never);  // hangs not together
  CHECK(reason("x: [m, k]", "relu(x)", "transpose(relu(transpose(x)))") == LeftOut::enlarges);
  CHECK(reason("x: [m, k]", "transpose(relu(transpose(x)))", "relu(x)") == LeftOut::no);
  CHECK(reason("x: [m, k]; y: [l, k]", "relu(concat[0](x, y))", "concat[0](relu(x), relu(y))") == LeftOut::enlarges);
  // One split more on one side: both halves of a split are one operator.
  CHECK(reason("x: [m, k+n]", "split0[1 at k](relu(x)) ; split1[1 at k](relu(x))", "relu(split0[1 at k](x)) ; relu(split1[1 at k](x))") ==
        LeftOut::enlarges);
  CHECK(reason("x: [m, k]; g: [k]; y: [m, k]; h: [k]", "multiply(rms_norm(x, g), rms_norm(y, h))",
               "multiply(rms_norm(x, h), rms_norm(y, g))") == LeftOut::exchanges);
  CHECK(reason("x: [m, k]; y: [m, k]; z: [m, k]", "add(x, add(y, z))", "add(y, add(x, z))") == LeftOut::no);
}

TEST_CASE("every rule at hand is taken or left out for one reason") {
  const Selection& s = builtin_algebraic_rules();
  std::size_t all = 0;
  for (const std::size_t n : s.count) all += n;
  CHECK(all == builtin_rules().size());
  CHECK(s.count[0] == s.rules.size());
  CHECK(s.count[static_cast<std::size_t>(LeftOut::layout)] > 0);
  for (const Rule& r : s.rules) CHECK(kind_of(r.equation) == RuleKind::algebraic);
  const std::string text = left_out_text(s);
  MESSAGE(fmt::format("{} rules, {}", s.rules.size(), text));
  CHECK(text.starts_with("left out: "));
}

TEST_CASE("merged convolutions stay merged through norm and relu, until nothing is left of the split") {
  const pcg::Graph start = two_towers();
  pcg::Pcg g = serial_pcg(start);
  Matcher matcher(builtin_algebraic_rules().rules, g);
  const auto same = [&] {
    for (const std::uint64_t seed : {1U, 2U}) CHECK(pcg::evaluate(g, 1, seed) == pcg::evaluate(start, seed));
  };
  CHECK(apply_all(g, matcher, "conv(x, k) ; conv(x, l)", "split1") == 1);
  same();
  CHECK(apply_all(g, matcher, "batch_norm(split0", "; split1") == 1);
  same();
  CHECK(apply_all(g, matcher, "relu(split0", "; split1") == 1);
  same();
  CHECK(apply_all(g, matcher, "concat[0](split0", "x") == 1);
  same();
  std::map<std::string, int> kinds = kinds_of(g);
  CHECK(kinds["conv2d"] == 1);
  CHECK(kinds["batch_norm"] == 1);
  CHECK(kinds["unary"] == 1);
  CHECK(kinds["split"] == 0);
  CHECK(kinds["concat"] == 3);  // of kernels, gains, biases
}

TEST_CASE("the towers of Inception-v3's modules merge") {
  const pcg::Graph model = pcg::models::builtin("inception-v3", 2);
  pcg::Pcg g = serial_pcg(model);
  const std::map<std::string, int> before = kinds_of(g);
  Matcher matcher(builtin_algebraic_rules().rules, g);
  const int convolutions = apply_all(g, matcher, "conv(x, k) ; conv(x, l)", "split1");
  const int norms = apply_all(g, matcher, "batch_norm(split0", "; split1");
  const int relus = apply_all(g, matcher, "relu(split0", "; split1");
  std::map<std::string, int> after = kinds_of(g);
  CHECK(convolutions > 9);
  CHECK(norms == convolutions);
  CHECK(relus == convolutions);
  CHECK(after["conv2d"] == before.at("conv2d") - convolutions);
  CHECK(after["batch_norm"] == after["conv2d"]);
  CHECK(after["unary"] == after["conv2d"]);
  MESSAGE(fmt::format("{} of {} convolutions gone", convolutions, before.at("conv2d")));
}

TEST_CASE("of each model some rules speak, and merges occur where layers share an input") {
  std::map<std::string, std::set<std::string>> sources;
  Matcher matcher(builtin_algebraic_rules().rules, pcg::Pcg());
  for (const std::string name : {"inception-v3", "resnext-50", "bert-large", "dlrm", "xdl", "candle-uno", "mlp", "t5-large"}) {
    matcher.restart(serial_pcg(pcg::models::builtin(name, 8)));
    for (const Match& m : matcher.matches()) sources[name].insert(source_text(builtin_algebraic_rules().rules[m.rule]));
    std::string text;
    for (const std::string& s : sources[name]) text += "\n  " + s;
    MESSAGE(name, ": ", matcher.matches().size(), " occurrences", text);
  }
  CHECK(sources["inception-v3"].contains("conv(x, k) ; conv(x, l)"));
  CHECK(sources["resnext-50"].contains("conv(x, k) ; conv(x, l)"));
  CHECK(sources["t5-large"].contains("linear(x, u) ; linear(x, w)"));
  CHECK(sources["mlp"].contains("add(linear(x, w), linear(y, u))"));
  CHECK(sources["dlrm"].contains("embedding_bag(i, w)"));
  CHECK(sources["xdl"].contains("embedding_bag(i, w)"));
}

}  // namespace rules::rewriting
