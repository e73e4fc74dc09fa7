#include "sim/lowering/context.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/check.hpp"
#include "pcg/operators/weights.hpp"
#include "pcg/sharding/halo.hpp"
#include "pcg/sharding/internal_collectives.hpp"
#include "pcg/work/forward_kernels.hpp"
#include "pcg/work/gradient_kernels.hpp"
#include "pcg/work/kernel.hpp"
#include "pcg/work/shard_operator.hpp"
#include "sim/memory/model_states.hpp"

namespace sim {

Lowering::Lowering(const pcg::Plan& p, const Dataflow& d, const topology::Cluster& c, const profiles::FrameworkProfile& f)
    : plan(p), cluster(c), flow(d.flow), synchronisation(d.synchronisation), framework(f) {
  stage_nodes.resize(static_cast<std::size_t>(plan.stages));
  std::set<std::string> types;
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    if (!plan.pcg.nodes()[n].computes()) continue;
    stage_nodes[static_cast<std::size_t>(plan.stage[n])].push_back(static_cast<std::uint32_t>(n));
    for (base::DeviceId device : flow.layouts[n].points) types.insert(cluster.device(device).type);
  }
  base::Diagnostics problems;
  for (const std::string& type : types) {
    const profiles::DeviceProfile& profile = profiles::device_profile(type);
    if (const auto why = profiles::unsupported(profile, plan.training.precision)) problems.add({}, "training.precision", *why);
    program.device_types.push_back(type);
    profiles_.push_back(&profile);
    program.collective_launch.push_back(std::max(framework.host.collective, profile.launch_overhead));
  }
  program.overlap_stage_boundary = framework.overlap_stage_boundary;
  program.launch_jitter = framework.host.launch_jitter;
  problems.throw_if_any();
}

