#pragma once
// Scenarios as text, loaded as a user's file would be.

#include <string>

#include "base/diagnostics.hpp"
#include "base/yaml/parse.hpp"
#include "scenarios/question/scenario.hpp"

namespace test {

inline scenarios::Scenario load(const std::string& text) { return scenarios::load_scenario(base::parse_yaml(text, "s.yaml"), {}); }

// What a user would read, every problem in order; "" when there is none.
inline std::string problems(const std::string& text) {
  try {
    (void)load(text);
  } catch (const base::InputError& e) {
    std::string all;
    for (const base::Diagnostic& d : e.diagnostics()) all += base::render(d) + "\n";
    return all;
  }
  return {};
}

// A small question that runs in milliseconds: two GPUs on one slow wire.
inline const std::string kTwoGpus =
    "foreshard: 1\n"
    "name: two GPUs\n"
    "model: {builtin: mlp-mnist}\n"
    "cluster:\n"
    "  name: pair\n"
    "  nodes: 1\n"
    "  links: {wire: {bandwidth: 1 GB/s, latency: 1 us}}\n"
    "  node:\n"
    "    gpus: {type: v100-sxm2-16gb, count: 2}\n"
    "    components: [switch0, nic0]\n"
    "    wires: [{all_pairs: [gpu0, switch0], link: wire}, {all_pairs: [gpu1, switch0], link: wire}, {all_pairs: [switch0, nic0], link: "
    "wire}]\n"
    "  network: {type: switch, link: wire}\n"
    "training: {batch_per_gpu: 32, optimizer: sgd}\n";

// The same in fp32, for what is worked out by hand: a V100 trains in fp16 where nothing is said.
inline std::string in_fp32(std::string scenario) {
  const std::string batch = "batch_per_gpu: 32";
  return scenario.insert(scenario.find(batch) + batch.size(), ", precision: fp32");
}

}  // namespace test
