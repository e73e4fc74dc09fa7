// Rewrites and placements chosen together, and in sequence.
#include "search/planners/unity/unity.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "pcg/evaluator/equivalence.hpp"
#include "problem.hpp"
#include "search/planners/flexflow/flexflow.hpp"
#include "search/planners/unity/variants.hpp"
#include "search/rules/selection/selection.hpp"

namespace {

// Two convolutions of one image, normalised and joined: what a module of Inception is made of. Several of them, one after another.
pcg::Graph modules(int count) {
  pcg::GraphBuilder g("modules");
  auto x = g.input("image", {{8, 16, 8, 8}, pcg::Element::real});
  for (int m = 0; m < count; ++m) {
    const std::string block = fmt::format("block{}.", m);
    std::vector<pcg::GraphTensorRef> towers;
    for (const char* name : {"left", "right"}) {
      auto y = g.add(block + name, pcg::Conv2d{.out = 8}, {x});
      y = g.add(block + name + "_norm", pcg::BatchNorm{}, {y});
      towers.push_back(g.add(block + name + "_relu", pcg::Unary{pcg::Unary::Kind::relu}, {y}));
    }
    x = g.add(block + "join", pcg::Concat{.axis = 1}, towers);
  }
  return std::move(g).build();
}

// Tables of rows of 1024 numbers, joined for a layer of 8, with a bias.
pcg::Graph wide_tables(int tables) {
  pcg::GraphBuilder g("wide tables");
  std::vector<pcg::GraphTensorRef> rows;
  for (int i = 0; i < tables; ++i) {
    const auto index = g.input(fmt::format("index{}", i), {{4096, 4}, pcg::Element::index});
    rows.push_back(g.add(fmt::format("table{}", i), pcg::EmbeddingBag{.vocabulary = 100'000, .width = 1024}, {index}));
  }
  const auto joined = g.add("join", pcg::Concat{.axis = 1}, rows);
  auto x = g.add("narrow", pcg::Linear{.out = 8, .has_bias = true, .activation = pcg::Activation::relu}, {joined});
  x = g.add("last", pcg::Linear{.out = 8}, {x});
  g.add("loss", pcg::SquaredError{}, {x, g.input("targets", {{4096, 8}, pcg::Element::real})});
  return std::move(g).build();
}

bool has_concat(const pcg::Pcg& pcg) {
  return std::ranges::any_of(pcg.nodes(),
                             [](const pcg::PcgNode& n) { return n.operation() && std::holds_alternative<pcg::Concat>(*n.operation()); });
}

search::SearchResult unity(test::Question& q, search::UnityConfig config = {}) {
  config.steps = std::min<std::size_t>(config.steps, 300);
  return search::unity_search(q.problem(), config, {});
}

}  // namespace

TEST_CASE("reduction parallelism in the place of gradients") {
  // Unity's Figure 2 (OSDI'22): 4 x 64 x 512 numbers at most, where data parallelism adds up 2 x 406,528.
  test::Question q("{builtin: mlp-mnist}", 2, 1, 64);
  q.training.optimizer = pcg::Optimizer::sgd;
  const search::SearchResult r = unity(q);
  REQUIRE(r.simulation);
  CHECK(r.simulation->bytes.total.value() <= 131072 * 4);
}

TEST_CASE("convolutions of one image are merged, with their norms, in every module alike") {
  test::Question q(test::kSmallGpt, 1, 2, 8);
  q.model = modules(3);
  q.training.optimizer = pcg::Optimizer::sgd;
  const search::Problem problem = q.problem();
  search::OperatorCatalog catalog(problem, 2);
  search::BranchShapes shapes;
  search::RewrittenModel model(q.model, 5, rules::builtin_algebraic_rules().rules, catalog, shapes);
  CHECK(model.segments() == 3);
  static const search::SearchContext kContext;
  search::Budget never(kContext, base::Seconds(1));
  // Every operator counts alike: what has the fewest is the best.
  model.rewrite(
      {.graphs = 400}, [](search::KindNumber) { return 1.0; }, never);
  CHECK(model.unlike_segments() == 2);  // the first one reads what has no gradient
  const std::vector<std::size_t> chosen = model.quickest();
  for (std::size_t s = 0; s < model.segments(); ++s) CHECK(model.variants(s)[chosen[s]].seconds < model.variants(s)[0].seconds);
  const search::Joined joined = model.with(chosen);
  CHECK(joined.graph.parameters() == q.model.parameters());
  const auto convolutions = [](const pcg::Graph& g) {
    return std::ranges::count_if(g.nodes(), [](const pcg::GraphNode& n) { return std::holds_alternative<pcg::Conv2d>(n.op); });
  };
  CHECK(convolutions(q.model) == 6);
  CHECK(convolutions(joined.graph) == 3);
  // The variants that are the segments themselves make the graph that was there.
  CHECK(model.with(std::vector<std::size_t>(3, 0)).graph.nodes().size() == q.model.nodes().size());
}

TEST_CASE("a rewritten plan computes what the model computes") {
  test::Question q(test::kSmallGpt, 1, 2, 8);
  q.model = modules(2);
  q.training.optimizer = pcg::Optimizer::sgd;
  const search::SearchResult r = unity(q, {.segment = 5});
  REQUIRE(r.best);
  const pcg::EquivalenceResult checked = pcg::check_equivalence(*r.best, q.model, 2, 1);
  CHECK_MESSAGE(checked.equivalent, checked.detail);
  // It says how it came about: each step goes on from the one before, and modules that are alike were rewritten alike.
  const std::vector<pcg::Rewrite>& steps = r.best->rewrites;
  REQUIRE(!steps.empty());
  std::set<std::string> parts;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (!parts.insert(steps[s].up_to).second) CHECK(steps[s].before == steps[s - 1].after);
    CHECK(steps[s].after.value() > 0);
  }
  CHECK(parts == std::set<std::string>{"block0.join", "block1.join"});
  CHECK(r.best->summary.ends_with(fmt::format("; {} rewrites", steps.size())));
}

TEST_CASE("a plan of the model as it is claims no rewrites") {
  test::Question q(test::kSmallGpt, 1, 2, 8);
  q.model = modules(1);
  q.training.optimizer = pcg::Optimizer::sgd;
  const search::Problem problem = q.problem();
  search::OperatorCatalog catalog(problem, 2);
  search::BranchShapes shapes;
  const pcg::Graph graph = pcg::with_batch(q.model, 8);
  search::RewrittenModel model(graph, 0, rules::builtin_algebraic_rules().rules, catalog, shapes);
  static const search::SearchContext kContext;
  search::Budget never(kContext, base::Seconds(1));
  model.rewrite(
      {}, [](search::KindNumber) { return 1.0; }, never);
  const std::vector<std::size_t> best = model.quickest();
  pcg::Plan replicas = search::data_parallel_plan(problem, {}).value();
  model.add_rewrites(best, model.with(best).graph, replicas);
  CHECK(replicas.rewrites.empty());
  CHECK(replicas == search::data_parallel_plan(problem, {}).value());
}

TEST_CASE("the concat in front of a narrow layer goes, where wide rows of tables would move for it") {
  // Unity's Figure 16b (OSDI'22). Each of 4 tables is on one of 4 machines: for a concat they send rows of 1024 numbers, as products 8.
  test::Question q(test::kSmallGpt, 4, 1, 4096);
  q.model = wide_tables(4);
  q.training.optimizer = pcg::Optimizer::sgd;
  const search::SearchResult r = unity(q), as_it_is = unity(q, {.algebra = false});
  REQUIRE(r.best);
  REQUIRE(as_it_is.best);
  CHECK_FALSE(has_concat(r.best->pcg));
  CHECK(has_concat(as_it_is.best->pcg));
  CHECK(*r.objective < 0.8 * *as_it_is.objective);
  // The layer's weight is stored in four parts, which are the model's; nothing cuts it.
  std::int64_t parts = 0;
  for (const pcg::PcgNode& n : r.best->pcg.nodes())
    if (n.is_weight())
      for (const pcg::WeightPart& p : std::get<pcg::Weight>(*n.operation()).parts) parts += p.of == "narrow.weight" && p.sizes[0] == 1024;
  CHECK(parts == 4);
  const pcg::EquivalenceResult checked = pcg::check_equivalence(*r.best, q.model, 2, 1);
  CHECK_MESSAGE(checked.equivalent, checked.detail);
}

TEST_CASE("a weight that another segment reads is stored as it is") {
  // `w` multiplies a joined tensor in the first segment, where it would be cut, and again in the second.
  const auto graph = [](bool is_shared) {
    pcg::GraphBuilder g("tied");
    const auto x = g.input("x", {{8, 32}, pcg::Element::real}), y = g.input("y", {{8, 32}, pcg::Element::real});
    const auto w = g.weight("w", {{64, 64}, pcg::Element::real}), u = g.weight("u", {{64, 64}, pcg::Element::real});
    auto z = g.add("join", pcg::Concat{.axis = 1}, {x, y});
    z = g.add("first", pcg::Linear{.out = 64}, {z}, {w});
    z = g.add("middle", pcg::Linear{.out = 64}, {z});
    z = g.add("again", pcg::Linear{.out = 64}, {z}, {is_shared ? w : u});
    g.add("end", pcg::Linear{.out = 64}, {z});
    return std::move(g).build();
  };
  for (const bool is_shared : {false, true}) {
    test::Question q(test::kSmallGpt, 1, 2, 8);
    q.model = graph(is_shared);
    const search::Problem problem = q.problem();
    search::OperatorCatalog catalog(problem, 2);
    search::BranchShapes shapes;
    search::RewrittenModel model(q.model, 2, rules::builtin_algebraic_rules().rules, catalog, shapes);
    REQUIRE(model.segments() == 2);
    static const search::SearchContext kContext;
    search::Budget never(kContext, base::Seconds(1));
    model.rewrite(
        {.graphs = 50}, [](search::KindNumber) { return 1.0; }, never);
    CHECK(std::ranges::any_of(model.variants(0), &search::Variant::is_apart) == !is_shared);
  }
}

TEST_CASE("the same seed gives the same plan; no search is worse than data parallelism; joint is no worse than its parts") {
  for (const char* section : {"{builtin: mlp-mnist}", test::kSmallGpt.c_str()}) {
    test::Question q(section, 2, 2, 64);
    const search::SearchResult joint = unity(q), again = unity(q);
    REQUIRE(joint.best);
    CHECK(*joint.best == *again.best);
    const base::Seconds time = *joint.objective;
    CHECK(time <= q.oracle.plan(search::data_parallel_plan(q.problem(), {}).value()).iteration_time);
    CHECK(time <= *unity(q, {.side_by_side = false, .algebra = false}).objective * (1 + 1e-9));
  }
}

TEST_CASE("a search that is out of time gives the best so far") {
  test::Question q(test::kSmallGpt, 2, 2, 64);
  double now = 0;
  const search::SearchContext late{.clock = [&] { return base::Seconds(now += 10); }};
  const search::SearchResult r = search::unity_search(q.problem(), {.budget = base::Seconds(1)}, late);
  REQUIRE(r.best);
  CHECK(r.termination.limit() == search::Limit::effort);
}

TEST_CASE("an interrupted search gives the best so far") {
  test::Question q(test::kSmallGpt, 2, 2, 64);
  int asked = 0;
  const search::SearchContext impatient{.interrupted = [&] { return ++asked > 3; }};
  const search::SearchResult r = search::unity_search(q.problem(), {}, impatient);
  REQUIRE(r.best);
  CHECK(r.termination.limit() == search::Limit::time);
}

TEST_CASE("TASO's algebra first, FlexFlow's walk after it") {
  test::Question q(test::kSmallGpt, 1, 2, 8);
  q.model = modules(2);
  q.training.optimizer = pcg::Optimizer::sgd;
  const search::SearchResult r = search::taso_flexflow_search(q.problem(), {.flexflow = {.proposals = 500}}, {});
  REQUIRE(r.best);
  CHECK(r.best->name == "taso+flexflow");
  const pcg::EquivalenceResult checked = pcg::check_equivalence(*r.best, q.model, 2, 1);
  CHECK_MESSAGE(checked.equivalent, checked.detail);
}

TEST_CASE("operators are cut along the dimensions that are asked for") {
  test::Question q(test::kSmallGpt, 1, 4, 2);  // fewer samples than GPUs
  search::UnityConfig config{.grid = false, .cuts = {.reduction = false, .heads = false}, .pipelines = false, .steps = 0};
  config.algebra = false;
  const search::SearchResult r = search::unity_search(q.problem(), config, {});
  REQUIRE(r.best);
  for (const pcg::PcgNode& n : r.best->pcg.nodes())
    for (std::size_t l = 0; n.computes() && l < n.sharding.degrees.size(); ++l)
      if (n.space->loops[l].cut == pcg::Cut::sum || n.space->loops[l].name == "heads") CHECK(n.sharding.degrees[l] == 1);
}

TEST_CASE("a pipeline that stays full has no more stages than micro-batches") {
  // Two micro-batches, as the batch is 2: three or four stages would wait for micro-batches that never come.
  const test::Question q(test::kSmallGpt, 1, 4, 2);
  const search::SearchResult r =
      search::unity_search(q.problem(), {.known_plans = false, .grid = false, .schedule = pcg::ScheduleKind::two_bw, .steps = 0}, {});
  REQUIRE(r.best);
  CHECK(pcg::violations(*r.best).empty());
}
