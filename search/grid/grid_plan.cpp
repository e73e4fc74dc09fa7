#include "search/grid/grid_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "base/check.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/plan/low_precision.hpp"
#include "pcg/resizing/resize.hpp"
#include "pcg/work/work.hpp"
#include "search/grid/layout.hpp"
#include "search/grid/stages.hpp"
#include "sim/effort.hpp"

namespace search {
namespace {

// Megatron-LM's default of make-vocab-size-divisible-by, which it multiplies by the tensor degree.
constexpr std::int64_t kVocabularyMultiple = 128;

std::int64_t rounded_up(std::int64_t size, std::int64_t multiple) { return (size + multiple - 1) / multiple * multiple; }

// Sizes that do not divide are rounded up: a vocabulary as Megatron-LM does. Ranks that share a sequence
// route their own tokens, to as many places each at every expert.
std::vector<pcg::Padding> padding_for(const pcg::Graph& model, const Grid& grid) {
  std::vector<pcg::Padding> padding;
  if (const std::int64_t vocabulary = word_vocabulary(model); vocabulary % grid.tensor != 0)
    padding.push_back({vocabulary, rounded_up(vocabulary, kVocabularyMultiple * grid.tensor)});
  std::set<std::int64_t> places;
  for (const pcg::GraphNode& n : model.nodes())
    if (std::holds_alternative<pcg::MoeDispatch>(n.op)) places.insert(n.outputs[0].sizes[2]);
  for (const std::int64_t p : places)
    if (p % grid.sequence_parts() != 0) padding.push_back({p, rounded_up(p, grid.sequence_parts()), pcg::Padded::expert_capacity});
  return padding;
}

// parallelize() keeps the graph's operators in order and puts parallel operators between them.
std::vector<pcg::MachineView> mapping_of(const pcg::Plan& plan, const Grid& grid, const std::vector<Layout>& node_layouts) {
  struct Known {
    const Layout* layout;
    int place;
    pcg::MachineView view;
  };
  std::vector<Known> known;  // a few layouts, on each stage's devices
  const auto view_of = [&](const Layout& layout, int place) -> const pcg::MachineView& {
    for (const Known& k : known)
      if (k.place == place && *k.layout == layout) return k.view;
    // The other direction meets the stage on its way from the other end.
    const std::array places = {place, grid.pipeline - 1 - place};
    return known.emplace_back(Known{&layout, place, layout.view(grid, places)}).view;
  };
  std::vector<pcg::MachineView> mapping;
  std::size_t node = 0;
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    mapping.emplace_back();
    if (plan.pcg.nodes()[n].parallel_operator() != nullptr) continue;
    if (plan.pcg.nodes()[n].computes()) mapping.back() = view_of(node_layouts[node], plan.stage[n] % grid.pipeline);
    ++node;
  }
  return mapping;
}

// Settings that differ from the framework's.
pcg::Overlap unlike(const profiles::FrameworkProfile& framework, pcg::Overlap said) {
  const profiles::Overlaps usual = profiles::overlaps_of(framework, {});
  if (said.gradients == usual.gradients) said.gradients.reset();
  if (said.parameters == usual.parameters) said.parameters.reset();
  if (said.tensor == usual.tensor) said.tensor.reset();
  if (said.experts == usual.experts) said.experts.reset();
  return said;
}

std::string summary_of(const Grid& grid, const GridConfig& config, const profiles::FrameworkProfile& framework,
                       std::span<const int> layers_per_stage, const std::vector<pcg::Padding>& padding) {
  std::string text = summary(grid, config);
  if (const std::string overlap = pcg::to_text(unlike(framework, config.overlap)); !overlap.empty()) text += ", " + overlap;
  const bool equal = std::ranges::all_of(layers_per_stage, [&](int n) { return n == layers_per_stage.front(); });
  if (!equal) text += fmt::format(", layers per stage {}", layers_text(layers_per_stage));
  for (const pcg::Padding& p : padding)
    text += fmt::format(", {} padded from {} to {}", p.of == pcg::Padded::expert_capacity ? "expert capacity" : "vocabulary", p.from, p.to);
  return text;
}

std::optional<Refusal> wrong_list(const std::vector<int>& listed, int stages, int layers, const pcg::Graph& graph) {
  if (listed.size() != static_cast<std::size_t>(stages))
    return refuse(Constraint::layers, "layers_per_stage lists {} stages, there are {}", listed.size(), stages);
  if (const auto sum = std::accumulate(listed.begin(), listed.end(), std::int64_t{0}); sum != layers)
    return refuse(Constraint::layers, "layers_per_stage adds up to {} layers, {} has {}", sum, graph.name(), layers);
  const BareEnds ends = may_be_bare(graph.blocks());
  for (std::size_t s = 0; s < listed.size(); ++s)
    if (listed[s] == 0 && !(s == 0 && ends.first) && !(s + 1 == listed.size() && ends.last))
      return refuse(Constraint::layers,
                    "layers_per_stage leaves stage {} without a layer: only the first may hold the embedding "
                    "alone, and the last the head",
                    s);
  return std::nullopt;
}

std::optional<Refusal> without_hosts(const pcg::Offload& offload, const topology::Cluster& cluster) {
  if (offload == pcg::Offload{}) return std::nullopt;
  for (std::size_t d = 0; d < cluster.devices().size(); ++d)
    if (!cluster.host_link(base::DeviceId(d)))
      return refuse(Constraint::devices,
                    "nothing can be offloaded: GPU {} of node {} has no way to a CPU in the description of the cluster",
                    cluster.devices()[d].index_in_node, cluster.devices()[d].node);
  return std::nullopt;
}

}  // namespace

