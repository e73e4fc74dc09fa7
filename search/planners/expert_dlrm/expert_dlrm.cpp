#include "search/planners/expert_dlrm/expert_dlrm.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/check.hpp"
#include "search/grid/grid_options.hpp"
#include "search/grid/layout.hpp"
#include "search/solve/operators/operator_catalog.hpp"
#include "search/solve/operators/strategies.hpp"

namespace search {
namespace {

constexpr int kNoLoop = -1;

bool looks_up(const pcg::GraphNode& node) {
  return std::holds_alternative<pcg::Embedding>(node.op) || std::holds_alternative<pcg::EmbeddingBag>(node.op);
}

class ExpertPlan {
 public:
  ExpertPlan(const Problem& problem, const ExpertDlrmConfig& config, const pcg::Graph& graph, std::vector<Strategy> strategies)
      : problem_(problem), config_(config), graph_(graph), strategies_(std::move(strategies)) {}

  pcg::Plan run() {
    const std::vector<std::uint32_t> tables = tables_of_model();
    const bool by_cost = config_.model_parallel == ExpertDlrmConfig::ModelParallel::by_cost ||
                         (config_.model_parallel == ExpertDlrmConfig::ModelParallel::where_fit && tables.empty());
    std::map<int, int> cut;  // degree of features -> operators
    if (by_cost)
      for (const std::uint32_t n : slow_to_synchronise())
        if (const int degree = share_features(n); degree > 1) ++cut[degree];
    for (std::size_t t = 0; t < tables.size(); ++t)
      strategies_[tables[t]] = {pcg::unsharded(*graph_.nodes()[tables[t]].space), {.start = base::DeviceId(device_of(t, tables.size()))}};
    pcg::Plan plan = plan_of_strategies(problem_, graph_, strategies_);
    plan.name = "expert-dlrm";
    plan.summary = summary(tables.size(), cut);
    const auto wrong = pcg::violations(plan);
    BASE_CHECK(wrong.empty(), "{}: {}", plan.summary, wrong.front());
    return plan;
  }

 private:
  [[nodiscard]] bool is_weight(pcg::GraphTensorRef t) const { return std::holds_alternative<pcg::Weight>(graph_.node(t.node).op); }

  // Whether the operator has weights, and no other one reads them.
  [[nodiscard]] bool has_own_weights(const pcg::GraphNode& node) const {
    const auto shared = [&](pcg::GraphTensorRef t) { return is_weight(t) && consumers_[t.node.value].size() > 1; };
    return std::ranges::any_of(node.inputs, [&](pcg::GraphTensorRef t) { return is_weight(t); }) &&
           std::ranges::none_of(node.inputs, shared);
  }

  [[nodiscard]] std::vector<std::uint32_t> tables_of_model() const {
    std::vector<std::uint32_t> tables;
    for (std::uint32_t n = 0; n < graph_.nodes().size(); ++n)
      if (looks_up(graph_.nodes()[n]) && has_own_weights(graph_.nodes()[n])) tables.push_back(n);
    return tables;
  }

  // One after another; of fewer tables than devices each has as many devices to itself, so that nodes and sockets get equally many.
  [[nodiscard]] std::size_t device_of(std::size_t table, std::size_t tables) const {
    const auto devices = static_cast<std::size_t>(devices_);
    return tables < devices ? table * devices / tables : table % devices;
  }

  // Operators but tables, whose weights' gradients take longer to add up over all devices than their kernels take, cut by samples.
  [[nodiscard]] std::vector<std::uint32_t> slow_to_synchronise() const {
    OperatorCatalog catalog(problem_, 1);
    const std::vector<KindNumber> kinds = catalog.kinds_of(graph_);
    std::vector<std::uint32_t> slow;
    for (std::uint32_t n = 0; n < kinds.size(); ++n) {
      if (kinds[n] == kSource || looks_up(graph_.nodes()[n]) || !has_own_weights(graph_.nodes()[n])) continue;
      const StrategyTable& table = catalog.table(kinds[n], {0, devices_});
      const auto at = std::ranges::find(table.strategies, strategies_[n]);
      if (at == table.strategies.end()) continue;
      const StrategyCost& cost = table.costs[static_cast<std::size_t>(at - table.strategies.begin())];
      if (cost.synchronisation > cost.kernels) slow.push_back(n);
    }
    return slow;
  }

