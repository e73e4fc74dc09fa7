#pragma once
// Whole plans of small transformers on DGX nodes, for closed forms.

#include "base/yaml/parse.hpp"
#include "pcg/models/families/transformer.hpp"
#include "search/grid/grid_plan.hpp"
#include "search/megatron/megatron.hpp"
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

// One half-precision Adam iteration of `s.batch` samples under a Megatron plan that covers the cluster.
inline pcg::Plan megatron(const Shape& s, const search::GridConfig& config, const topology::Cluster& cluster) {
  const pcg::Graph model = gpt(s);
  const base::Yaml section;
  const sim::Oracle oracle(cluster);
  pcg::TrainingConfig training;
  training.global_batch = s.batch;
  training.precision = pcg::Precision::fp16;
  training.optimizer = pcg::Optimizer::adam;
  return search::megatron_plan({model, section, cluster, training, oracle}, config).value();
}

}  // namespace test
