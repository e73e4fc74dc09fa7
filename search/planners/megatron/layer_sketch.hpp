#pragma once
// What the layers of a model take of time and memory, cut in one way, before it is known how many stages share them out: from the model
// with one and with two of its repeated layers, on as few devices as the cut needs.

#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "search/grid/grid.hpp"
#include "search/grid/repeated_layers.hpp"
#include "search/problem/problem.hpp"

namespace search {

// Of each repeated layer, and of all the rest of the model.
struct PerLayer {
  double layer = 0, rest = 0;
  [[nodiscard]] double of(double layers) const { return layers * layer + rest; }
};

// Of one device of those that share a layer, under one kind of recomputation and ZeRO.
struct PassTimes {
  PerLayer first;    // seconds of the first micro-batch's forward and backward pass alone
  PerLayer seconds;  // of a later one's, which adds its gradients to those before
  PerLayer tail;     // seconds of an iteration besides its passes: gradients that are still on their way, update, weights
};

// Of the same device under one kind of recomputation, without ZeRO.
struct PassSketch {
  PassTimes times;
  double behind = 0;         // seconds of the part of the rest that stands behind the first layer: the head and the loss
  PerLayer kept_bytes;       // from the forward to the backward pass of a micro-batch
  double working_bytes = 0;  // besides them, while a backward pass runs
  // Seconds of the kernels alone, by which stages are balanced: the first layer with what stands before it, one between, the last with
  // what stands behind it.
  double first_kernels = 0, layer_kernels = 0, last_kernels = 0;
};

struct LayerSketch {
  PerLayer weights, gradients, optimizer;  // bytes of a device that shares them with nobody
  PerLayer expert_weights;                 // the part of `weights` that only ranks of other experts' replicas share
  std::map<pcg::Recompute, PassSketch> passes;
};

using VariantTimes = std::map<std::pair<pcg::Recompute, int>, PassTimes>;  // by recomputation and ZeRO stage

// Makes sketches for one problem.
class LayerSketcher {
 public:
  // What the problem refers to outlives the object.
  LayerSketcher(const Problem& problem, std::span<const pcg::Recompute> recomputations);

  [[nodiscard]] const RepeatedLayers& layers() const { return run_; }
  // The sketch of the cut that tensor, context, expert, sequence parallelism and micro-batch of `config` make, on `data` replicas; other
  // values of `config` are not looked at. Refuses when the model cannot be cut so. Requires: experts find their ranks among `data` x
  // context. Throws: base::InputError when a device does not support the precision. Cost: O(nodes of two layers and of the rest x points).
  [[nodiscard]] Attempt<LayerSketch> sketch(const GridConfig& config, int data) const;
  // The times of the same under every ZeRO stage.
  [[nodiscard]] Attempt<VariantTimes> times(const GridConfig& config, int data) const;

 private:
  // The cut of a model with so many of its layers, and the question that it answers.
  struct Cut {
    Problem problem;
    pcg::Plan plan;
  };
  [[nodiscard]] Attempt<Cut> cut(const pcg::Graph& model, const GridConfig& config, int data) const;
  // What one layer and two layers measure; twice the same where none repeats.
  template <class Measured>
  Attempt<std::pair<Measured, Measured>> measure(const GridConfig& config, int data,
                                                 const std::function<Measured(const Cut&)>& measured) const;
  // Layers in the model that measured the first of the two.
  [[nodiscard]] double layers_of_one() const { return run_.count > 1 ? 1 : 0; }

  const Problem& problem_;
  std::vector<pcg::Recompute> recomputations_;
  RepeatedLayers run_;
  pcg::Graph one_, two_;  // with so many of the repeated layers; equal where none repeats
};

}  // namespace search