  // The free loop that runs through a weight and the output: output features, channels, experts.
  [[nodiscard]] int feature_loop(const pcg::GraphNode& node) const {
    const pcg::IterationSpace& space = *node.space;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_weight(node.inputs[i])) continue;
      for (const int loop : space.inputs[i])
        if (loop >= 0 && space.loops[static_cast<std::size_t>(loop)].cut == pcg::Cut::free &&
            std::ranges::count(space.outputs[0], loop) > 0)
          return loop;
    }
    return kNoLoop;
  }

  // Neighbours share the features of samples that they then have in common. Returns: how many; 1: the operator stays as it is.
  int share_features(std::uint32_t n) {
    const pcg::GraphNode& node = graph_.nodes()[n];
    const int loop = feature_loop(node);
    Strategy& strategy = strategies_[n];
    const pcg::Sharding& whole = strategy.sharding;
    const auto samples = std::ranges::find(whole.degrees, devices_);
    if (loop == kNoLoop || samples == whole.degrees.end() || whole.degrees[static_cast<std::size_t>(loop)] != 1) return 1;
    const int most = std::gcd(features(), devices_);  // of its divisors, so that neighbours stay in one node
    int degree = most;
    while (degree > 1 && (most % degree != 0 || !can_cut(graph_, pcg::GraphNodeId(n), loop, degree))) --degree;
    if (degree == 1) return 1;
    Strategy shared{whole, {}};
    const auto at = static_cast<std::size_t>(samples - whole.degrees.begin()), feature = static_cast<std::size_t>(loop);
    shared.sharding.degrees[at] = devices_ / degree;
    shared.sharding.degrees[feature] = degree;
    if (pcg::violation(*node.space, shared.sharding, graph_.input_shapes(pcg::GraphNodeId(n)), node.outputs)) return 1;
    if (degree < devices_) shared.view.strides = at < feature ? std::vector{degree, 1} : std::vector{1, degree};
    else shared.view.strides = {1};
    strategy = std::move(shared);
    return degree;
  }

  [[nodiscard]] int features() const {
    if (config_.features > 0) return config_.features;
    int least = devices_;
    for (int d = 0; d < problem_.cluster.domains(); ++d)
      least = std::min(least, static_cast<int>(problem_.cluster.domain_devices(d).size()));
    return least;
  }

  [[nodiscard]] std::string summary(std::size_t tables, const std::map<int, int>& cut) const {
    std::string text = fmt::format("data {}", devices_);
    const std::size_t holders = std::min(tables, static_cast<std::size_t>(devices_));
    if (tables > 0) text += fmt::format(", {} table{} on {} device{}", tables, tables == 1 ? "" : "s", holders, holders == 1 ? "" : "s");
    for (const auto& [degree, operators] : cut)
      text += fmt::format(", features of {} operator{} by {}", operators, operators == 1 ? "" : "s", degree);
    return text;
  }

  const Problem& problem_;
  ExpertDlrmConfig config_;
  const pcg::Graph& graph_;
  std::vector<std::vector<pcg::GraphNodeId>> consumers_ = graph_.consumers();
  int devices_ = problem_.cluster.device_count();
  std::vector<Strategy> strategies_;  // per node of the graph; those of sources are empty
};

}  // namespace

Attempt<pcg::Plan> expert_dlrm_plan(const Problem& problem, const ExpertDlrmConfig& config) {
  const pcg::Graph graph = pcg::with_batch(problem.model, problem.training.global_batch);
  Attempt<std::vector<Strategy>> strategies = strategies_on_grid(graph, {}, problem.cluster.device_count(), problem.training.global_batch);
  if (!strategies) return strategies.refusal();
  return ExpertPlan(problem, config, graph, std::move(strategies).value()).run();
}

Planner expert_dlrm_planner() {
  return {.kind = "expert-dlrm",
          .about = "Embedding tables whole on one GPU each, everything else data parallel, as experts plan recommendation models.",
          .options =
              {{"model_parallel", Choice{.words = {"tables", "by_cost"}},
                "what is not data parallel: embedding tables; and operators whose gradients take longer to add up than their kernels take",
                "`tables`; of a model without tables `by_cost`"},
               degree_option("features", 0,
                             "number of neighbours that share the output features of such an operator that is no table, or its largest "
                             "divisor that cuts the operator",
                             "the GPUs of a domain")},
          .plan = [](const Problem& p, const OptionValues& o, const SearchContext&) {
            ExpertDlrmConfig config;
            if (o.given("model_parallel"))
              config.model_parallel =
                  o.choice("model_parallel") == 0 ? ExpertDlrmConfig::ModelParallel::tables : ExpertDlrmConfig::ModelParallel::by_cost;
            config.features = static_cast<int>(o.whole_number("features"));
            return result_of_rule(expert_dlrm_plan(p, config));
          }};
}

}  // namespace search
