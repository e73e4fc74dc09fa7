// Concats of many tensors: rules, whose concats have two inputs, are found in them and leave no concat of a concat.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <fmt/core.h>

#include <algorithm>

#include "base/random.hpp"
#include "generated.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/sharding/sharding.hpp"
#include "planted.hpp"
#include "rules.hpp"
#include "tests/oracles/evaluation.hpp"

namespace rules::rewriting {
namespace {

using pcg::NodeId;
using pcg::ParallelShape;
using pcg::TensorRef;

// A concat of three to six branches of one kind, some of them other, and something that reads it. Cut by samples, or not.
class Branches {
 public:
  explicit Branches(base::Random& random) : random_(random) {}

  pcg::Pcg build() && {
    const bool image = random_.below(2) == 0, cut = random_.below(2) == 0;
    const int axis = image || random_.below(2) == 0 ? 1 : 0;
    rest_ = image ? std::vector<std::int64_t>{4, 4} : std::vector<std::int64_t>{};
    const TensorRef x = input(4);
    const std::uint64_t usual = random_.below(5);
    std::vector<TensorRef> parts;
    for (std::uint64_t n = 3 + random_.below(4); n > 0; --n) parts.push_back(branch(random_.below(4) == 0 ? random_.below(5) : usual, x));
    if (cut)
      for (TensorRef& t : parts) t = {b_.add(name(), pcg::Partition{1 - axis, 2}, t, 0), 0};
    const TensorRef all = add(pcg::Concat{axis}, parts);
    read(random_.below(4), all, axis);
    return std::move(b_).build();
  }

 private:
  std::string name() { return fmt::format("n{}", count_++); }
  TensorRef source(std::vector<std::int64_t> sizes, bool weight = false) {
    const pcg::TensorShape s{.sizes = std::move(sizes), .element = pcg::Element::real};
    const pcg::Sharding whole{.degrees = std::vector<int>(s.sizes.size(), 1)};
    return {weight ? b_.add(name(), pcg::Weight{s}, {}, whole, 0) : b_.add(name(), pcg::Input{s}, {}, whole, 0), 0};
  }
  TensorRef input(std::int64_t width) {
    std::vector<std::int64_t> sizes{4, width};
    sizes.insert(sizes.end(), rest_.begin(), rest_.end());
    return source(std::move(sizes));
  }
  TensorRef add(const pcg::Operator& op, const std::vector<TensorRef>& in) {
    std::vector<ParallelShape> shapes;
    std::vector<pcg::TensorShape> wholes;
    for (TensorRef t : in) {
      shapes.push_back(b_.shape(t));
      wholes.push_back(shapes.back().whole());
    }
    return {b_.add(name(), op, in, *pcg::infer_sharding(pcg::iteration_space(op, wholes), shapes), 0), 0};
  }
  TensorRef branch(std::uint64_t kind, TensorRef x) {
    switch (kind) {
      case 0: return input(4);
      case 1: return add(pcg::Unary{}, {input(4)});
      case 2: return add(pcg::Binary{}, {input(4), input(4)});
      case 3: return add(pcg::Unary{pcg::Unary::Kind::scale, 3}, {x});
      default:
        if (rest_.empty()) return add(pcg::Linear{.out = 4}, {x, source({4, 4}, true)});
        return add(pcg::Conv2d{.out = 4, .rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 3, .padding = 1}},
                   {x, source({4, 4, 3, 3}, true)});
    }
  }
  void read(std::uint64_t kind, TensorRef all, int axis) {
    const auto cut = static_cast<std::int64_t>(4 * (1 + random_.below(2)));
    const auto a = static_cast<std::size_t>(axis);
    switch (kind) {
      case 0: add(pcg::Unary{}, {all}); return;
      case 1: b_.add(name(), pcg::Replicate{2}, all, 0); return;
      case 2: {
        const TensorRef s = add(pcg::Split{axis, {cut, b_.shape(all).dims[a].size - cut}}, {all});
        add(pcg::Unary{}, {s});
        add(pcg::Unary{pcg::Unary::Kind::gelu}, {{s.node, 1}});
        return;
      }
      default: add(pcg::Unary{}, {add(pcg::Concat{axis}, {all, add(pcg::Unary{}, {all})})}); return;
    }
  }