DeviceSetId Lowering::device_set(std::span<const base::DeviceId> devices) {
  std::vector<base::DeviceId> sorted(devices.begin(), devices.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  const auto [it, fresh] = device_sets_.try_emplace(std::move(sorted), DeviceSetId(program.device_sets.size()));
  if (fresh) program.device_sets.push_back(it->first);
  return it->second;
}

MovementId Lowering::intern(Movement m) {
  const auto [it, fresh] = movements_.try_emplace(std::move(m), MovementId(program.movements.size()));
  if (fresh) program.movements.push_back(it->first);
  return it->second;
}

std::uint32_t Lowering::layout_id(const Layout& l) {
  std::vector<std::int64_t> key{l.shape.sum, l.shape.copy};
  for (const pcg::ParallelDim& d : l.shape.dims) {
    key.push_back(d.size);
    key.push_back(d.degree);
  }
  for (base::DeviceId d : l.devices) key.push_back(d.value);
  return layouts_.try_emplace(std::move(key), static_cast<std::uint32_t>(layouts_.size())).first->second;
}

MovementId Lowering::movement(const Layout& from, const Layout& to, pcg::Element element) {
  const base::Bytes bytes = pcg::element_bytes(element, plan.training.precision);
  const std::tuple key{layout_id(from), layout_id(to), bytes.value()};
  if (const auto it = reshards_.find(key); it != reshards_.end()) return it->second;
  const MovementId id = intern(reshard(from, to, bytes, cluster));
  reshards_.emplace(key, id);
  return id;
}

EventId Lowering::new_event(Pass pass, int stage) {
  program.events.push_back({pass, stage});
  return EventId(program.events.size() - 1);
}

double Lowering::kernel_seconds(std::size_t type, const pcg::Kernel& k) {
  const profiles::DeviceProfile& device = *profiles_[type];
  const profiles::KernelTime time = profiles::kernel_time(device, k, plan.training.precision);
  double s = time.time.value();
  const double peak = device.peak.at(plan.training.precision).value();
  const std::string generation = device.name.substr(0, device.name.find('-'));
  const auto attention = framework.attention.find(generation), sustained = framework.sustained.find(generation);
  if (k.kind == pcg::KernelKind::attention && attention != framework.attention.end())
    s = std::max(s, k.flops.value() / (peak * attention->second));
  else if (k.tensor_cores && k.flops.value() / peak > k.bytes.value() / device.memory_bandwidth.value()) {
    if (sustained != framework.sustained.end()) s /= sustained->second;
    else unsustained.insert(generation);
  }
  if (type == 0) program.seconds_by_basis[time.basis] += s;
  program.extrapolated = program.extrapolated || time.extrapolated;
  return s;
}

Part Lowering::part(std::uint32_t node, std::string_view what, std::span<const pcg::Kernel> kernels, base::Seconds launch) {
  Part p{node, what, static_cast<std::uint32_t>(program.seconds.size())};
  for (std::size_t t = 0; t < profiles_.size(); ++t) {
    double seconds = 0;
    for (const pcg::Kernel& k : kernels) seconds += kernel_seconds(t, k);
    program.seconds.push_back(seconds);
    program.host.push_back(static_cast<double>(kernels.size()) * (profiles_[t]->launch_overhead + launch).value());
  }
  return p;
}

void Lowering::add_host_time(const Block& block, std::size_t first, base::Seconds time) {
  for (std::size_t i = first; i < block.items.size(); ++i) {
    const Compute* kernels = std::get_if<Compute>(&block.items[i].work);
    if (kernels == nullptr) continue;
    for (std::size_t t = 0; t < profiles_.size(); ++t) program.host[kernels->parts.front().seconds + t] += time.value();
    return;
  }
}

pcg::Operator Lowering::shard_operator(std::uint32_t node) const {
  const pcg::NodeId id(node);
  return pcg::shard_operator(*plan.pcg.node(id).operation(), plan.pcg.whole_inputs(id), plan.pcg.shard_inputs(id));
}

std::vector<pcg::TensorShape> Lowering::read_shards(std::uint32_t node) const {
  const pcg::NodeId id(node);
  const pcg::PcgNode& n = plan.pcg.node(id);
  return pcg::shards_with_halos(*n.operation(), *n.space, n.sharding, plan.pcg.whole_inputs(id));
}

std::vector<pcg::Kernel> Lowering::as_run(std::uint32_t node, std::vector<pcg::Kernel> kernels, bool backward) const {
  const pcg::NodeId id(node);
  const int count = backward ? framework.loss.backward_kernels : framework.loss.forward_kernels;
  const bool half = pcg::element_bytes(pcg::Element::real, plan.training.precision).value() < 4;
  if (count == 0 || !half || kernels.size() != 1 || !std::holds_alternative<pcg::CrossEntropy>(*plan.pcg.node(id).operation()))
    return kernels;
  const auto logits = static_cast<double>(plan.pcg.shard_inputs(id).front().elements());
  pcg::Kernel k = kernels.front();
  k.kind = pcg::KernelKind::elementwise;  // passes over all logits, in fp32
  k.bytes = (backward ? framework.loss.backward : framework.loss.forward) * logits / count;
  k.flops = k.flops / count;
  return std::vector<pcg::Kernel>(static_cast<std::size_t>(count), k);
}

Part Lowering::forward_part(std::uint32_t node, std::string_view what) {
  const pcg::NodeId id(node);
  auto kernels = pcg::forward_kernels(shard_operator(node), read_shards(node), plan.pcg.shard_outputs(id), plan.training.precision);
  return part(node, what, as_run(node, std::move(kernels), /*backward=*/false), framework.host.forward_kernel);
}

Part Lowering::input_gradient_part(std::uint32_t node) {
  const pcg::NodeId id(node);
  const pcg::Operator op = shard_operator(node);
  const auto slots = pcg::weight_slots(op, flow.origins[node].size());
  std::vector<bool> needed;
  for (std::size_t i = 0; i < slots.size(); ++i) needed.push_back(!slots[i] && flow.needs_gradient[flow.origins[node][i].node.value]);
  auto kernels = pcg::input_gradient_kernels(op, read_shards(node), plan.pcg.shard_outputs(id), needed, plan.training.precision);
  return part(node, "input gradient", as_run(node, std::move(kernels), /*backward=*/true), framework.host.backward_kernel);
}

std::optional<Part> Lowering::weight_gradient_part(std::uint32_t node) {
  const pcg::NodeId id(node);
  const auto kernels =
      pcg::weight_gradient_kernels(shard_operator(node), read_shards(node), plan.pcg.shard_outputs(id), plan.training.precision);
  if (kernels.empty()) return std::nullopt;
  return part(node, "weight gradient", kernels, framework.host.backward_kernel);
}

std::optional<Part> Lowering::accumulation_part(std::uint32_t node) {
  double bytes = 0;
  const auto outputs = plan.pcg.shard_outputs(pcg::NodeId(node));
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    const auto readers = static_cast<double>(flow.uses[node][j].size());
    // a += b reads both and writes one, once for every reader beyond the first
    if (readers > 1) bytes += 3 * (readers - 1) * pcg::bytes_of(outputs[j], plan.training.precision).value();
  }
  if (bytes == 0) return std::nullopt;
  pcg::Kernel k;
  k.kind = pcg::KernelKind::elementwise;
  k.name = "gradient accumulation";
  k.bytes = base::Bytes(bytes);
  k.flops = base::Flops(bytes / (3 * pcg::element_bytes(pcg::Element::real, plan.training.precision).value()));
  return part(node, "gradient accumulation", std::span(&k, 1), framework.host.backward_kernel);
}

