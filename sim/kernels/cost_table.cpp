#include "sim/kernels/cost_table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/diagnostics.hpp"

namespace sim {
namespace {

topology::HostLink slowest(const topology::Cluster& cluster, const topology::DeviceKind& kind) {
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  topology::HostLink link{base::BytesPerSecond(kNoLimit), base::BytesPerSecond(kNoLimit), 1};
  for (std::size_t d = 0; d < cluster.devices().size(); ++d) {
    if (topology::kind_of(cluster.devices()[d]) != kind) continue;
    const auto own = cluster.host_link(base::DeviceId(d));
    if (!own)
      base::refuse("plan.memory.offload", fmt::format("GPU {} of node {} has no way to a CPU in the description of the cluster",
                                                      cluster.devices()[d].index_in_node, cluster.devices()[d].node));
    link.to_host = std::min(link.to_host, own->to_host);
    link.from_host = std::min(link.from_host, own->from_host);
    link.sharers = std::max(link.sharers, own->sharers);
  }
  return link;
}

}  // namespace

HostLinks::HostLinks(const topology::Cluster& cluster, const std::vector<topology::DeviceKind>& kinds) {
  for (const topology::DeviceKind& kind : kinds) links_.push_back(slowest(cluster, kind));
}

std::vector<base::Seconds> HostLinks::to_host(base::Bytes bytes) const {
  std::vector<base::Seconds> times;
  for (const topology::HostLink& l : links_) times.push_back(bytes / l.to_host);
  return times;
}

std::vector<base::Seconds> HostLinks::from_host(base::Bytes bytes) const {
  std::vector<base::Seconds> times;
  for (const topology::HostLink& l : links_) times.push_back(bytes / l.from_host);
  return times;
}

std::vector<base::Seconds> HostLinks::update(double parameters) const {
  std::vector<base::Seconds> times;
  for (const topology::HostLink& l : links_) times.push_back(kHostUpdate * (parameters * l.sharers));
  return times;
}

CostTable::CostTable(const pcg::Plan& plan, const FlowGraph& flow, const topology::Cluster& cluster,
                     const profiles::FrameworkProfile& framework)
    : plan_(plan), flow_(flow), framework_(framework), nodes_(plan.pcg.nodes().size()) {
  // In ascending order, so that numbers of types do not depend on which node comes first.
  std::set<topology::DeviceKind> types;
  for (const NodeLayouts& layouts : flow.layouts.distinct())
    for (const base::DeviceId d : layouts.points) types.insert(topology::kind_of(cluster.device(d)));
  base::Diagnostics problems;
  for (const topology::DeviceKind& type : types) {
    const profiles::DeviceProfile& profile = profiles::device_profile(type.type);
    if (const auto why = profiles::unsupported(profile, plan.training.precision)) problems.add({}, "training.precision", *why);
    if (type.speed.power_limit.value() > 0) limits_.emplace(type.type, type.speed.power_limit);
    device_types_.push_back(type);
    copies_columns_ = copies_columns_ || profile.transposes_fp8;
    const bool is_scaled = type.speed != topology::DeviceSpeed{};
    profiles_.push_back(is_scaled ? &scaled_.emplace_back(running_profile(type.type, type.speed)) : &profile);
  }
  problems.throw_if_any();
  if (plan.memory.offload != pcg::Offload{}) hosts_.emplace(cluster, device_types_);
}

std::vector<base::Seconds> CostTable::collective_launch() const {
  std::vector<base::Seconds> launch;
  for (std::size_t t = 0; t < profiles_.size(); ++t)
    launch.push_back(std::max(framework_.host.collective, profiles_[t]->launch_overhead) * device_types_[t].host_slowdown);
  return launch;
}

Cost CostTable::cost(const std::vector<pcg::Kernel>& kernels, const HostTime& host, pcg::Precision precision) {
  Cost sum{costs_++, kernels.size(), {}};
  for (std::size_t t = 0; t < profiles_.size(); ++t) {
    const profiles::DeviceProfile* device = profiles_[t];
    Cost::OnType& on = sum.on_type.emplace_back();
    TimedKernels timed;
    for (const pcg::Kernel& k : kernels) {
      const KernelCost cost = kernel_cost(*device, framework_, k, {precision, plan_.gpus, plan_.training.constant_tokens});
      const base::Seconds time = cost.time * device_types_[t].slowdown;
      timed.push_back({k, precision, time});
      on.device += time;
      on.by_basis[cost.basis] += time;
      if (cost.assumed_share) assumed_shares_.emplace(profiles::generation_of(device->name), *cost.assumed_share);
      kinds_[cost.basis].insert(k.kind);
    }
    on.kernels = std::make_shared<const TimedKernels>(std::move(timed));
    if (!host.launches) continue;
    on.host =
        ((device->launch_overhead + host.per_kernel) * static_cast<double>(kernels.size()) + host.once) * device_types_[t].host_slowdown;
  }
  return sum;
}

CostTable::Shape& CostTable::shape_of(std::uint32_t node) {
  Shape*& known = nodes_[node].shape;
  if (known != nullptr) return *known;
  NodeShape shape = node_shape(plan_, flow_, node, copies_columns_);
  // Layers repeat, so few shapes differ: a search through all is quicker than hashing operators.
  const auto at = std::ranges::find(shapes_, shape, &Shape::shape);
  known = at != shapes_.end() ? &*at : &shapes_.emplace_back(Shape{std::move(shape), {}, {}, {}});
  return *known;
}

CostTable::HostTime CostTable::host_of(const NodeShape& shape, base::Seconds per_kernel) const {
  base::Seconds once(0);
  if (std::holds_alternative<pcg::ExpertLinear>(shape.op)) once = framework_.host.expert * static_cast<double>(shape.read[1].sizes[0]);
  const bool exchanges = std::holds_alternative<pcg::MoeDispatch>(shape.op) || std::holds_alternative<pcg::MoeCombine>(shape.op);
  // Else the counts of tokens are in the router's graph.
  if (exchanges && !plan_.graphed.router) once = framework_.host.exchange;
  // Unfused attention is one call of a module, whose further kernels are calls of the framework below it.
  const auto* attention = std::get_if<pcg::Attention>(&shape.op);
  if (attention != nullptr && !attention->flash && framework_.host.attention_kernel.value() > 0) {
    once = per_kernel - framework_.host.attention_kernel;
    per_kernel = framework_.host.attention_kernel;
  }
  const bool launched_with_gate = framework_.joint_gated_projections && shape.second_projection;
  return {per_kernel, once, !shape.graphed && !launched_with_gate};
}

const Cost& CostTable::of_pass(std::uint32_t node, std::optional<Cost> Shape::*pass, KernelsOf& kernels, base::Seconds per_kernel) {
  Shape& s = shape_of(node);
  std::optional<Cost>& known = s.*pass;
  if (!known) known = cost(kernels(s.shape, plan_.training, framework_), host_of(s.shape, per_kernel), precision_of(s.shape));
  return *known;
}

const Cost& CostTable::forward(std::uint32_t node) {
  return of_pass(node, &Shape::forward, forward_kernels, framework_.host.forward_kernel);
}

const Cost& CostTable::input_gradient(std::uint32_t node) {
  return of_pass(node, &Shape::input_gradient, input_gradient_kernels, framework_.host.backward_kernel);
}

const Cost& CostTable::weight_gradient(std::uint32_t node) {
  return of_pass(node, &Shape::weight_gradient, weight_gradient_kernels, framework_.host.backward_kernel);
}

const Cost& CostTable::weight_cast(std::uint32_t node) {
  std::optional<Cost>& known = nodes_[node].weight_cast;
  if (!known) known = cost(weight_casts(plan_, flow_, node, copies_columns_), framework_.host.forward_kernel);
  return *known;
}

const Cost& CostTable::accumulation(std::uint32_t node) {
  std::optional<Cost>& known = nodes_[node].accumulation;
  if (!known) known = cost(accumulation_kernels(plan_, flow_, framework_, node), framework_.host.backward_kernel);
  return *known;
}

const Cost& CostTable::gradient_buffer(std::uint32_t node) {
  std::optional<Cost>& known = nodes_[node].gradient_buffer;
  if (!known) known = cost(gradient_buffer_kernels(plan_, flow_, framework_, node), framework_.host.backward_kernel);
  return *known;
}

const Cost& CostTable::weight_copy(std::uint32_t node) {
  std::optional<Cost>& known = nodes_[node].weight_copy;
  if (!known) known = cost(unit_copies(plan_, flow_, UnitCopy::weights, framework_.unit_copies, node), kNoLaunch, plan_.training.precision);
  return *known;
}

const Cost& CostTable::gradient_copy(std::uint32_t node) {
  std::optional<Cost>& known = nodes_[node].gradient_copy;
  if (!known)
    known = cost(unit_copies(plan_, flow_, UnitCopy::gradients, framework_.unit_copies, node), kNoLaunch, plan_.training.precision);
  return *known;
}

const Cost& CostTable::optimizer(pcg::Optimizer by, double parameters) {
  const auto [at, is_new] = optimizer_.try_emplace({by, parameters});
  if (is_new) at->second = cost({optimizer_kernel(plan_, framework_, by, parameters)}, framework_.host.iteration);
  return at->second;
}

// Products in fp32 run as TF32 where the devices have it (torch.set_float32_matmul_precision, "medium"), launched one after another.
const Cost& CostTable::orthogonalisation(const Matrices& matrices) {
  const auto [at, is_new] = orthogonalisation_.try_emplace(matrices);
  const auto lacks_tf32 = [](const auto* d) { return profiles::unsupported(*d, pcg::Precision::tf32).has_value(); };
  if (is_new)
    at->second = cost(orthogonalisation_kernels(matrices), {base::Seconds(0), base::Seconds(0)},
                      std::ranges::any_of(profiles_, lacks_tf32) ? pcg::Precision::fp32 : pcg::Precision::tf32);
  return at->second;
}

// The host's time of an iteration has what it does for the norm.
const Cost& CostTable::gradient_norm(double parameters) {
  const auto [at, is_new] = gradient_norm_.try_emplace(parameters);
  if (is_new) at->second = cost({gradient_norm_kernel(plan_, framework_, parameters)}, base::Seconds(0));
  return at->second;
}

}  // namespace sim
