#pragma once
// The layers that strategies are chosen for, and a model with fewer of them: layers that repeat cost the same.

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "search/problem/problem.hpp"
#include "search/solve/layers/layer_chain.hpp"
#include "search/solve/operators/operator_catalog.hpp"
#include "search/solve/operators/strategies.hpp"

namespace search {

struct LayerSplit {
  // The layer of each block: a weighty block with those without weight after it is a layer; the blocks before the first one (an embedding)
  // and after the last one (a head) are layers of their own.
  std::vector<int> of_block;
  int layers = 1;
};

[[nodiscard]] LayerSplit split_into_layers(std::span<const pcg::Block> blocks);

// A model with the first two units of its repeated layers, which says what all of them cost.
struct ShortModel {
  pcg::Graph graph;
  LayerSplit split;                     // of `graph`
  std::vector<std::size_t> layer_like;  // by layer of the whole model: its counterpart in `graph`; counterparts of layers in a row are in a
                                        // row, or equal to those one unit before
};
[[nodiscard]] ShortModel short_model(const pcg::Graph& model);

// The strategies of a layer on the devices of a stage: UniAP's and Galvatron's (Miao et al., VLDB'23) data, tensor and sharded data
// parallelism, whose degrees multiply to the number of devices.
// How a layer is cut: samples among data and sharded data parallelism together, and Megatron-LM's cuts.
struct LayerCut {
  int samples = 1, tensor = 1;
  bool tensor_is_inside = true;  // neighbours are of one tensor group; else of one group of samples
};

struct LayerStrategy {
  LayerCut cut;
  std::size_t cut_number = 0;  // in layer_cuts()
  int shards = 1;              // of the devices that share samples, those that share out weights, gradients and optimizer state (ZeRO 3)
  bool is_recomputed = false;  // in the backward pass, from its inputs
};

// Returns: every cut. Each order of the devices comes once.
[[nodiscard]] std::vector<LayerCut> layer_cuts(int devices);
// Returns: each cut with whole weights, and, where devices share samples, with shares of them; each kept, and recomputed.
[[nodiscard]] std::vector<LayerStrategy> layer_strategies(int devices);

// The strategies of all operators of a graph that is a micro-batch, on devices 0 to samples x tensor - 1; those of sources are empty.
// Operators are cut as on a grid (search/grid/layout.hpp), each layer by itself. nullopt: samples or heads do not divide.
[[nodiscard]] std::optional<std::vector<Strategy>> operators_of_cut(const pcg::Graph& graph, const LayerSplit& split, const LayerCut& cut);

// "data 2 x tensor 4", "shards 8", "one device", with the order where tensor groups are not neighbours, and "recomputed".
[[nodiscard]] std::string to_text(const LayerStrategy& strategy);

// How a model is shared out: devices make stages of equally many, one after another.
struct ChainSetting {
  int stages = 1;
  pcg::ScheduleKind schedule = pcg::ScheduleKind::one_f_one_b;  // or gpipe
  // The stage of ZeRO of layers that share out: 3, or 2, once an iteration.
  int zero = 3;
  // Every layer computes the scores of its attention again, and nothing else; false: layers choose whether they are computed again whole.
  bool selective = false;
  bool recomputes = true;  // layers may be computed again
};

// Costs of the layers of a model in each of their strategies, from the catalog of single operators: the chains that UniAP and Galvatron
// choose in.
// Of one number of micro-batches. Remembers what it was asked.
class ChainCosts {
 public:
  // All outlive the object. `model`: of the problem's model.
  // Requires: micro_batches divides the global batch.
  ChainCosts(const Problem& problem, const ShortModel& model, OperatorCatalog& catalog, int micro_batches);

  // Layers that read the same layer after the next one are taken to read the same of it.
  // Requires: stages divide the devices. nullopt: some layer has no strategy on a stage.
  // Throws: base::InputError when a device does not support the precision.
  // Cost: O(kinds of operators x strategies) costs for each stage that is unlike, once, and O(strategies^2) movements for each edge.
  [[nodiscard]] std::optional<LayerChain> chain(const ChainSetting& setting);