std::optional<Part> Lowering::gradient_buffer_part(std::uint32_t node) {
  if (framework.fused_gradient_accumulation) return std::nullopt;
  std::vector<pcg::Kernel> kernels;
  for (std::size_t i = 0; i < flow.origins[node].size(); ++i) {
    if (!plan.pcg.node(flow.origins[node][i].node).is_weight()) continue;
    const auto parameters = static_cast<double>(flow.layouts[node].inputs[i].shape.shard().elements());
    pcg::Kernel k;
    k.kind = pcg::KernelKind::elementwise;
    k.name = "gradient buffer";
    k.flops = base::Flops(parameters);
    // Reads the new gradient, reads and writes the sum: PyTorch's AccumulateGrad, which keeps the first gradient as it is and adds later
    // ones in place.
    k.bytes = base::Bytes(parameters * (weight_element() + 2 * gradient_element()).value());
    kernels.push_back(k);
  }
  if (kernels.empty()) return std::nullopt;
  return part(node, "gradient buffer", kernels, framework.host.backward_kernel);
}

Item moving(StreamKind stream, MovementId movement, std::string_view what, std::uint32_t node, std::vector<std::uint32_t> after,
            std::vector<EventId> waits_on) {
  return {Move{movement, stream, what}, node, std::move(after), std::move(waits_on), {}};
}

std::uint32_t append(Block& block, Item item) {
  std::sort(item.after.begin(), item.after.end());
  item.after.erase(std::unique(item.after.begin(), item.after.end()), item.after.end());
  block.items.push_back(std::move(item));
  return static_cast<std::uint32_t>(block.items.size() - 1);
}

double optimizer_bytes_per_parameter(const pcg::TrainingConfig& t) {
  const ModelStateBytes b = model_state_bytes(t);
  // The gradient and all states are read; states and the weight are written; in full precision the weight itself is read as well
  // (in half precision its fp32 master copy is among the states).
  const bool half = b.weight < 4;
  return b.gradient + 2 * b.optimizer + (half ? b.weight : 2 * b.weight);
}

Part Lowering::optimizer_part(std::uint32_t node, double parameters) {
  pcg::Kernel k;
  k.kind = pcg::KernelKind::optimizer;
  k.name = "optimizer";
  k.bytes = base::Bytes(parameters * optimizer_bytes_per_parameter(plan.training));
  k.flops = base::Flops(parameters * (plan.training.optimizer == pcg::Optimizer::adam       ? 12
                                      : plan.training.optimizer == pcg::Optimizer::momentum ? 4
                                                                                            : 2));
  return part(node, "update", std::span(&k, 1), framework.host.iteration);
}

