#include "search/solve/layers/chain_costs.hpp"

#include <algorithm>
#include <set>

#include "pcg/work/work.hpp"
#include "sim/dataflow/flow_graph.hpp"
#include "sim/memory/activations.hpp"
#include "sim/memory/model_states.hpp"

namespace search {
namespace {

constexpr double kCannot = std::numeric_limits<double>::infinity();

double least_memory(const Problem& problem) {
  double least = kCannot;
  for (std::size_t d = 0; d < static_cast<std::size_t>(problem.cluster.device_count()); ++d) {
    const profiles::DeviceProfile& device = problem.oracle.device(base::DeviceId(d));
    least = std::min(least, (device.memory - device.reserved).value());
  }
  return least;
}

}  // namespace

ChainCosts::ChainCosts(const Problem& problem, const ShortModel& model, OperatorCatalog& catalog, int micro_batches)
    : problem_(problem), model_(model), catalog_(catalog), micro_batches_(micro_batches), memory_(least_memory(problem)) {
  const profiles::FrameworkProfile& framework = problem.oracle.framework(problem.training);
  const sim::ModelStateBytes state = sim::model_state_bytes(problem.training, framework);
  overlaps_gradients_ = profiles::overlaps_of(framework, {}).gradients;
  gathers_ahead_ = framework.prefetch_units > 0;
  weight_share_ = state.weight / state.gradient;
  std::map<pcg::GraphNodeId, int> read_last;  // weights, by the layer
  for (std::uint32_t n = 0; n < kinds_.size(); ++n) {
    bool known = true, known_in_layer = true, has_weights = false;
    for (const pcg::GraphTensorRef t : graph_.nodes()[n].inputs) {
      if (!std::holds_alternative<pcg::Weight>(graph_.node(t.node).op)) continue;
      has_weights = true;
      const auto before = read_last.find(t.node);
      known = known && before != read_last.end();
      known_in_layer = known_in_layer && before != read_last.end() && before->second == layer_of(n);
      if (before != read_last.end() && before->second != layer_of(n)) tied_elements_ += static_cast<double>(graph_.shape(t).elements());
      read_last[t.node] = layer_of(n);
    }
    weights_are_known_.push_back(has_weights && known);
    weights_are_known_in_layer_.push_back(has_weights && known_in_layer);
  }
}

// Operators of a kind that are cut alike are costed once.
const ChainCosts::BlockCosts& ChainCosts::block_costs(DeviceBlock block) {
  const auto [at, is_new] = block_costs_.try_emplace(block);
  if (!is_new) return at->second;
  BlockCosts& own_costs = at->second;
  std::vector<std::optional<std::vector<Strategy>>> cuts;
  for (const LayerCut& cut : layer_cuts(block.size)) {
    cuts.push_back(operators_of_cut(graph_, model_.split, cut));
    own_costs.can.push_back(cuts.back().has_value());
    own_costs.costs.emplace_back(kinds_.size());
    own_costs.layouts.emplace_back(kinds_.size());
  }
  struct Known {
    std::vector<Strategy> strategies;
    StrategyTable table;
  };
  std::map<KindNumber, std::vector<Known>> known;
  for (std::uint32_t n = 0; n < kinds_.size(); ++n) {
    if (kinds_[n] == kSource) continue;
    std::vector<Strategy> strategies;
    for (const auto& cut : cuts)
      if (cut) strategies.push_back(shifted((*cut)[n], block.start));
    std::vector<Known>& alike = known[kinds_[n]];
    auto same = std::ranges::find(alike, strategies, &Known::strategies);
    if (same == alike.end()) same = alike.insert(same, {strategies, catalog_.table_of(kinds_[n], strategies, block.size)});
    std::size_t number = 0;
    for (std::size_t s = 0; s < cuts.size(); ++s) {
      if (!cuts[s]) continue;
      own_costs.costs[s][n] = same->table.costs[number];
      own_costs.layouts[s][n] = same->table.layouts[number++];
    }
  }
  return own_costs;
}

// The order of the devices changes nothing.
const std::array<ChainCosts::BytesOfCuts, 3>& ChainCosts::kept_bytes(int devices) {
  const auto [at, is_new] = kept_bytes_.try_emplace(devices);
  if (!is_new) return at->second;
  for (const LayerCut& c : layer_cuts(devices)) {
    if (!c.tensor_is_inside) {
      for (BytesOfCuts& kept : at->second) kept.push_back(kept.back());
      continue;
    }
    for (BytesOfCuts& kept : at->second) kept.emplace_back(static_cast<std::size_t>(model_.split.layers), 0.0);
    const auto cut = operators_of_cut(graph_, model_.split, c);
    if (!cut) continue;
    pcg::Plan plan = plan_of_strategies(problem_, graph_, *cut);
    plan.micro_batches = micro_batches_;
    const sim::FlowGraph flow = sim::flow_graph(plan);
    for (std::size_t word = 0; word < at->second.size(); ++word) {
      plan.recompute = static_cast<pcg::Recompute>(word);
      const sim::SavedByBlock by_block = sim::saved_by_block(plan, flow, problem_.oracle.framework(plan.training), flow.stage_nodes[0],
                                                             static_cast<std::size_t>(problem_.cluster.device_count()));
      std::vector<double>& kept = at->second[word].back();
      for (const auto& [block, bytes] : by_block.saved)
        kept[static_cast<std::size_t>(model_.split.of_block[static_cast<std::size_t>(block)])] += std::ranges::max(bytes);
    }
  }
  return at->second;
}

ChainCosts::Parts ChainCosts::parts_of(const BlockCosts& own_costs, std::size_t cut, int layer) {
  Parts p;
  for (std::uint32_t n = 0; n < kinds_.size(); ++n) {
    if (kinds_[n] == kSource || layer_of(n) != layer) continue;
    const StrategyCost& cost = own_costs.costs[cut][n];
    p.forward += cost.forward;
    const pcg::GraphNode& node = graph_.nodes()[n];
    if (graph_.blocks()[static_cast<std::size_t>(node.block)].weighty) p.again += cost.forward;
    if (pcg::keeps_scores(node.op)) p.scores_again += cost.forward;
    p.backward += cost.kernels + cost.inside - cost.forward + (micro_batches_ > 1 ? cost.buffering : 0);
    p.synchronisation += cost.synchronisation;
    p.update += cost.update;
  }
  p.moved = moved(layer, own_costs.layouts[cut], layer, own_costs.layouts[cut]);
  return p;
}

const std::vector<std::vector<ChainCosts::Parts>>& ChainCosts::parts(DeviceBlock block) {
  const auto [at, is_new] = parts_.try_emplace(block);
  if (!is_new) return at->second;
  const BlockCosts& own = block_costs(block);
  for (std::size_t cut = 0; cut < own.can.size(); ++cut) {
    std::vector<Parts>& of_layers = at->second.emplace_back(static_cast<std::size_t>(model_.split.layers));
    for (int layer = 0; own.can[cut] && layer < model_.split.layers; ++layer)
      of_layers[static_cast<std::size_t>(layer)] = parts_of(own, cut, layer);
  }
  return at->second;
}

// Gradients are added up once, overlapped with the backward pass of the last micro-batch, where the framework does so. An all-reduce of
// gradients is half a scattering and half a gathering (Rajbhandari et al., ZeRO, SC'20, section 7). With ZeRO 2, updated weights are
// gathered once, after the update. With ZeRO 3, weights are gathered for each pass of a micro-batch, and gradients scattered, overlapped
// with the kernels of the layer before where the framework gathers ahead; else each waits for the other (sim/lowering).
//
// A stage is updated after its last backward pass. The first stage ends last, in GPipe and in 1F1B, and the updates of others overlap with
// it: p equal stages of t seconds and an update of u take (p + m - 1) t + u. The objective counts a stage's seconds p + m - 1 times in all,
// so that u is shared out among as many.
double ChainCosts::seconds(const Parts& p, const LayerStrategy& strategy, const ChainSetting& setting) const {
  if (strategy.is_recomputed && (setting.selective || !setting.recomputes)) return kCannot;
  const double rounds = micro_batches_ + setting.stages - 1;
  const double backward = p.backward + (setting.selective ? p.scores_again : strategy.is_recomputed ? p.again : 0);
  const double scattering = p.synchronisation / 2, gathering = p.synchronisation / 2 * weight_share_, update = p.update / strategy.shards;
  const auto beside = [this](double kernels, double sent) { return gathers_ahead_ ? std::max(kernels, sent) : kernels + sent; };
  if (strategy.shards > 1 && setting.zero == 3)
    return beside(p.forward, gathering) + beside(backward, gathering + scattering) + p.moved + update / rounds;
  const double added_up = strategy.shards > 1 ? scattering : p.synchronisation;
  const double exposed = overlaps_gradients_ ? std::max(0.0, added_up - backward) : added_up;
  return p.forward + backward + p.moved + (exposed + update + (strategy.shards > 1 ? gathering : 0)) / rounds;
}

// A stage holds a weight once, however many operators read it.
double ChainCosts::state_bytes(const BlockCosts& own_costs, std::size_t cut, int layer, int zero, bool is_one_stage) const {
  double bytes = 0;
  // Micro-batches add up whole gradients.
  const std::size_t held = zero == 2 && micro_batches_ > 1 ? 1 : static_cast<std::size_t>(zero);
  for (std::uint32_t n = 0; n < kinds_.size(); ++n)
    if (kinds_[n] != kSource && layer_of(n) == layer && !(is_one_stage ? weights_are_known_[n] : weights_are_known_in_layer_[n]))
      bytes += own_costs.costs[cut][n].state_bytes[held];
  return bytes;
}

std::vector<LayerCost> ChainCosts::table(DeviceBlock block, const ChainSetting& setting, double kept_copies) {
  const std::vector<LayerStrategy> strategies = layer_strategies(block.size);
  const BlockCosts& own = block_costs(block);
  const std::vector<std::vector<Parts>>& parts_by_cut = parts(block);
  const std::array<BytesOfCuts, 3>& kept = kept_bytes(block.size);
  std::vector<LayerCost> table;
  for (int layer = 0; layer < model_.split.layers; ++layer) {
    LayerCost& cost = table.emplace_back();
    for (const LayerStrategy& s : strategies) {
      const std::size_t c = s.cut_number;
      const pcg::Recompute word = setting.selective ? pcg::Recompute::selective
                                  : s.is_recomputed ? pcg::Recompute::full
                                                    : pcg::Recompute::none;
      cost.seconds.push_back(own.can[c] ? seconds(parts_by_cut[c][static_cast<std::size_t>(layer)], s, setting) : kCannot);
      cost.bytes.push_back(state_bytes(own, c, layer, s.shards > 1 ? setting.zero : 0, setting.stages == 1) +
                           kept_copies * kept[static_cast<std::size_t>(word)][c][static_cast<std::size_t>(layer)]);
    }
    cost.from_before = from_before(layer, block, block);
  }
  return table;
}

double ChainCosts::moved(int from_layer, const std::vector<StrategyTable::Layouts>& from, int to_layer,
                         const std::vector<StrategyTable::Layouts>& to) {
  double sum = 0;
  std::set<std::tuple<pcg::GraphTensorRef, LayoutNumber, LayoutNumber>> counted;
  for (std::uint32_t n = 0; n < kinds_.size(); ++n) {
    if (kinds_[n] == kSource || layer_of(n) != to_layer) continue;
    for (std::uint32_t i = 0; i < graph_.nodes()[n].inputs.size(); ++i) {
      const std::optional<EdgeKind> edge = catalog_.edge_at(graph_, kinds_, n, i);
      const pcg::GraphTensorRef t = graph_.nodes()[n].inputs[i];
      if (!edge || layer_of(t.node.value) != from_layer) continue;
      const LayoutNumber gradient = edge->has_gradient ? to[n].input_gradients[i] : 0;
      if (counted.insert({t, to[n].inputs[i], gradient}).second) sum += catalog_.movement(*edge, from[t.node.value], to[n]);
    }
  }
  return sum;
}

const StrategyPairs& ChainCosts::moved(int from_layer, DeviceBlock from, int to_layer, DeviceBlock to) {
  const auto [at, is_new] = moved_.try_emplace({from_layer, from, to_layer, to});
  if (!is_new) return at->second;
  const BlockCosts &makes = block_costs(from), &reads = block_costs(to);
  StrategyPairs of_cuts(makes.can.size(), std::vector<double>(reads.can.size(), 0.0));
  for (std::size_t a = 0; a < of_cuts.size(); ++a)
    for (std::size_t b = 0; b < of_cuts[a].size(); ++b)
      if (makes.can[a] && reads.can[b]) of_cuts[a][b] = moved(from_layer, makes.layouts[a], to_layer, reads.layouts[b]);
  const std::vector<LayerStrategy> strategies = layer_strategies(from.size);
  for (const LayerStrategy& a : strategies) {
    std::vector<double>& row = at->second.emplace_back();
    for (const LayerStrategy& b : strategies) row.push_back(of_cuts[a.cut_number][b.cut_number]);
  }
  return at->second;
}

StrategyPairs ChainCosts::from_before(int layer, DeviceBlock from, DeviceBlock to) {
  if (layer > 0) return moved(layer - 1, from, layer, to);
  const std::size_t strategies = layer_strategies(from.size).size();
  return StrategyPairs(strategies, std::vector<double>(strategies, 0.0));
}

std::vector<LongEdge> ChainCosts::long_edges() const {
  const pcg::Graph& whole = problem_.model;
  const LayerSplit split = split_into_layers(whole.blocks());
  const auto layer = [&](const pcg::GraphNode& n) { return static_cast<std::size_t>(split.of_block[static_cast<std::size_t>(n.block)]); };
  std::map<pcg::GraphTensorRef, std::set<std::size_t>> readers;  // by tensor, the layers
  for (const pcg::GraphNode& n : whole.nodes())
    for (const pcg::GraphTensorRef t : n.inputs)
      if (!is_source(whole.node(t.node)) && layer(whole.node(t.node)) < layer(n)) readers[t].insert(layer(n));
  std::map<std::size_t, LongEdge> by_maker;
  for (const auto& [tensor, layers] : readers) {
    const std::size_t maker = layer(whole.node(tensor.node));
    std::vector<std::size_t> far;
    std::ranges::copy_if(layers, std::back_inserter(far), [&](std::size_t reader) {
      return maker + 1 < reader && model_.layer_like[maker] + 1 < model_.layer_like[reader];
    });
    if (far.empty()) continue;
    LongEdge& edge = by_maker.try_emplace(maker, LongEdge{.from = maker, .readers = {}}).first->second;
    edge.next_reads = edge.next_reads || layers.contains(maker + 1);
    std::vector<std::size_t> all;
    std::ranges::set_union(edge.readers, far, std::back_inserter(all));
    edge.readers = std::move(all);
  }
  std::vector<LongEdge> edges;
  for (auto& [maker, edge] : by_maker) edges.push_back(std::move(edge));
  return edges;
}

double ChainCosts::tied_seconds(int stages) const {
  if (stages == 1 || tied_elements_ == 0) return 0;
  const int devices = problem_.cluster.device_count(), size = devices / stages;
  std::vector<base::DeviceId> holders;
  for (int d = 0; d < devices; ++d)
    if (d < size || d >= devices - size) holders.emplace_back(static_cast<std::size_t>(d));
  const double bytes = sim::model_state_bytes(problem_.training, problem_.oracle.framework(problem_.training)).gradient * tied_elements_;
  return problem_.oracle.collective(sim::CollectiveKind::all_reduce, base::Bytes(bytes), holders).time.value();
}

std::optional<LayerChain> ChainCosts::chain(const ChainSetting& setting) {
  const int devices = problem_.cluster.device_count(), size = devices / setting.stages;
  LayerChain chain{.kinds = model_.layer_like, .micro_batches = micro_batches_, .once = tied_seconds(setting.stages), .memory = memory_};
  std::map<std::pair<DeviceBlock, double>, std::size_t> tables;
  for (int stage = 0; stage < setting.stages; ++stage) {
    const DeviceBlock block = catalog_.alike({stage * size, size});
    const bool keeps_all = setting.stages > 1 && setting.schedule == pcg::ScheduleKind::gpipe;
    const int kept = keeps_all ? micro_batches_ : std::min(micro_batches_, setting.stages - stage);
    const auto [at, is_new] = tables.try_emplace({block, kept}, chain.tables.size());
    if (is_new) {
      chain.tables.push_back(table(block, setting, kept));
      const auto cannot = [](const LayerCost& c) { return std::ranges::min(c.seconds) == kCannot; };
      if (std::ranges::any_of(chain.tables.back(), cannot)) return std::nullopt;
    }
    chain.table_of_stage.push_back(at->second);
    if (stage == 0) continue;
    const DeviceBlock before = catalog_.alike({(stage - 1) * size, size}), own{before.start + size, size};
    std::vector<StrategyPairs>& over = chain.transfers.emplace_back();
    for (int layer = 0; layer < model_.split.layers; ++layer) over.push_back(from_before(layer, before, own));
  }
  chain.long_edges = long_edges();
  for (LongEdge& edge : chain.long_edges) {
    const auto layer_like = [&](std::size_t layer) { return static_cast<int>(model_.layer_like[layer]); };
    edge.seconds.assign(chain.stages(), std::vector<StrategyPairs>(chain.stages()));
    for (int from = 0; from < setting.stages; ++from)
      for (int to = from; to < setting.stages; ++to) {
        const DeviceBlock makes = catalog_.alike({from * size, size}), reads{makes.start + (to - from) * size, size};
        edge.seconds[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] =
            moved(layer_like(edge.from), makes, layer_like(edge.readers.front()), reads);
      }
  }
  return chain;
}

}  // namespace search