const pcg::Graph& GridPlanner::graph_of(const std::vector<pcg::Padding>& padding, std::int64_t samples) {
  const auto [at, is_new] = graphs_.try_emplace({padding, samples});
  if (is_new) at->second = pcg::with_batch(padding.empty() ? problem_.model : pcg::padded(problem_.model, padding), samples);
  return at->second;
}

const pcg::Pcg& GridPlanner::pcg_of(const pcg::Graph& graph, std::vector<pcg::Sharding> shardings) {
  // Grids that differ in chunks alone come one after another, so the one before is enough to keep.
  if (!last_ || last_->graph != &graph || last_->shardings != shardings) {
    pcg::Pcg made = pcg::parallelize(graph, shardings);
    last_ = Cut{&graph, std::move(shardings), std::move(made)};
  }
  return last_->pcg;
}

Attempt<pcg::Plan> GridPlanner::with_layers(const pcg::Plan& rest, std::span<const int> layers_per_stage, const GridConfig& config,
                                            const Grid& grid, const pcg::Graph& graph) {
  pcg::Plan plan = rest;
  const std::vector<int> block_stages = stages_of_blocks(graph.blocks(), layers_per_stage);
  const auto node_layouts = layouts(graph, grid, block_stages);
  if (!node_layouts) return node_layouts.refusal();
  plan.pcg = pcg_of(graph, shardings(graph, grid, *node_layouts));
  plan.stage = stages_of_nodes(plan.pcg, block_stages);
  plan.summary = summary_of(grid, config, problem_.oracle.framework(plan.training), layers_per_stage, plan.padding);
  plan.mapping = mapping_of(plan, grid, *node_layouts);
  const auto wrong = pcg::violations(plan);
  BASE_CHECK(wrong.empty(), "{}: {}", plan.summary, wrong.front());
  return plan;
}