namespace {

// What runs along one line of points.
void add_internal(pcg::InternalCollective::Kind kind, base::Bytes bytes, std::vector<base::DeviceId> line, Round& round) {
  using Kind = pcg::InternalCollective::Kind;
  const auto neighbours = [&](bool up) {
    for (std::size_t i = 1; i < line.size(); ++i)
      if (line[i] != line[i - 1])
        round.push_back({CollectiveKind::send, bytes, up ? std::vector{line[i - 1], line[i]} : std::vector{line[i], line[i - 1]}});
  };
  switch (kind) {
    case Kind::all_reduce: round.push_back({CollectiveKind::all_reduce, bytes, std::move(line)}); return;
    case Kind::all_gather: round.push_back({CollectiveKind::all_gather, bytes, std::move(line)}); return;
    case Kind::reduce_scatter: round.push_back({CollectiveKind::reduce_scatter, bytes, std::move(line)}); return;
    case Kind::halo_before: return neighbours(true);
    case Kind::halo_behind: return neighbours(false);
  }
}

}  // namespace

std::vector<MovementId> Lowering::internal_movements(std::uint32_t node, bool backward, bool before) {
  const pcg::NodeId id(node);
  const pcg::PcgNode& n = plan.pcg.node(id);
  const auto inputs = plan.pcg.whole_inputs(id);
  std::vector<MovementId> out;
  for (const pcg::InternalCollective& c : pcg::internal_collectives(*n.operation(), *n.space, n.sharding, inputs)) {
    if (c.backward != backward || pcg::runs_before(c) != before) continue;
    const bool halos = c.kind == pcg::InternalCollective::Kind::halo_before || c.kind == pcg::InternalCollective::Kind::halo_behind;
    if (halos && backward && !flow.needs_gradient[flow.origins[node][0].node.value]) continue;
    // Points that differ in the loop's coordinate alone. Task space: (sums, copies, loops...), mixed radix, outermost first.
    const auto& degrees = n.sharding.degrees;
    int inner = 1;
    for (std::size_t d = static_cast<std::size_t>(c.loop) + 1; d < degrees.size(); ++d) inner *= degrees[d];
    const int degree = degrees[static_cast<std::size_t>(c.loop)];
    Round round;
    const auto& points = flow.layouts[node].points;
    const base::Bytes element = c.fp32 ? base::Bytes(4) : pcg::element_bytes(c.shape.element, plan.training.precision);
    const base::Bytes bytes = element * static_cast<double>(c.shape.elements());
    for (int p = 0; p < static_cast<int>(points.size()); ++p) {
      if (p / inner % degree != 0) continue;
      std::vector<base::DeviceId> group;
      for (int k = 0; k < degree; ++k) group.push_back(points[static_cast<std::size_t>(p + k * inner)]);
      add_internal(c.kind, bytes, std::move(group), round);
    }
    if (round.empty()) continue;
    out.push_back(intern(Movement{{std::move(round)}}));
  }
  return out;
}

bool Lowering::recomputed(int block) const {
  return plan.recompute == pcg::Recompute::full && plan.pcg.blocks()[static_cast<std::size_t>(block)].weighty;
}

base::Bytes Lowering::gradient_element() const { return base::Bytes(model_state_bytes(plan.training).gradient); }
base::Bytes Lowering::weight_element() const { return base::Bytes(model_state_bytes(plan.training).weight); }

base::Bytes Lowering::weight_shard_bytes(std::uint32_t node, std::uint32_t input, base::Bytes element) const {
  return element * static_cast<double>(flow.layouts[node].inputs[input].shape.shard().elements());
}

MovementId Lowering::sync_movement(CollectiveKind kind, const SyncPattern& pattern, base::Bytes bytes) {
  Round round;
  for (const auto& group : pattern.groups) round.push_back({kind, bytes, group});
  return intern(Movement{{std::move(round)}});
}

}  // namespace sim
