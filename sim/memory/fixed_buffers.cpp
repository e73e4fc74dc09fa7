#include "sim/memory/memory.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "profiles/device_profile.hpp"
#include "sim/dataflow/token_routing.hpp"

namespace sim {
namespace {

bool is_expert(const pcg::Plan& plan, std::uint32_t node) { return operation_of<pcg::ExpertLinear>(plan, node) != nullptr; }

// The nodes that multiply a weight, ascending, by device.
std::vector<std::vector<std::uint32_t>> products_of(const pcg::Plan& plan, const FlowGraph& flow, std::size_t devices) {
  std::vector<std::vector<std::uint32_t>> products(devices);
  for (const std::vector<std::uint32_t>& nodes : flow.stage_nodes)
    for (const std::uint32_t n : nodes) {
      if (operation_of<pcg::Linear>(plan, n) == nullptr && !is_expert(plan, n)) continue;
      for (const base::DeviceId d : flow.layouts[n].points)
        if (products[d.value].empty() || products[d.value].back() != n) products[d.value].push_back(n);
    }
  return products;
}

// Parameters of the weights of a device, those that are one tensor in a framework added up: each once for its shape.
double distinct_parameters(const pcg::Plan& plan, const FlowGraph& flow, const std::vector<std::uint32_t>& products) {
  std::map<std::pair<pcg::TensorRef, bool>, std::vector<std::vector<std::int64_t>>> joined;
  for (const std::uint32_t n : products) {
    if (!trains_weights(flow, n)) continue;
    const bool expert = is_expert(plan, n);
    std::vector<std::int64_t> sizes = flow.layouts[n].inputs[1].shape.shard().sizes;
    if (expert) sizes.front() = 1;
    joined[{flow.origins[n][0], expert}].push_back(std::move(sizes));
  }
  std::set<std::vector<std::vector<std::int64_t>>> shapes;
  for (auto& [read, weights] : joined) {
    std::ranges::sort(weights);
    shapes.insert(weights);
  }
  double parameters = 0;
  for (const auto& weights : shapes)
    for (const std::vector<std::int64_t>& sizes : weights) {
      double elements = 1;
      for (const std::int64_t size : sizes) elements *= static_cast<double>(size);
      parameters += elements;
    }
  return parameters;
}

// The buffer into which HybridEP receives, by device.
void count_exchange_buffers(const pcg::Plan& plan, const FlowGraph& flow, const topology::Cluster& cluster,
                            std::vector<base::Bytes>& fixed) {
  std::vector<double> largest(fixed.size());
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    if (operation_of<pcg::MoeDispatch>(plan, n) == nullptr) continue;
    const std::int64_t ranks = ranks_of_experts(plan, flow, n);
    if (ranks == 1) continue;
    const pcg::TensorShape own = plan.pcg.shard_inputs(pcg::NodeId(n))[0];
    const double element = pcg::element_bytes(pcg::Element::real, plan.training.precision).value();
    const auto width = static_cast<double>(own.sizes.back()), tokens = static_cast<double>(own.elements()) / width;
    const auto experts_of_a_rank = static_cast<double>(plan.pcg.whole_outputs(pcg::NodeId(n))[0].sizes[0]) / static_cast<double>(ranks);
    for (const base::DeviceId d : flow.layouts[n].points) {
      const std::size_t domain = cluster.domain_devices(cluster.device(d).domain).size();
      const double members = std::min(static_cast<double>(ranks), static_cast<double>(domain));
      double& bytes = largest[d.value];
      bytes =
          std::max(bytes, tokens * static_cast<double>(ranks) * (element * width + kExpertWeight.value() * experts_of_a_rank * members));
    }
  }
  for (std::size_t d = 0; d < fixed.size(); ++d) fixed[d] += base::Bytes(largest[d]);
}

}  // namespace

base::Bytes reduce_buffer(const pcg::Plan& plan, const profiles::FrameworkProfile& framework) {
  return pcg::element_bytes(pcg::Element::real, plan.training.precision) * framework.memory.reduce_buffer;
}

std::vector<base::Bytes> fixed_buffers(const pcg::Plan& plan, const FlowGraph& flow, const topology::Cluster& cluster,
                                       const profiles::FrameworkProfile& framework) {
  const profiles::MemoryBehaviour& behaviours = framework.memory;
  std::vector<base::Bytes> fixed(static_cast<std::size_t>(cluster.device_count()));
  if (plan.dispatch == pcg::Dispatch::forwarded_sorted) count_exchange_buffers(plan, flow, cluster, fixed);
  const base::Bytes reduced = plan.zero >= 3 ? reduce_buffer(plan, framework) : base::Bytes(0);
  if (behaviours.product_workspaces + behaviours.library_workspaces + behaviours.expert_workspaces == 0 &&
      !behaviours.gradient_placeholders && reduced == base::Bytes(0))
    return fixed;
  const auto products = products_of(plan, flow, fixed.size());
  const double element = pcg::element_bytes(pcg::Element::real, plan.training.precision).value();
  std::map<std::vector<std::uint32_t>, double> known;  // devices of a stage multiply the same
  for (std::size_t d = 0; d < fixed.size(); ++d) {
    if (products[d].empty()) continue;
    const base::Bytes workspace = profiles::device_profile(cluster.devices()[d].type).product_workspace;
    const bool experts = std::ranges::any_of(products[d], [&](std::uint32_t n) { return is_expert(plan, n); });
    fixed[d] += behaviours.product_workspace.value_or(workspace) * behaviours.product_workspaces +
                workspace * (behaviours.library_workspaces + (experts ? behaviours.expert_workspaces : 0)) + reduced;
    if (!behaviours.gradient_placeholders) continue;
    const auto [at, is_new] = known.try_emplace(products[d]);
    if (is_new) at->second = element * distinct_parameters(plan, flow, products[d]);
    fixed[d] += base::Bytes(at->second);
  }
  return fixed;
}

}  // namespace sim
