#pragma once
// What the layers of a model cost in each of their strategies, from the catalog of single operators: the chains that UniAP and Galvatron
// choose in.

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "search/solve/layers/layer_chain.hpp"
#include "search/solve/layers/layer_strategies.hpp"
#include "search/solve/operators/operator_catalog.hpp"

namespace search {

// How a model is shared out: devices make so many stages of equally many, one after another.
struct ChainSetting {
  int stages = 1;
  pcg::ScheduleKind schedule = pcg::ScheduleKind::one_f_one_b;  // or gpipe
  // The stage of ZeRO of layers that share out: 3, or 2, once an iteration.
  int zero = 3;
  // Every layer computes the scores of its attention again, and nothing else; false: layers choose whether they are computed again whole.
  bool selective = false;
};

// Of one number of micro-batches. Remembers what it was asked.
class ChainCosts {
 public:
  // All outlive the object. `model`: of the problem's model. Requires: micro_batches divides the global batch.
  ChainCosts(const Problem& problem, const ShortModel& model, OperatorCatalog& catalog, int micro_batches);

  [[nodiscard]] int micro_batches() const { return micro_batches_; }
  // Layers that read the same layer behind the next one are taken to read the same of it.
  // Requires: stages divide the devices. nullopt: some layer has no strategy on a stage.
  // Throws: base::InputError when a device does not support the precision.
  // Cost: O(kinds of operators x strategies) prices for each stage that is unlike, once, and O(strategies^2) movements for each edge.
  [[nodiscard]] std::optional<LayerChain> chain(const ChainSetting& setting);

 private:
  // The operators of the short model on a block: by cut, what each node costs, and how it has its tensors.
  struct BlockPrices {
    std::vector<std::vector<StrategyCost>> costs;     // [cut][node]
    std::vector<std::vector<Ways::Layouts>> layouts;  // likewise
    std::vector<bool> can;                            // [cut]
  };
  using BytesOfCuts = std::vector<std::vector<double>>;  // [cut][layer]
  // Seconds of a layer.
  struct Parts {
    double forward = 0, backward = 0, moved = 0, synchronisation = 0, update = 0;
    double again = 0, scores_again = 0;  // of the forward pass: what full recomputation repeats, and selective
  };
  [[nodiscard]] const BlockPrices& prices(DeviceBlock block);
  // Bytes on each device that a micro-batch keeps for its backward pass, by pcg::Recompute.
  [[nodiscard]] const std::array<BytesOfCuts, 3>& kept_bytes(int devices);
  [[nodiscard]] std::vector<LayerCost> table(DeviceBlock block, const ChainSetting& setting, double kept_copies);
  // Of a micro-batch, with the share of the update that counts in each.
  [[nodiscard]] double seconds(const Parts& parts, const LayerStrategy& strategy, const ChainSetting& setting) const;
  // By cut and layer; without meaning where the cut cannot be.
  [[nodiscard]] const std::vector<std::vector<Parts>>& parts(DeviceBlock block);
  [[nodiscard]] Parts parts_of(const BlockPrices& prices, std::size_t cut, int layer);
  // `zero`: 0, or the stage that shares out.
  [[nodiscard]] double state_bytes(const BlockPrices& prices, std::size_t cut, int layer, int zero, bool is_one_stage) const;
  // Of all tensors that a layer reads from the layer before; every layout that one is wanted in counts once.
  [[nodiscard]] double moved(int from_layer, const std::vector<Ways::Layouts>& from, int to_layer, const std::vector<Ways::Layouts>& to);
  // The long edges of a chain, without their seconds: one for each layer that layers behind the next one read. Layers whose twins in the
  // short model are next to each other, or one, have none.
  [[nodiscard]] std::vector<LongEdge> long_edges() const;
  // Seconds by strategies of what a layer reads of another, each on a block. The blocks are equally large.
  [[nodiscard]] const StrategyPairs& moved(int from_layer, DeviceBlock from, int to_layer, DeviceBlock to);
  // The same of a layer and the one before it; nothing for the first.
  [[nodiscard]] StrategyPairs from_before(int layer, DeviceBlock from, DeviceBlock to);
  [[nodiscard]] int layer_of(std::uint32_t node) const;
  // Seconds of adding up the gradients of weights that layers of different stages read, as of a word embedding that is the head, too:
  // the first stage and the last one hold them.
  [[nodiscard]] double tied_seconds(int stages) const;

  const Problem& problem_;
  const ShortModel& model_;
  OperatorCatalog& catalog_;
  int micro_batches_;
  pcg::Graph graph_;               // of a micro-batch
  std::vector<KindNumber> kinds_;  // per node
  // Per node: another operator, of the same layer or of one before, has read all of its weights; and one of the same layer.
  std::vector<bool> weights_are_known_, weights_are_known_in_layer_;
  double tied_elements_ = 0;  // of weights that several layers read
  bool overlaps_gradients_;
  double weight_share_;  // bytes of a weight for each byte of its gradient
  double memory_;
  std::map<DeviceBlock, BlockPrices> prices_;
  std::map<DeviceBlock, std::vector<std::vector<Parts>>> parts_;
  std::map<int, std::array<BytesOfCuts, 3>> kept_bytes_;                           // by devices
  std::map<std::tuple<int, DeviceBlock, int, DeviceBlock>, StrategyPairs> moved_;  // by layers and blocks
};

}  // namespace search
