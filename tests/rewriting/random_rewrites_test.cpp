// Random sequences of rewrites on random models: shapes, typing and meaning stay, and what the matcher knows after an update is what it
// would find anew.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <fmt/core.h>

#include "base/random.hpp"
#include "generated.hpp"
#include "planted.hpp"
#include "rules.hpp"
#include "tests/oracles/evaluation.hpp"

namespace rules::rewriting {
namespace {

using pcg::GraphTensorRef;
using pcg::NodeId;

constexpr std::size_t kMostNodes = 70;  // of a graph on its way; rewrites that make more are not taken
constexpr int kRewrites = 30;

// A model of random operators over matrices, sequences and images whose sizes divide by 2 and 4.
class RandomModel {
 public:
  explicit RandomModel(base::Random& random) : random_(random), b_("random") {
    for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{4, 8}, {2, 4, 8}, {2, 4, 4, 4}})
      inputs_.push_back(input(sizes));
  }
  pcg::Graph build() && {
    for (int i = 0; i < 8; ++i) add();
    return std::move(b_).build();
  }

 private:
  GraphTensorRef input(std::vector<std::int64_t> sizes) {
    return keep(b_.input(name(), {.sizes = std::move(sizes), .element = pcg::Element::real}));
  }
  std::string name() { return fmt::format("n{}", count_++); }
  GraphTensorRef keep(GraphTensorRef t) {
    tensors_.push_back(t);
    return t;
  }
  std::size_t pick(std::size_t count) { return random_.below(count); }
  [[nodiscard]] const std::vector<std::int64_t>& sizes(GraphTensorRef t) const { return b_.shape(t).sizes; }

  void add() {
    // Rather a tensor of late than an old one.
    const std::size_t last = tensors_.size() - 1, back = std::min(pick(4), last);
    const GraphTensorRef x = tensors_[last - back];
    const std::size_t rank = sizes(x).size();
    const auto f = static_cast<pcg::Activation>(pick(3));
    const bool image = rank == 4;
    switch (pick(11)) {
      case 0:
      case 1:
      case 2:
        if (!image) keep(b_.add(name(), pcg::Linear{.out = 8, .has_bias = pick(4) == 0, .activation = f}, {x}));
        else keep(b_.add(name(), conv(f), {x}));
        return;
      case 3: keep(b_.add(name(), pcg::Unary{static_cast<pcg::Unary::Kind>(pick(5))}, {x})); return;
      case 4:
      case 5: {
        const GraphTensorRef y = partner(x);
        keep(b_.add(name(), pcg::Binary{pick(3) == 0 ? pcg::Binary::Kind::multiply : pcg::Binary::Kind::add}, {x, y}));
        return;
      }
      case 6: {
        std::vector<GraphTensorRef> parts{x};
        for (std::size_t more = 1 + pick(3); more > 0; --more) parts.push_back(partner(x));
        keep(b_.add(name(), pcg::Concat{.axis = 1}, parts));
        return;
      }
      case 7: {
        const std::int64_t size = sizes(x)[rank - 1];
        if (size < 8) return;
        for (GraphTensorRef t : b_.add_raw(name(), pcg::Split{static_cast<int>(rank) - 1, {4, size - 4}}, {x})) keep(t);
        return;
      }
      case 8:
        if (image) keep(b_.add(name(), pcg::Pool2d{.rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 3, .padding = 1}}, {x}));
        else keep(b_.add(name(), pcg::Softmax{}, {x}));
        return;
      case 9: keep(b_.add(name(), pcg::Dropout{}, {x})); return;
      default:
        if (image) keep(b_.add(name(), pcg::BatchNorm{}, {x}));
        if (rank == 2) keep(b_.add(name(), pcg::Transpose{{1, 0}}, {x}));
        if (rank == 3) keep(b_.add(name(), pcg::LayerNorm{.rms = pick(2) == 0}, {x}));
    }
  }
  pcg::Conv2d conv(pcg::Activation f) {
    return {
        .out = 4, .rows = {.kernel = 3, .padding = 1}, .columns = {.kernel = 3, .padding = 1}, .has_bias = pick(2) == 0, .activation = f};
  }
  GraphTensorRef partner(GraphTensorRef x) {
    for (std::size_t i = 0; i < 4; ++i)
      if (const GraphTensorRef y = tensors_[pick(tensors_.size())]; sizes(y) == sizes(x)) return y;
    return input(sizes(x));
  }

  base::Random& random_;
  pcg::GraphBuilder b_;
  std::vector<GraphTensorRef> inputs_, tensors_;
  int count_ = 0;
};

