#pragma once
// A question for planners, held together: small models on small clusters.

#include <fmt/format.h>

#include <string>

#include "base/yaml/parse.hpp"
#include "pcg/models/load.hpp"
#include "search/grid/grid_plan.hpp"
#include "search/planners/data_parallel/data_parallel.hpp"
#include "search/planners/megatron/megatron.hpp"
#include "topology/load.hpp"

namespace test {

// `nodes` nodes of `gpus` GPUs, each on a switch; one NIC per node. Bandwidths and latencies are round numbers, nothing real.
inline topology::Cluster switched(int nodes, int gpus, double memory_gib = 16, const std::string& faults = "") {
  std::string wires;
  for (int g = 0; g < gpus; ++g) wires += fmt::format("{{between: [gpu{}, switch0], link: wire}}, ", g);
  const std::string text = fmt::format(
      "{{name: plain, nodes: {}, links: {{wire: {{bandwidth: 100 GB/s, latency: 1 us}}, ethernet: {{bandwidth: 10 GB/s, latency: 3 us}}}}, "
      "node: {{gpus: {{type: v100-sxm2-16gb, count: {}, memory: {} GiB}}, components: [switch0, nic0], wires: [{}{{between: [switch0, "
      "nic0], link: "
      "wire}}]}}, "
      "network: {{type: switch, link: ethernet}}, faults: [{}]}}",
      nodes, gpus, memory_gib, wires, faults);
  return topology::load_cluster(base::parse_yaml(text, "<test>"), "cluster");
}

struct Question {
  base::Yaml section;
  pcg::Graph model;
  topology::Cluster cluster;
  sim::Oracle oracle;
  pcg::TrainingConfig training;

  Question(const std::string& model_section, int nodes, int gpus, std::int64_t global_batch)
      : section(base::parse_yaml(model_section, "<test>")),
        model(pcg::models::load_model(section, "model", {}, 1)),
        cluster(switched(nodes, gpus)),
        oracle(cluster) {
    training.global_batch = global_batch;
    training.optimizer = pcg::Optimizer::adam;
  }
  [[nodiscard]] search::Problem problem() const { return {model, section, cluster, training, oracle}; }
};

inline const std::string kSmallGpt =
    "{transformer: {layers: 2, hidden: 64, heads: 4, ffn: 256, vocab: 96, sequence_length: 16, causal: true, attention: unfused}}";
inline const std::string kSmallMoe =
    "{transformer: {layers: 2, hidden: 32, heads: 4, ffn: 64, vocab: 96, sequence_length: 16, experts: 4, top_k: 2}}";

// Two convolutions of one image, side by side, on two GPUs: a search with rewrites merges them.
struct TwoConvolutions : Question {
  TwoConvolutions() : Question(kSmallGpt, 1, 2, 8) {
    pcg::GraphBuilder g("pair");
    const auto image = g.input("image", {{8, 16, 8, 8}, pcg::Element::real});
    const auto left = g.add("left", pcg::Conv2d{.out = 8}, {image}), right = g.add("right", pcg::Conv2d{.out = 8}, {image});
    g.add("join", pcg::Concat{.axis = 1}, {left, right});
    model = std::move(g).build();
    training.optimizer = pcg::Optimizer::sgd;
  }
};

// Why there is no plan, "" when there is one.
inline std::string plan_error(const search::Attempt<pcg::Plan>& plan) { return plan ? "" : plan.refusal().why; }

}  // namespace test
