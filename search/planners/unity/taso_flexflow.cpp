#include "search/planners/unity/unity.hpp"
#include "search/planners/unity/variants.hpp"
#include "search/problem/options.hpp"

namespace search {

constexpr std::size_t kSmallestSegment = 10;  // UnityConfig::segment
constexpr double kShareOfAlgebra = 0.5;       // of the budget, at most

SearchResult taso_flexflow_search(const Problem& problem, const TasoFlexFlowConfig& config, const SearchContext& context) {
  Budget budget(context, config.flexflow.budget);
  Budget algebra(context, budget.part(kShareOfAlgebra));
  const pcg::Graph graph = pcg::with_batch(problem.model, problem.training.global_batch);
  OperatorCatalog catalog(problem, 1);
  BranchShapes shapes;
  RewrittenModel model(graph, kSmallestSegment, rules_to_ask(config.rules), catalog, shapes);
  const int devices = problem.cluster.device_count();
  model.rewrite(
      {.threshold = config.threshold, .graphs = config.graphs}, [&](KindNumber k) { return catalog.alone_seconds(k, devices); }, algebra);
  budget.add_part(algebra.counted(), algebra.ended_by());
  const std::vector<std::size_t> chosen = model.quickest();
  const pcg::Graph rewritten = model.with(chosen).graph;
  FlexFlowConfig walks = config.flexflow;
  walks.budget = budget.part(1);
  SearchResult r = flexflow_search(problem, rewritten, walks, context);
  r.counted += budget.counted();
  if (budget.ended_by() && r.termination.limit() == Limit::options) r.termination = Termination::feasible(*budget.ended_by());
  r.notes.emplace_back("graphs-evaluated", model.evaluated());
  for (std::optional<pcg::Plan>* plan : {&r.best, &r.closest}) {
    if (!*plan) continue;
    (*plan)->name = "taso+flexflow";
    model.add_rewrites(chosen, rewritten, **plan);
  }
  if (config.rules.of_file) r.notes.push_back(rules_asked(config.rules));
  return r;
}

Planner taso_flexflow_planner() {
  const TasoFlexFlowConfig defaults;
  Planner p = flexflow_planner();
  p.kind = "taso+flexflow";
  p.about = "Rewrites first, as one GPU would have them (TASO), then FlexFlow's walk over the graph that comes out.";
  p.options.push_back({"threshold", RealNumber{.least = 1, .by_default = defaults.threshold},
                       "a graph that costs more than this times the best is not rewritten further"});
  p.options.push_back({"graphs", WholeNumber{.least = 1, .most = 1000000, .by_default = static_cast<std::int64_t>(defaults.graphs)},
                       "rewritten ones of a segment that are evaluated, at most"});
  p.options.push_back(
      {"rules", RulesOfFile{}, "its rules are asked in place of those that ship; each is proved before", "those that ship"});
  p.plan = [](const Problem& problem, const OptionValues& o, const SearchContext& c) {
    return taso_flexflow_search(problem,
                                {.flexflow = flexflow_config(o),
                                 .threshold = o.real_number("threshold"),
                                 .graphs = static_cast<std::size_t>(o.whole_number("graphs")),
                                 .rules = o.rules("rules")},
                                c);
  };
  return p;
}

}  // namespace search