// A random model, or the sources of random rules.
pcg::Pcg start(const std::vector<Rule>& rules, base::Random& random) {
  if (random.below(2) == 0) return serial_pcg(RandomModel(random).build());
  std::vector<Rule> some;
  for (int i = 0; i < 3; ++i) some.push_back(rules[random.below(rules.size())]);
  const std::optional<pcg::Pcg> g = planted(some);
  return g ? *g : serial_pcg(RandomModel(random).build());
}

bool is_bare(const Rule& r) { return r.source().operators() == 0; }

struct Choice {
  const Rule* rule = nullptr;
  Match match;
};
// One of the matcher's, or a rule that holds at every tensor at one that may be cut.
Choice choose(const std::vector<Rule>& rules, const Matcher& matcher, const pcg::Pcg& g, base::Random& random) {
  if (matcher.matches().empty() || random.below(4) == 0) {
    std::vector<std::size_t> bare;
    for (std::size_t r = 0; r < rules.size(); ++r)
      if (is_bare(rules[r]) && rules[r].name.starts_with("A1")) bare.push_back(r);
    const std::size_t rule = bare[random.below(bare.size())], node = random.below(g.nodes().size());
    const std::size_t rank = g.nodes()[node].outputs[0].dims.size();
    const int row = static_cast<int>(random.below(std::max<std::size_t>(rank, 2) - 1));
    return {&rules[rule], match_at(rule, rules[rule], g, {NodeId(node), 0}, row)};
  }
  // Rules evenly: those with many occurrences would crowd out the others.
  std::vector<std::size_t> present;
  for (const Match& m : matcher.matches())
    if (present.empty() || present.back() != m.rule) present.push_back(m.rule);
  const std::size_t rule = present[random.below(present.size())];
  std::vector<const Match*> of_rule;
  for (const Match& m : matcher.matches())
    if (m.rule == rule) of_rule.push_back(&m);
  return {&rules[rule], *of_rule[random.below(of_rule.size())]};
}

struct Tally {
  int runs = 0, taken = 0;
  std::map<std::string, int> used;
};

void take_thirty(const std::vector<Rule>& rules, base::Random& random, Tally& tally) {
  pcg::Pcg g = start(rules, random);
  const auto meaning = pcg::evaluate(g, 1, 5);
  const auto shapes = result_shapes(g);
  Matcher matcher(rules, g);
  ++tally.runs;
  for (int step = 0, tries = 0; step < kRewrites && tries < 20 * kRewrites; ++tries) {
    const Choice c = choose(rules, matcher, g, random);
    const std::vector<int> degrees{2, 2};
    base::Attempt<Rewritten> next = apply(*c.rule, c.match, g, degrees);
    if (!next || next->graph.nodes().size() > kMostNodes) continue;
    ++step;
    ++tally.taken;
    ++tally.used[c.rule->name];
    g = std::move(next->graph);
    const bool same = pcg::evaluate(g, 1, 5) == meaning;
    if (!same) RC_FAIL("meaning changed by " + c.rule->name);
    RC_ASSERT(result_shapes(g) == shapes);
    matcher.restart(g);
  }
}

std::vector<Rule> all_of_catalogue() {
  std::vector<Rule> rules;
  for (const auto& [name, rule] : catalogue()) rules.push_back(rule);
  return rules;
}

TEST_CASE("thirty rewrites keep shapes and meaning") {
  const std::vector<Rule> rules = all_of_catalogue();
  Tally tally;
  CHECK(rc::check([&] {
    base::Random random(*rc::gen::arbitrary<std::uint64_t>());
    take_thirty(rules, random, tally);
  }));
  std::string unused;
  for (const Rule& r : rules)
    if (!tally.used.contains(r.name)) unused += r.name + "; ";
  MESSAGE(fmt::format("{} rewrites in {} runs, {} rules; never: {}", tally.taken, tally.runs, tally.used.size(), unused));
  CHECK(tally.taken > 20 * tally.runs);
  CHECK(tally.used.size() > rules.size() * 3 / 4);
}

TEST_CASE("the same with rules drawn from the generator's, beside the catalogue") {
  Tally tally;
  CHECK(rc::check([&] {
    base::Random random(*rc::gen::arbitrary<std::uint64_t>());
    std::vector<Rule> rules = all_of_catalogue();
    for (std::size_t i = 0; i < 2 * catalogue().size(); ++i) rules.push_back(generated()[random.below(generated().size())]);
    take_thirty(rules, random, tally);
  }));
  std::erase_if(tally.used, [](const auto& used) { return catalogue().contains(used.first); });
  MESSAGE(fmt::format("{} rewrites in {} runs, {} rules of the generator", tally.taken, tally.runs, tally.used.size()));
  CHECK(tally.taken > 20 * tally.runs);
  CHECK(tally.used.size() > 150);
}

}  // namespace
}  // namespace rules::rewriting
