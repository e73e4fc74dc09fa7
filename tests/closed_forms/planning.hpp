#pragma once
// Whole plans of small transformers on DGX nodes, for closed forms.

#include "base/yaml/parse.hpp"
#include "pcg/models/families/transformer.hpp"
#include "search/grid/grid_plan.hpp"
#include "search/planners/megatron/megatron.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/memory/memory.hpp"
#include "topology/cluster.hpp"
#include "topology/load.hpp"

namespace test {

struct Shape {
  std::int64_t layers = 2, hidden = 512, heads = 8, sequence = 256, vocabulary = 1024, batch = 4;
  double dropout = 0.1;
};

inline const Shape kShape;

inline pcg::Graph gpt(const Shape& s) {
  pcg::models::TransformerConfig c;
  c.layers = s.layers;
  c.hidden = s.hidden;
  c.heads = s.heads;
  c.vocab = s.vocabulary;
  c.sequence_length = s.sequence;
  c.dropout = s.dropout;
  c.attention = pcg::models::AttentionKind::unfused;
  return pcg::models::transformer(c, s.batch);
}

inline topology::Cluster dgx_a100(int nodes = 1, int gpus = 8) {
  const std::string text = "{preset: dgx-a100-80gb, nodes: " + std::to_string(nodes) + ", node.gpus.count: " + std::to_string(gpus) + "}";
  return topology::load_cluster(topology::expand_cluster(base::parse_yaml(text, "test"), "cluster"), "cluster");
}

// One fp16 Adam iteration under Megatron-LM.
inline pcg::TrainingConfig megatron_training(std::int64_t batch) {
  pcg::TrainingConfig training;
  training.global_batch = batch;
  training.precision = pcg::Precision::fp16;
  training.optimizer = pcg::Optimizer::adam;
  training.framework = pcg::Framework::megatron;
  return training;
}

// A Megatron plan that covers the cluster.
inline pcg::Plan megatron(const pcg::Graph& model, const pcg::TrainingConfig& training, const search::GridConfig& config,
                          const topology::Cluster& cluster) {
  const base::Yaml section;
  const sim::Oracle oracle(cluster);
  return search::megatron_plan({model, section, cluster, training, oracle}, config).value();
}
inline pcg::Plan megatron(const Shape& s, const search::GridConfig& config, const topology::Cluster& cluster) {
  return megatron(gpt(s), megatron_training(s.batch), config, cluster);
}

// What one micro-batch of a plan of one stage keeps on its first device. Of models so small the optimizer may need more for its update than
// all activations take, and the peak is there.
inline double kept_bytes(const pcg::Plan& plan, const topology::Cluster& cluster) {
  const auto& framework = profiles::framework_profile(plan.training.framework);
  return sim::device_memory(plan, sim::dataflow_of(plan), cluster, framework).at(0).saved.at(0).value();
}

}  // namespace test