  base::Random& random_;
  pcg::PcgBuilder b_{"branches", {{"all", true}}};
  std::vector<std::int64_t> rest_;
  int count_ = 0;
};

const std::vector<Rule>& rules_with_concats() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> rules;
    for (const Rule& r : generated())
      if (std::ranges::count(r.source().nodes, Kind::concat, &Node::kind) > 0) rules.push_back(r);
    return rules;
  }();
  return all;
}

bool is_concat_of_concat(const pcg::Pcg& g) {
  const auto consumers = g.consumers();
  const auto concat = [&](NodeId n) { return g.node(n).operation() ? std::get_if<pcg::Concat>(g.node(n).operation()) : nullptr; };
  for (std::size_t n = 0; n < consumers.size(); ++n) {
    if (!concat(NodeId(n)) || consumers[n].size() != 1) continue;
    const pcg::PcgNode& reader = g.node(consumers[n][0]);
    if (concat(consumers[n][0]) && concat(consumers[n][0])->axis == concat(NodeId(n))->axis &&
        std::ranges::count(reader.inputs, TensorRef{NodeId(n), 0}) == 1)
      return true;
  }
  return false;
}

TEST_CASE("every occurrence in concats of many keeps shapes and meaning, and leaves no concat of a concat") {
  int applied = 0, through_views = 0;
  const std::vector<Rule>& rules = rules_with_concats();
  Matcher restarted(rules, pcg::Pcg());
  CHECK(rc::check([&] {
    base::Random random(*rc::gen::arbitrary<std::uint64_t>());
    const pcg::Pcg g = Branches(random).build();
    const auto meaning = pcg::evaluate(g, 1, 5);
    const auto shapes = result_shapes(g);
    const Matcher matcher(rules, g);
    for (std::size_t tries = 0; tries < 20 && !matcher.matches().empty(); ++tries) {
      const Match& m = matcher.matches()[random.below(matcher.matches().size())];
      const std::vector<int> degrees{2, 2};
      const base::Attempt<Rewritten> next = apply(rules[m.rule], m, g, degrees);
      if (!next) continue;
      ++applied;
      if (!m.views.empty()) ++through_views;
      const bool same = pcg::evaluate(next->graph, 1, 5) == meaning;
      if (!same) RC_FAIL("meaning changed by " + rules[m.rule].name);
      RC_ASSERT(result_shapes(next->graph) == shapes);
      RC_ASSERT(!is_concat_of_concat(next->graph));
      restarted.restart(g);
      RC_ASSERT(restarted.matches() == matcher.matches());
    }
  }));
  MESSAGE(fmt::format("{} rules; {} rewrites, {} of them in a concat of many", rules_with_concats().size(), applied, through_views));
  CHECK(through_views > 200);
}

TEST_CASE("a concat of many is one of two: cut anywhere, or two neighbours") {
  pcg::GraphBuilder b("g");
  std::vector<pcg::GraphTensorRef> parts;
  for (const char* name : {"x", "y", "z", "u"}) parts.push_back(b.input(name, {.sizes = {4, 8}}));
  b.add("r", pcg::Unary{}, {b.add("c", pcg::Concat{.axis = 1}, parts)});
  const pcg::Graph serial = std::move(b).build();
  const pcg::Pcg g = pcg::parallelize(serial, pcg::unsharded(serial));
  const auto views = [&](const Rule& r) {
    const Matcher matcher(std::span(&r, 1), g);
    std::string text;
    for (const Match& m : matcher.matches()) text += fmt::format("{}-{}-{} ", m.views.at(0).begin, m.views.at(0).cut, m.views.at(0).end);
    return text;
  };
  const std::string of_two = "x: [m, k]; y: [m, n]";
  CHECK(views(rule("r", of_two, "relu(concat[1](x, y))", "concat[1](relu(x), relu(y))")) == "0-1-4 0-2-4 0-3-4 ");
  CHECK(views(rule("r", of_two, "concat[1](x, y)", "combine[0, d](concat[1](partition[0, d](x), partition[0, d](y)))")) ==
        "0-1-2 0-1-4 0-2-4 0-3-4 1-2-3 2-3-4 ");
}

}  // namespace
}  // namespace rules::rewriting
