#pragma once
// Plans made by hand for tests of the simulator, without any planner.

#include <map>
#include <string>

#include "base/yaml/parse.hpp"
#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/plan/plan.hpp"
#include "topology/cluster.hpp"
#include "topology/load.hpp"

namespace test {

// nodes x gpus on one switch each, wires and network of one kind: every route between two devices is at least two wires.
inline topology::Cluster star(int nodes, int gpus, const std::string& bandwidth = "100 GB/s", const std::string& latency = "1 us",
                              const std::string& gpu = "v100-sxm2-16gb") {
  std::string wires;
  for (int i = 0; i < gpus; ++i) wires += "{between: [gpu" + std::to_string(i) + ", switch0], link: wire}, ";
  const std::string text = "name: star\nnodes: " + std::to_string(nodes) + "\nlinks: {wire: {bandwidth: " + bandwidth +
                           ", latency: " + latency + "}}\nnode:\n  gpus: {type: " + gpu + ", count: " + std::to_string(gpus) +
                           "}\n  components: [switch0, nic0]\n  wires: [" + wires +
                           "{between: [switch0, nic0], link: wire}]\nnetwork: {type: switch, link: wire}\n";
  const base::Yaml section = base::parse_yaml(text, "star.yaml");
  return topology::load_cluster(topology::expand_cluster(section, "cluster"), "cluster");
}

// Linear layers without biases, `width` wide, one block each, squared error at the end: batch x width x width x 2 FLOPs a layer.
inline pcg::Graph mlp(int layers, std::int64_t width, std::int64_t batch) {
  pcg::GraphBuilder b("mlp");
  b.begin_weightless_block("input");
  pcg::GraphTensorRef x = b.input("x", {{batch, width}, pcg::Element::real});
  const pcg::GraphTensorRef y = b.input("target", {{batch, width}, pcg::Element::real});
  for (int i = 0; i < layers; ++i) {
    b.begin_block("layer " + std::to_string(i));
    x = b.add("layer" + std::to_string(i), pcg::Linear{.out = width}, {x});
  }
  b.begin_weightless_block("loss");
  b.add("loss", pcg::SquaredError{}, {x, y});
  return std::move(b).build();
}

// Degrees of loops, by node name and loop name; "*" is every node that has the loop. "copies" is a loop name too.
using Cuts = std::map<std::string, std::map<std::string, int>>;

inline pcg::Plan plan_of(const pcg::Graph& g, const Cuts& cuts, int gpus) {
  std::vector<pcg::Sharding> shardings;
  for (const pcg::GraphNode& n : g.nodes()) {
    const pcg::IterationSpace& space = *n.space;
    pcg::Sharding s{std::vector<int>(space.loops.size(), 1), 1, 1};
    for (const auto& key : {std::string("*"), n.name}) {
      const auto it = cuts.find(key);
      if (it == cuts.end() || std::holds_alternative<pcg::Weight>(n.op)) continue;
      for (const auto& [loop, degree] : it->second) {
        if (loop == "copies") s.copies = degree;
        for (std::size_t l = 0; l < space.loops.size(); ++l) {
          if (space.loops[l].name == loop || (loop == "b" && std::holds_alternative<pcg::Input>(n.op) && l == 0)) s.degrees[l] = degree;
        }
      }
    }
    shardings.push_back(s);
  }
  pcg::Plan p;
  p.name = "test";
  p.gpus = gpus;
  p.pcg = pcg::parallelize(g, shardings);
  p.training.global_batch = g.batch();
  for (const pcg::PcgNode& n : p.pcg.nodes()) {
    pcg::MachineView v;
    if (n.computes()) {
      const auto degrees = pcg::axes(n.sharding);
      v.strides.assign(degrees.size(), 1);
      for (std::size_t a = degrees.size(); a-- > 1;) v.strides[a - 1] = v.strides[a] * degrees[a];
    }
    p.mapping.push_back(v);
    p.stage.push_back(0);
  }
  return p;
}

// Splits the weighty blocks of a serial plan into `stages` virtual stages, one device each (with chunks: stages / chunks devices).
inline pcg::Plan pipeline_of(const pcg::Graph& g, int stages, int chunks, int micro_batches, pcg::ScheduleKind kind) {
  pcg::Plan p = plan_of(g, {}, stages / chunks);
  int weighty = 0;
  for (const pcg::Block& b : p.pcg.blocks()) weighty += b.weighty;
  std::vector<int> stage_of_block;
  int seen = 0;
  for (const pcg::Block& b : p.pcg.blocks()) {
    stage_of_block.push_back(b.weighty ? seen++ * stages / weighty : seen == 0 ? 0 : stages - 1);
  }
  for (std::size_t n = 0; n < p.pcg.nodes().size(); ++n) {
    p.stage[n] = stage_of_block[static_cast<std::size_t>(p.pcg.nodes()[n].block)];
    if (p.pcg.nodes()[n].computes()) p.mapping[n].start = base::DeviceId(static_cast<std::size_t>(p.stage[n] % (stages / chunks)));
  }
  // A source belongs to the stage of its first consumer.
  for (std::size_t n = p.pcg.nodes().size(); n-- > 0;) {
    for (pcg::TensorRef t : p.pcg.nodes()[n].inputs) {
      if (p.pcg.node(t.node).is_source()) p.stage[t.node.value] = p.stage[n];
    }
  }
  p.stages = stages;
  p.chunks = chunks;
  p.micro_batches = micro_batches;
  p.schedule = kind;
  p.training.global_batch = g.batch() * micro_batches;
  return p;
}

// Two stages of data-parallel replicas: blocks below `second` on the first devices, the others on as many behind them.
inline pcg::Plan two_stages_of(const pcg::Graph& g, int replicas, int second, int micro_batches) {
  pcg::Plan plan = plan_of(g, {{"*", {{"b", replicas}}}}, 2 * replicas);
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = plan.pcg.nodes()[n];
    plan.stage[n] = node.block >= second ? 1 : 0;
    if (node.computes()) plan.mapping[n].start = base::DeviceId(static_cast<std::size_t>(replicas * plan.stage[n]));
  }
  // Sources are where their readers are.
  for (std::size_t n = plan.pcg.nodes().size(); n-- > 0;)
    for (const pcg::TensorRef t : plan.pcg.nodes()[n].inputs)
      if (!plan.pcg.node(t.node).computes()) plan.stage[t.node.value] = plan.stage[n];
  plan.stages = 2;
  plan.micro_batches = micro_batches;
  plan.training.global_batch = micro_batches * g.batch();
  return plan;
}

}  // namespace test