Attempt<std::vector<int>> GridPlanner::layers_per_stage(const GridConfig& config, const Grid& grid, const pcg::Graph& graph,
                                                        const pcg::Plan& plan, Balance balance) {
  const auto layers = static_cast<int>(std::ranges::count_if(graph.blocks(), &pcg::Block::weighty));
  if (!config.layers_per_stage.empty()) {
    if (const auto wrong = wrong_list(config.layers_per_stage, plan.stages, layers, graph)) return *wrong;
    return config.layers_per_stage;
  }
  if (plan.stages == 1) return std::vector<int>{layers};
  if (layers == 0) return refuse(Constraint::layers, "{} has no layers to split into {} stages", graph.name(), plan.stages);
  const BareEnds bare = may_be_bare(graph.blocks());
  if (layers + (bare.first ? 1 : 0) + (bare.last ? 1 : 0) < plan.stages)
    return refuse(Constraint::layers, "{} layers do not fill {} stages", layers, plan.stages);
  if (!config.balanced_stages && layers % plan.stages == 0)
    return std::vector<int>(static_cast<std::size_t>(plan.stages), layers / plan.stages);
  if (const auto whole = layouts(graph, grid, std::vector<int>(graph.blocks().size(), 0)); !whole) return whole.refusal();
  if (balanced_ && balanced_->first == config) return balanced_->second;
  std::optional<Refusal> refused;  // of the last split that cannot be cut
  const Splits splits{layers, plan.stages, bare, [&](std::span<const int> split) -> std::optional<pcg::Plan> {
                        Attempt<pcg::Plan> made = with_layers(plan, split, config, grid, graph);
                        if (made) return std::move(made).value();
                        refused = made.refusal();
                        return std::nullopt;
                      }};
  std::optional<std::vector<int>> split = balanced_layers(splits, balance, problem_.oracle);
  if (!split) return *refused;
  if (balance == Balance::whole) balanced_ = {config, *split};
  return *std::move(split);
}

Attempt<pcg::Plan> GridPlanner::plan(const GridConfig& config, std::string name, Balance balance) {
  problem_.oracle.spend(sim::kBuildPlan.of(problem_.model.nodes().size(), devices_));
  if (auto refused = without_hosts(config.memory.offload, problem_.cluster)) return *refused;
  const Attempt<Grid> made = make_grid(config, devices_, problem_.training.global_batch);
  if (!made) return made.refusal();
  if (config.memory.bf16_moments && problem_.training.optimizer == pcg::Optimizer::sgd)
    return Refusal{Constraint::precision, "sgd keeps no moments, in bf16 or otherwise"};
  if (auto why = pcg::wrong_weights(config.memory.weights, problem_.training.precision)) return Refusal{Constraint::precision, *why};
  const Grid& grid = *made;
  pcg::Plan plan;
  plan.padding = padding_for(problem_.model, grid);
  const pcg::Graph& graph = graph_of(plan.padding, grid.micro_batch * grid.data);
  plan.name = std::move(name);
  plan.model = problem_.model_section;
  plan.training = problem_.training;
  plan.gpus = devices_;
  plan.stages = grid.pipeline * grid.chunks;
  plan.chunks = grid.chunks * grid.directions;
  plan.schedule = grid.chunks == 1 && config.schedule == pcg::ScheduleKind::interleaved ? pcg::ScheduleKind::one_f_one_b : config.schedule;
  plan.micro_batches = grid.micro_batches;
  plan.micro_batch_group = grid.micro_batch_group;
  plan.lean_warm_up = config.lean_warm_up;
  if (config.context_kind == ContextKind::ring && grid.context > grid.context_all_to_all) plan.key_exchange = pcg::KeyExchange::ring;
  plan.recompute = config.recompute;
  plan.zero = config.zero;
  plan.overlap = config.overlap;
  plan.dispatch = config.dispatch;
  plan.memory = config.memory;
  plan.memory.zero.groups = grid.shard_groups;
  plan.cuda_graphs = config.cuda_graphs;
  plan.graphed = config.graphed;

  const auto split = layers_per_stage(config, grid, graph, plan, balance);
  return split ? with_layers(plan, *split, config, grid, graph) : split.refusal();
}

std::vector<pcg::Recompute> recomputations_of(const pcg::Graph& model) {
  if (std::ranges::any_of(model.nodes(), [](const pcg::GraphNode& n) { return pcg::keeps_scores(n.op); }))
    return {pcg::Recompute::none, pcg::Recompute::selective, pcg::Recompute::full};
  return {pcg::Recompute::none, pcg::Recompute::full};
}

Attempt<pcg::Plan> grid_plan(const Problem& problem, const GridConfig& config, std::string name) {
  return GridPlanner(problem).plan(config, std::move(name));
}

}  // namespace search