 private:
  // The operators of the short model on a block: by cut, what each node costs, and how it has its tensors.
  struct BlockCosts {
    std::vector<std::vector<StrategyCost>> costs;              // [cut][node]
    std::vector<std::vector<StrategyTable::Layouts>> layouts;  // likewise
    std::vector<bool> can;                                     // [cut]
  };
  using BytesOfCuts = std::vector<std::vector<double>>;  // [cut][layer]
  // Seconds of a layer.
  struct Parts {
    double forward = 0, backward = 0, moved = 0, synchronisation = 0, update = 0;
    double again = 0, scores_again = 0;  // of the forward pass: what full recomputation repeats, and selective
  };
  [[nodiscard]] const BlockCosts& block_costs(DeviceBlock block);
  // Bytes on each device that a micro-batch keeps for its backward pass, by pcg::Recompute.
  [[nodiscard]] const std::array<BytesOfCuts, 3>& kept_bytes(int devices);
  [[nodiscard]] std::vector<LayerCost> table(DeviceBlock block, const ChainSetting& setting, double kept_copies);
  // Seconds of a micro-batch, with the share of the update that counts in each.
  [[nodiscard]] double seconds(const Parts& parts, const LayerStrategy& strategy, const ChainSetting& setting) const;
  // By cut and layer; without meaning where the cut cannot be.
  [[nodiscard]] const std::vector<std::vector<Parts>>& parts(DeviceBlock block);
  [[nodiscard]] Parts parts_of(const BlockCosts& own_costs, std::size_t cut, int layer);
  // `zero`: 0, or the stage that shares out.
  [[nodiscard]] double state_bytes(const BlockCosts& own_costs, std::size_t cut, int layer, int zero, bool is_one_stage) const;
  // Seconds of all tensors that a layer reads from the layer before; every layout that one is wanted in counts once.
  [[nodiscard]] double moved(int from_layer, const std::vector<StrategyTable::Layouts>& from, int to_layer,
                             const std::vector<StrategyTable::Layouts>& to);
  // The long edges of a chain, without their seconds: one for each layer that layers after the next one read. Layers whose counterparts in
  // the short model are next to each other, or one, have none.
  [[nodiscard]] std::vector<LongEdge> long_edges() const;
  // Seconds by strategies of what a layer reads of another, each on a block. The blocks are equally large.
  [[nodiscard]] const StrategyPairs& moved(int from_layer, DeviceBlock from, int to_layer, DeviceBlock to);
  // The same of a layer and the one before it; nothing for the first.
  [[nodiscard]] StrategyPairs from_before(int layer, DeviceBlock from, DeviceBlock to);
  [[nodiscard]] int layer_of(std::uint32_t node) const { return base::nth(model_.split.of_block, graph_.nodes()[node].block); }
  // Seconds of adding up the gradients of weights that layers of different stages read, as of a word embedding that is the head, too:
  // the first stage and the last one hold them.
  [[nodiscard]] double tied_seconds(int stages) const;

  const Problem& problem_;
  const ShortModel& model_;
  OperatorCatalog& catalog_;
  int micro_batches_;
  pcg::Graph graph_ = pcg::with_batch(model_.graph, problem_.training.global_batch / micro_batches_);
  std::vector<KindNumber> kinds_ = catalog_.kinds_of(graph_);  // per node
  // Per node: another operator, of the same layer or of one before, has read all of its weights; and one of the same layer.
  std::vector<bool> weights_are_known_, weights_are_known_in_layer_;
  double tied_elements_ = 0;  // of weights that several layers read
  bool overlaps_gradients_, gathers_ahead_;
  double weight_share_;  // bytes of a weight for each byte of its gradient
  double memory_;
  std::map<DeviceBlock, BlockCosts> block_costs_;
  std::map<DeviceBlock, std::vector<std::vector<Parts>>> parts_;
  std::map<int, std::array<BytesOfCuts, 3>> kept_bytes_;                           // by devices
  std::map<std::tuple<int, DeviceBlock, int, DeviceBlock>, StrategyPairs> moved_;  // by layers and blocks
};

// Returns: the plan of an answer to the chain of that setting, with a summary and without name.
// Cost: O(nodes x points).
[[nodiscard]] pcg::Plan layered_plan(const Problem& problem, const ChainSetting& setting, int micro_batches, const ChainAnswer& answer);

}  // namespace search
