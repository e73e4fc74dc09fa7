#include "pcg/resizing/size_laws.hpp"

#include <numeric>
#include <vector>

namespace pcg {
namespace {

class Reading {
 public:
  Reading(const Pcg& pcg, const Together& one) : pcg_(pcg), one_(one) {}

  SizeLaws run() {
    std::vector<std::vector<GraphTensorRef>> serial;  // by node of the PCG: its outputs there
    std::uint32_t next = 0;
    for (const PcgNode& node : pcg_.nodes()) {
      if (node.parallel_operator()) {
        serial.push_back({serial[node.inputs[0].node.value][static_cast<std::size_t>(node.inputs[0].output)]});
      } else {
        if (std::holds_alternative<Summands>(*node.operation()) && node.inputs.size() > 2)
          next += static_cast<std::uint32_t>(node.inputs.size()) - 2;
        std::vector<GraphTensorRef>& outputs = serial.emplace_back();
        for (std::size_t o = 0; o < node.outputs.size(); ++o) outputs.push_back({GraphNodeId(next), static_cast<int>(o)});
        ++next;
        if (node.computes()) of_counts(node);
      }
      for (std::size_t o = 0; o < node.outputs.size(); ++o)
        for (std::size_t d = 0; d < node.outputs[o].dims.size(); ++d)
          if (const int degree = node.outputs[o].dims[d].degree; degree > 1)
            for (std::int64_t piece : one_.pieces.of(one_.number, serial.back()[o], d)) need(piece, degree);
    }
    return std::move(result_);
  }

 private:
  void need(std::int64_t size, std::int64_t degree) {
    std::int64_t& modulus = result_[size].modulus;
    modulus = std::lcm(modulus, degree);
  }
  // Loops over heads and groups.
  void of_counts(const PcgNode& node) {
    const IterationSpace& space = *node.space;
    std::vector<bool> is_size(space.loops.size(), false);
    const auto look = [&](const std::vector<int>& loops, const ParallelShape& shape) {
      for (std::size_t d = 0; d < loops.size(); ++d)
        if (loops[d] >= 0 && shape.dims[d].size == space.loops[static_cast<std::size_t>(loops[d])].size)
          is_size[static_cast<std::size_t>(loops[d])] = true;
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) look(space.inputs[i], pcg_.shape(node.inputs[i]));
    for (std::size_t o = 0; o < node.outputs.size(); ++o) look(space.outputs[o], node.outputs[o]);
    for (std::size_t l = 0; l < space.loops.size(); ++l)
      if (!is_size[l] && node.sharding.degrees[l] > 1) need(space.loops[l].size, node.sharding.degrees[l]);
  }

  const Pcg& pcg_;
  const Together& one_;
  SizeLaws result_;
};

}  // namespace

bool allows(const SizeLaws& laws, std::int64_t old_size, std::int64_t new_size) {
  const auto it = laws.find(old_size);
  return it == laws.end() || ((new_size - old_size) % it->second.modulus == 0 && new_size % it->second.multiple == 0);
}

SizeLaws laws_of_degrees(const Pcg& pcg, const Together& serial) { return Reading(pcg, serial).run(); }

}  // namespace pcg
