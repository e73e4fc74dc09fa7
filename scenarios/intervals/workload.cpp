#include "scenarios/intervals/workload.hpp"

#include <cmath>
#include <set>
#include <variant>

#include "profiles/device_profile.hpp"

namespace scenarios {
namespace {

std::string device_generation(const topology::Cluster& cluster, int gpus) {
  std::set<std::string> generations;
  for (const topology::Device& d : cluster.devices().first(static_cast<std::size_t>(gpus)))
    generations.insert(profiles::generation_of(d.type));
  return generations.size() == 1 ? *generations.begin() : "mixed";
}

// The type of the links between domains; empty: the plan's GPUs are of one.
std::string network_of(const topology::Cluster& cluster, int gpus) {
  const auto last = static_cast<std::size_t>(gpus) - 1;
  if (cluster.devices()[last].domain == cluster.devices()[0].domain) return {};
  // Out of a node and into another one; the network is between.
  const topology::Route route = cluster.route(base::DeviceId(0), base::DeviceId(last));
  return cluster.link(route.links[route.links.size() / 2]).type;
}

std::string fabric_of(const std::string& network, int gpus) {
  if (gpus == 1) return "one GPU";
  return network.empty() ? "one node" : "several nodes by " + network;
}

std::string precision_family(pcg::Precision p) {
  if (p == pcg::Precision::fp32 || p == pcg::Precision::tf32) return "single";
  return p == pcg::Precision::fp16 || p == pcg::Precision::bf16 ? "half" : std::string(pcg::to_text(p));
}

bool has_experts(const pcg::Pcg& pcg) {
  return std::ranges::any_of(pcg.nodes(), [](const pcg::PcgNode& n) {
    return n.operation() != nullptr && std::holds_alternative<pcg::MoeDispatch>(*n.operation());
  });
}

bool has_frozen_weights(const pcg::Pcg& pcg) {
  return std::ranges::any_of(pcg.nodes(), [](const pcg::PcgNode& n) { return n.is_weight() && !n.is_trained(); });
}

double parameters(const pcg::Pcg& pcg) {
  double sum = 0;
  for (const pcg::PcgNode& n : pcg.nodes()) {
    if (!n.is_weight()) continue;
    double elements = 1;
    for (const auto& dim : n.outputs[0].dims) elements *= static_cast<double>(dim.size);
    sum += elements;
  }
  return sum;
}

// Of kernels' seconds. They are of all simulated devices; the devices of the breakdown are taken to have the same mixture.
double share_of(profiles::Basis basis, const sim::SimulationResult& s) {
  double kernels = 0;
  for (const profiles::Basis b : profiles::kBases) kernels += s.compute_by_basis[b].value();
  return kernels > 0 ? s.compute_by_basis[basis].value() / kernels : 0;
}

Shares shares_of(const sim::SimulationResult& s, const std::string& network) {
  const base::Seconds own = s.iteration_time - s.breakdown.waits_for_stages();
  if (own.value() <= 0) return {};
  const double idle = s.breakdown.idle / own, compute = s.breakdown.compute / own;
  const double by_default = share_of(profiles::Basis::defaults, s);
  const auto waits = s.breakdown.exposed_by_link.find(network);
  return {idle, compute * by_default, compute + idle, waits == s.breakdown.exposed_by_link.end() ? 0 : waits->second / own};
}

}  // namespace

double calibrated_share(const sim::SimulationResult& s, bool launches) {
  const base::Seconds own = s.iteration_time - s.breakdown.waits_for_stages();
  if (own.value() <= 0) return 0;
  const double kernels = s.breakdown.compute / own * share_of(profiles::Basis::measured, s);
  return std::clamp(kernels + (launches ? s.breakdown.idle / own : 0), 0.0, 1.0);
}

Workload workload_of(const pcg::Plan& plan, const topology::Cluster& cluster, const sim::SimulationResult& s) {
  Workload w;
  const std::string network = network_of(cluster, plan.gpus);
  w.kind = {
      pcg::name_of(plan.training.framework),        device_generation(cluster, plan.gpus), fabric_of(network, plan.gpus),
      precision_family(plan.training.precision),    plan.zero >= 2 ? "sharded" : "whole",  has_experts(plan.pcg) ? "experts" : "dense",
      has_frozen_weights(plan.pcg) ? "part" : "all"};
  w.log2_parameters = std::log2(std::max(1.0, parameters(plan.pcg)));
  w.shares = shares_of(s, network);
  w.gpus = plan.gpus;
  return w;
}

Shares unsure_shares(const Workload& w, Measured measured) {
  Shares shares = w.shares;
  if (measured.software && w.kind.framework != pcg::name_of(pcg::Framework::generic)) shares[2] = 0;
  if (measured.gpus > 0) shares[3] *= std::clamp(std::log2(static_cast<double>(w.gpus) / measured.gpus), 0.0, 1.0);
  return shares;
}

}  // namespace scenarios
