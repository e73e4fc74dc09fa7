#pragma once
// Time and memory of the layers of a model, cut in one way, before it is known how many stages share them out: from the model
// with one and with two of its repeated layers, on as few devices as the cut needs.

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "search/grid/grid.hpp"
#include "search/grid/repeated_layers.hpp"
#include "search/problem/problem.hpp"

namespace search {

// A quantity of each repeated layer, and of all the rest of the model.
struct PerLayer {
  double layer = 0, rest = 0;
  [[nodiscard]] double of(double layers) const { return layers * layer + rest; }
};

// Costs of one device of those that share a layer, under one kind of recomputation, without ZeRO.
struct PassSketch {
  struct {
    PerLayer first;    // seconds of the first micro-batch's forward and backward pass alone
    PerLayer seconds;  // of a later one's, which adds its gradients to those before
  } times;
  double tail = 0;           // seconds of the part of the rest that comes after the layers: the head and the loss
  PerLayer kept_bytes;       // from the forward to the backward pass of a micro-batch
  double working_bytes = 0;  // in addition, while a backward pass runs
};

struct LayerSketch {
  PerLayer weights, gradients, optimizer;  // bytes of a device that shares them with no other
  PerLayer expert_weights;                 // the part of `weights` that only ranks of other experts' replicas share
  double sent_bytes = 0;                   // by a device, if a stage ends after the first layer
  std::map<pcg::Recompute, PassSketch> passes;
};

// Makes sketches for one problem.
class LayerSketcher {
 public:
  // The objects of the problem outlive this one.
  LayerSketcher(const Problem& problem, std::span<const pcg::Recompute> recomputations);

  [[nodiscard]] const RepeatedLayers& layers() const { return run_; }
  [[nodiscard]] std::span<const pcg::Recompute> recomputations() const { return recomputations_; }
  // The sketch of the cut that tensor, context, expert, sequence parallelism and micro-batch of `config` make, on `data` replicas, with its
  // exchanges; other values of `config` are not read.
  // Refuses when the model cannot be cut so.
  // Requires: experts find their ranks among `data` x context.
  // Throws: base::InputError when a device does not support the precision.
  // Cost: O(nodes of two layers and of the rest x points).
  [[nodiscard]] Attempt<LayerSketch> sketch(const GridConfig& config, int data) const;

 private:
  // The cut of a model with some of its layers, and the question that it answers.
  struct Cut {
    Problem problem;
    pcg::Plan plan;
  };
  [[nodiscard]] Attempt<Cut> cut(const pcg::Graph& model, const GridConfig& config, int data) const;
  // Layers in the model that measured the first of the two.
  [[nodiscard]] double layers_of_one() const { return run_.count > 1 ? 1 : 0; }

  const Problem& problem_;
  std::vector<pcg::Recompute> recomputations_;
  RepeatedLayers run_;
  pcg::Graph one_, two_;  // with one and two of the repeated layers; equal where none repeats
};

// The least that a plan of the grid takes, before it is built: from sketches of its layers.
struct PlanBound {
  double seconds = 0;  // of an iteration
  double likely = 0;   // where stages come out as equal as can be, and wait for messages
  double bytes = 0;    // of the device that needs most
};

// Bounds for one problem, as if all devices were as the first ones are. Overlap of gradients and weights is taken as perfect, messages
// between stages as free, and memory as what the first rank keeps if all have as many layers. What layers take is taken to grow with their
// number as from one to two. Tests hold the bounds against estimates and against what plans need.
class PlanBounds {
 public:
  // The objects of the problem outlive this one.
  PlanBounds(const Problem& problem, std::span<const pcg::Recompute> recomputations);

  [[nodiscard]] std::span<const pcg::Recompute> recomputations() const { return sketcher_.recomputations(); }
  // Why no plan of this cut can be built; nullptr: it can be, as far as its sketch shows.
  [[nodiscard]] const Refusal* refusal(const GridConfig& cut);
  // Requires: `config` says data and micro_batch, and refusal(config) is nullptr.
  // Cost: one sketch for each cut.
  [[nodiscard]] PlanBound bound(const GridConfig& config);
  // Whether layers divide and are shared out equally; else the split is what costs least (balanced_layers()).
  [[nodiscard]] bool has_equal_stages(const GridConfig& c) const;

 private:
  using Cut = std::tuple<int, int, int, int, pcg::Dispatch, std::optional<bool>, std::optional<bool>, bool, std::int64_t>;
  static Cut cut_of(const GridConfig& c) {
    return {c.tensor,         c.context,           c.expert,     c.expert_tensor, c.dispatch, c.overlap.experts,
            c.overlap.tensor, c.sequence_parallel, c.micro_batch};
  }
  const Attempt<LayerSketch>& sketch(const GridConfig& c);
  // A rank of the pipeline: its share of a micro-batch's passes, and the part of them before its first and after its last
  // kernels of an iteration: the first chunks of the ranks before it.
  struct Rank {
    double share = 0, before = 0;
  };
  // The last one of ranks of equal shares; where stages need not be equal, ranks that are no slower than the one that decides.
  [[nodiscard]] std::vector<Rank> even_ranks(const GridConfig& c, const PassSketch& pass) const;
  // Of layers that do not divide one rank has one more.
  [[nodiscard]] Rank likely_rank(const GridConfig& c) const;
  // The passes, the time before they begin and after they end, of the rank that needs longest, and the collectives among replicas.
  [[nodiscard]] double seconds(const GridConfig& c, const LayerSketch& s, const PassSketch& pass, std::span<const Rank> ranks);
  // Seconds of the messages of all micro-batches between the chunks, in both directions.
  [[nodiscard]] double messages(const GridConfig& c, const LayerSketch& s);
  // Whether the layers that stages share out are those that repeat.
  [[nodiscard]] bool layers_are_all() const;
  [[nodiscard]] double bytes(const GridConfig& c, const LayerSketch& s, const PassSketch& pass, double kept_layers) const;
  // The part of the weights that belongs to experts, which ranks share out.
  [[nodiscard]] double expert_part(const LayerSketch& s) const;
  // Seconds of all-reduces of a part of a stage's gradients or weights, at once in groups of `members` devices that lie `stride` apart.
  [[nodiscard]] double all_reduce(int stride, int members, double bytes);
  // Of `bytes` of a device among the replicas of a stage: of the experts' part among those that hold the same experts.
  [[nodiscard]] double all_reduce(const GridConfig& c, const LayerSketch& s, double bytes);
  [[nodiscard]] double layers() const { return static_cast<double>(sketcher_.layers().count > 1 ? sketcher_.layers().count : 0); }

  const Problem& problem_;
  std::int64_t weighty_ = std::ranges::count_if(problem_.model.blocks(), &pcg::Block::weighty);  // layers that stages share out
  LayerSketcher sketcher_;
  std::map<Cut, Attempt<LayerSketch>> sketches_;
  std::map<std::pair<int, int>, std::vector<std::vector<base::DeviceId>>> groups_;  // by stride and members
  std::map<std::tuple<int, int, double>, double> reduced_;                          // seconds by these and bytes
  std::map<std::pair<int, double>, double> sent_;                                   // of messages, by distance and bytes
};

}  // namespace search
