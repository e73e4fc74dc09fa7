#include "sim/memory/memory.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>

#include "profiles/device_profile.hpp"
#include "sim/memory/activations.hpp"
#include "sim/memory/model_states.hpp"
#include "sim/schedules/schedule.hpp"

namespace sim {
namespace {

class MemoryCounter {
 public:
  MemoryCounter(const pcg::Plan& plan, const Dataflow& dataflow, const topology::Cluster& cluster,
                const profiles::FrameworkProfile& framework, Blocks blocks)
      : plan_(plan),
        dataflow_(dataflow),
        flow_(dataflow.flow),
        framework_(framework),
        cluster_(cluster),
        counts_blocks_(blocks == Blocks::counted),
        copies_columns_(copies_columns(plan, cluster)),
        copies_attention_output_(copies_attention_output(plan, cluster, framework)),
        devices_(static_cast<std::size_t>(cluster.device_count())) {
    const auto stages = static_cast<std::size_t>(plan.stages);
    for (DeviceMemory& d : devices_) {
      for (std::vector<base::Bytes>* each : {&d.saved, &d.layer, &d.kept, &d.transient, &d.transient_held}) each->resize(stages);
      if (counts_blocks_) d.blocks.resize(stages);
    }
  }

  std::vector<DeviceMemory> run() {
    count_states();
    for (std::size_t s = 0; s < flow_.stage_nodes.size(); ++s) count_activations(flow_.stage_nodes[s], s);
    return std::move(devices_);
  }

 private:
  void count_states() {
    const std::vector<StateBytes> states = model_states(plan_, dataflow_, framework_, plan_.zero, copies_columns_);
    for (std::size_t d = 0; d < states.size(); ++d) {
      devices_[d].weights = states[d].weights + states[d].copies;
      devices_[d].gradients = states[d].gradients;
      devices_[d].optimizer = states[d].optimizer;
      devices_[d].update = states[d].update;
      devices_[d].lazy_gradients = states[d].lazy_gradients;
    }
    const std::vector<base::Bytes> fixed = fixed_buffers(plan_, flow_, cluster_, framework_);
    for (std::size_t d = 0; d < fixed.size(); ++d) devices_[d].fixed = fixed[d];
  }

  void count_activations(const std::vector<std::uint32_t>& nodes, std::size_t stage) {
    const SavedByBlock counted = saved_by_block(plan_, flow_, framework_, nodes, devices_.size(), copies_attention_output_);
    // Offloaded tensors are there for two blocks: one that is computed, and one that is copied.
    ByBlock saved;
    std::vector<double> in_transfer = zeros();
    double buffers = 0;
    const OffloadedBlocks offloaded = offloaded_blocks(plan_, nodes, static_cast<int>(stage));
    for (const auto& [block, bytes] : counted.saved) {
      const bool leaves = offloaded.contains(block);
      if (leaves) buffers = std::min(2.0, buffers + 1);
      else saved[block] = bytes;
      for (std::size_t d = 0; leaves && d < bytes.size(); ++d) in_transfer[d] = std::max(in_transfer[d], bytes[d]);
    }
    if (splits_backward(plan_.schedule)) {
      std::vector<double> kept = zeros();
      Activations(plan_, flow_, framework_, copies_attention_output_).save_for_weights(nodes, kept);
      for (std::size_t d = 0; d < devices_.size(); ++d) devices_[d].kept[stage] += base::Bytes(kept[d]);
    }
    const ByBlock temporaries = sum_of({around(nodes), gathered(nodes), counted.again}), made = made_by_block(nodes);
    std::vector<double> lazy_gradients = zeros();
    for (std::size_t d = 0; d < lazy_gradients.size(); ++d) lazy_gradients[d] = devices_[d].lazy_gradients.value();
    const std::vector<double> peak = transient_peak(temporaries, saved, lazy_gradients, made);
    const std::vector<double> held = transient_peak(temporaries, saved, zeros(), {});
    // The loss comes last of a forward pass and first of a backward pass: what it saves does not coincide with layers of another pass.
    std::set<int> of_loss;
    for (const std::uint32_t n : nodes)
      if (is_loss(n)) of_loss.insert(plan_.pcg.nodes()[n].block);
    if (of_loss.size() == saved.size()) of_loss.clear();  // nothing else is kept
    for (const auto& [block, bytes] : saved)
      for (std::size_t d = 0; d < devices_.size(); ++d) {
        devices_[d].saved[stage] += base::Bytes(bytes[d]);
        if (!of_loss.contains(block)) devices_[d].layer[stage] = std::max(devices_[d].layer[stage], base::Bytes(bytes[d]));
      }
    for (double& bytes : in_transfer) bytes *= buffers;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      devices_[d].transient[stage] += base::Bytes(peak[d] + in_transfer[d]);
      devices_[d].transient_held[stage] += base::Bytes(held[d] + in_transfer[d]);
    }
    if (counts_blocks_) keep_blocks(stage, saved, temporaries, made, in_transfer);
  }

  // Bytes per device, by block of the graph.
  using ByBlock = std::map<int, std::vector<double>>;
  [[nodiscard]] bool is_loss(std::uint32_t node) const { return operation_of<pcg::CrossEntropy>(plan_, node) != nullptr; }
  // Bytes of a gradient; of logits while the loss computes it, what the framework's loss takes.
  [[nodiscard]] double gradient_bytes(const Layout& gradient, bool by_loss) const {
    const pcg::TensorShape shard = gradient.shape.shard();
    if (by_loss && pcg::is_half(plan_.training.precision))
      return framework_.memory.loss_temporaries.value() * static_cast<double>(shard.elements());
    return pcg::bytes_of(shard, plan_.training.precision).value();
  }

  [[nodiscard]] double gradients_around(std::uint32_t node) const {
    double bytes = (keys_of_others(plan_, node) + tokens_of_others(plan_, flow_, node)).value();
    const NodeLayouts& layouts = flow_.layouts[node];
    for (std::size_t j = 0; j < layouts.output_gradients.size(); ++j) {
      const bool of_logits = std::ranges::any_of(flow_.uses[node][j], [&](const Use& use) { return is_loss(use.consumer); });
      // Once the loss is done, its gradient is left, or not even that where it lies in the place of what the loss kept.
      bytes += std::min(gradient_bytes(layouts.output_gradients[j], false), gradient_bytes(layouts.output_gradients[j], of_logits));
    }
    for (std::size_t i = 0; i < flow_.origins[node].size(); ++i) {
      const std::uint32_t from = flow_.origins[node][i].node.value;
      if (flow_.needs_gradient[from] && !flow_.stored[from]) bytes += gradient_bytes(layouts.input_gradients[i], is_loss(node));
    }
    return bytes;
  }

  // Gradients of activations around one operator; those of weights are among the states.
  [[nodiscard]] ByBlock around(const std::vector<std::uint32_t>& nodes) const {
    ByBlock most;
    for (const auto& [block, members] : by_block(nodes)) {
      std::vector<double> bytes = zeros();
      for (const std::uint32_t n : members) {
        if (!flow_.needs_gradient[n] || flow_.stored[n]) continue;
        const double here = gradients_around(n);
        for (base::DeviceId d : flow_.layouts[n].points) bytes[d.value] = std::max(bytes[d.value], here);
      }
      most[block] = std::move(bytes);
    }
    return most;
  }

  // Weights gathered for a block and those that come next, or those that stayed (ZeRO-3); a block's unsharded gradients, and the buffer
  // from which ZeRO-2 reduces them.
  [[nodiscard]] ByBlock gathered(const std::vector<std::uint32_t>& nodes) const {
    ByBlock most;
    if (plan_.zero < 2) return most;
    const bool shards = pcg::shards_gradients(plan_.zero, plan_.memory.zero);  // else gradients are there for all blocks
    const std::vector<WholeBytes> all = whole_bytes(nodes);
    const double buffer = shards && plan_.zero == 2 ? reduce_buffer(plan_, framework_).value() : 0;
    std::vector<double> stayed = zeros(), parameters_before = zeros();
    std::vector<std::vector<WholeBytes>> next;  // the backward pass comes to the last of these next
    std::vector<double> kept = zeros();
    const auto is_kept = [&](int block) { return profiles::keeps_gathered(framework_, plan_, block); };
    for (const auto& [block, members] : by_block(nodes)) {
      if (!is_kept(block)) continue;
      const std::vector<WholeBytes> bytes = whole_bytes(members);
      for (std::size_t d = 0; d < kept.size(); ++d) kept[d] += bytes[d].weights;
    }
    for (const auto& [block, members] : by_block(nodes)) {
      std::vector<WholeBytes> bytes = whole_bytes(members);
      std::vector<double>& gathered = most[block] = zeros();
      const double largest = std::ranges::max(bytes, {}, &WholeBytes::largest).largest;
      std::vector<double> prefetched = zeros();
      for (const auto& ahead : next | std::views::reverse | std::views::take(profiles::prefetch_units(framework_, plan_, largest)))
        for (std::size_t d = 0; d < prefetched.size(); ++d) prefetched[d] += ahead[d].weights;
      for (std::size_t d = 0; d < gathered.size(); ++d) {
        // From the block's forward pass to its backward pass all that come after it are used twice.
        parameters_before[d] += bytes[d].parameters;
        if (2 * (all[d].parameters - parameters_before[d]) < framework_.memory.reuse_distance) stayed[d] += bytes[d].weights;
        const double weights =
            std::max(std::min(stayed[d], all[d].weights), kept[d] + (is_kept(block) ? 0 : bytes[d].weights) + prefetched[d]);
        gathered[d] = (plan_.zero >= 3 ? weights : 0) + (shards ? bytes[d].gradients : 0) + (all[d].gradients > 0 ? buffer : 0);
      }
      // As for the gathers (sim/lowering/weight_traffic.hpp): what is not sharded and reads nothing sharded does not count.
      const bool reads = std::ranges::any_of(bytes, [](const WholeBytes& b) { return b.weights > 0; });
      if (is_kept(block) || (pcg::zero_of_block(plan_.zero, plan_.memory.zero, block) == 0 && !reads)) continue;
      next.push_back(std::move(bytes));
    }
    return most;
  }

  // On top of all that a stage keeps, at most: what is there while a block's backward pass runs, less what later blocks have freed.
  // `lazy_gradients` is free until blocks make it.
  // The backward pass comes to the last block first, and frees what a block kept when it is done with it. Passes for inputs alone free it
  // later.
  [[nodiscard]] std::vector<double> transient_peak(const ByBlock& temporaries, const ByBlock& saved, std::vector<double> lazy_gradients,
                                                   const ByBlock& made) const {
    std::vector<double> freed = std::move(lazy_gradients);
    std::vector<double> largest = zeros();
    for (std::size_t d = 0; d < freed.size(); ++d) largest[d] = -freed[d];
    for (auto at = temporaries.rbegin(); at != temporaries.rend(); ++at) {
      if (const auto here = made.find(at->first); here != made.end())
        for (std::size_t d = 0; d < freed.size(); ++d) freed[d] -= here->second[d];
      for (std::size_t d = 0; d < largest.size(); ++d) largest[d] = std::max(largest[d], at->second[d] - freed[d]);
      const auto kept = saved.find(at->first);
      if (kept == saved.end() || splits_backward(plan_.schedule)) continue;
      for (std::size_t d = 0; d < freed.size(); ++d) freed[d] += kept->second[d];
    }
    return largest;
  }

  [[nodiscard]] ByBlock sum_of(const std::vector<ByBlock>& parts) const {
    ByBlock sums;
    for (const ByBlock& part : parts)
      for (const auto& [block, bytes] : part) {
        std::vector<double>& sum = sums.try_emplace(block, zeros()).first->second;
        for (std::size_t d = 0; d < bytes.size(); ++d) sum[d] += bytes[d];
      }
    return sums;
  }

  // `always`: more, while any backward pass runs.
  void keep_blocks(std::size_t stage, const ByBlock& saved, const ByBlock& temporaries, const ByBlock& made,
                   const std::vector<double>& always) {
    std::set<int> all;
    for (const ByBlock* part : {&saved, &temporaries, &made})
      for (const auto& [block, bytes] : *part) all.insert(block);
    const auto of = [](const ByBlock& part, int block, std::size_t d) {
      const auto at = part.find(block);
      return base::Bytes(at == part.end() ? 0 : at->second[d]);
    };
    for (std::size_t d = 0; d < devices_.size(); ++d)
      for (const int block : all)
        devices_[d].blocks[stage].push_back(
            {block, of(saved, block, d), of(temporaries, block, d) + base::Bytes(always[d]), of(made, block, d)});
  }

  // The part of the lazily allocated gradients that each block makes.
  [[nodiscard]] ByBlock made_by_block(const std::vector<std::uint32_t>& nodes) const {
    ByBlock parameters;
    std::vector<double> all = zeros();
    each_weight(plan_, flow_, nodes, [&](std::uint32_t n, std::uint32_t i, const pcg::PcgNode& weight) {
      if (!weight.is_trained() || pcg::zero_of_block(plan_.zero, plan_.memory.zero, weight.block) < 3) return;
      const Layout& l = flow_.layouts[n].inputs[i];
      std::vector<double>& of_block = parameters.try_emplace(plan_.pcg.nodes()[n].block, zeros()).first->second;
      const double elements = l.shard_elements();
      for (const base::DeviceId d : l.devices) of_block[d.value] += elements, all[d.value] += elements;
    });
    for (auto& [block, bytes] : parameters)
      for (std::size_t d = 0; d < bytes.size(); ++d) bytes[d] *= all[d] > 0 ? devices_[d].lazy_gradients.value() / all[d] : 0;
    return parameters;
  }

  [[nodiscard]] std::vector<double> zeros() const { return std::vector<double>(devices_.size(), 0.0); }
  // Nodes of each graph block, in order.
  [[nodiscard]] std::map<int, std::vector<std::uint32_t>> by_block(const std::vector<std::uint32_t>& nodes) const {
    std::map<int, std::vector<std::uint32_t>> blocks;
    for (std::uint32_t n : nodes) blocks[plan_.pcg.nodes()[n].block].push_back(n);
    return blocks;
  }
  // Weights that nodes read and ZeRO shares out, and their gradients, each once per device: full shards.
  struct WholeBytes {
    double weights = 0, gradients = 0, parameters = 0, largest = 0;  // largest: of its weights, in parameters
  };
  [[nodiscard]] std::vector<WholeBytes> whole_bytes(const std::vector<std::uint32_t>& nodes) const {
    std::vector<WholeBytes> per_device(devices_.size());
    const double gradient = model_state_bytes(plan_, framework_).gradient;
    each_weight(plan_, flow_, nodes, [&](std::uint32_t n, std::uint32_t i, const pcg::PcgNode& weight) {
      const int zero = pcg::zero_of_block(plan_.zero, plan_.memory.zero, weight.block);
      if (zero == 0) return;
      const Layout& l = flow_.layouts[n].inputs[i];
      const WeightBytes bytes = weight_bytes_of(plan_, framework_, n, i, copies_columns_);
      const double elements = l.shard_elements();
      for (base::DeviceId d : l.devices) {
        per_device[d.value].parameters += elements;
        per_device[d.value].largest = std::max(per_device[d.value].largest, elements);
        per_device[d.value].weights += elements * (bytes.kept + (zero >= 3 ? bytes.copied : 0));
        if (weight.is_trained()) per_device[d.value].gradients += elements * gradient;
      }
    });
    return per_device;
  }

  const pcg::Plan& plan_;
  const Dataflow& dataflow_;
  const FlowGraph& flow_;
  const profiles::FrameworkProfile& framework_;
  const topology::Cluster& cluster_;
  const bool counts_blocks_, copies_columns_, copies_attention_output_;
  std::vector<DeviceMemory> devices_;
};

// Memory in addition to model states: activations and temporaries, or else the optimizer's own while it runs.
struct Peak {
  base::Bytes activations, transient, update;
  [[nodiscard]] base::Bytes sum() const { return activations + transient + update; }
};

// Walks through one pipeline rank's schedule with one device's numbers. A forward pass that is merged with a backward pass makes what it
// keeps layer by layer, as the backward pass frees it layer by layer (Megatron-Core's combined 1F1B, model_chunk_schedule_plan.py).
Peak walk(const pcg::Plan& plan, const std::vector<Slot>& slots, int rank, const DeviceMemory& m) {
  Peak peak{base::Bytes(0), base::Bytes(0), m.update};
  base::Bytes alive;
  const auto stage_of = [&](const Slot& slot) {
    return static_cast<std::size_t>(pcg::stage_of(plan.schedule, pcg::ranks_of(plan), rank, slot.chunk));
  };
  const auto raise = [&](base::Bytes activations, base::Bytes transient) {
    if (activations + transient > peak.sum()) peak = {activations, transient, base::Bytes(0)};
  };
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots[i];
    const std::size_t stage = stage_of(slot);
    if (slot.pass == Pass::forward) {
      alive += m.saved[stage];
      if (!slot.merged) raise(alive, base::Bytes(0) - m.lazy_gradients);
    } else if (slot.pass == Pass::weights) {
      alive -= m.kept[stage];
    } else {
      const base::Bytes freed = m.saved[stage] - (slot.pass == Pass::inputs ? m.kept[stage] : base::Bytes(0));
      if (i > 0 && slots[i - 1].merged) {
        const std::size_t made = stage_of(slots[i - 1]);
        raise(alive - std::min(m.saved[made], freed) + m.layer[made], m.transient[stage]);
      } else {
        raise(alive, m.transient[stage]);
      }
      alive -= freed;
      raise(alive, {});  // where the gradients of weights come later, what was computed again for them may be more
    }
  }
  return peak;
}

// How much a device can hold, and what its context and libraries take of it.
struct Limits {
  base::Bytes capacity, reserved;
  auto operator<=>(const Limits&) const = default;
};

Limits limits_of(const topology::Device& device) {
  const profiles::DeviceProfile& profile = profiles::device_profile(device.type);
  return {device.memory.value_or(profile.memory), profile.reserved};
}

// An allocator keeps the place of gradients that are dropped before an iteration where these have a pool of their own, as those have that
// another stream reduces: what it holds more than is allocated at the peak.
base::Bytes held_in_pools(const pcg::Plan& plan, const std::vector<Slot>& slots, int rank, DeviceMemory m, base::Bytes peak) {
  if (m.lazy_gradients == base::Bytes(0)) return base::Bytes(0);
  m.lazy_gradients = base::Bytes(0);
  m.transient = m.transient_held;
  return std::max(base::Bytes(0), walk(plan, slots, rank, m).sum() - peak);
}

bool is_used(const DeviceMemory& m) { return m.states() + *std::ranges::max_element(m.transient) > base::Bytes(0); }

MemoryUse use_of(const DeviceMemory& m, const Peak& p, base::Bytes held, const Limits& limits, base::DeviceId device) {
  // Temporaries take the place of gradients that are not yet allocated.
  const base::Bytes missing = std::min(base::Bytes(0), p.transient);
  return {m.always() + p.sum() + limits.reserved,
          limits.capacity,
          m.weights,
          m.gradients + missing,
          m.optimizer + p.update,
          p.activations,
          m.fixed + p.transient - missing + limits.reserved,
          device,
          held,
          p.update > base::Bytes(0)};
}

// The use of each device that is used, on the rank on which it needs most.
std::vector<MemoryUse> peaks_of(const pcg::Plan& plan, std::span<const DeviceMemory> devices, const topology::Cluster& cluster) {
  std::vector<MemoryUse> uses;
  const int pipeline = pcg::ranks_of(plan);
  std::vector<std::vector<Slot>> schedules;
  for (int rank = 0; rank < pipeline; ++rank) schedules.push_back(slots_of(schedule_of(plan, plan.micro_batches), rank));
  std::map<std::pair<DeviceMemory, Limits>, std::optional<MemoryUse>> known;  // devices with equal numbers need one walk
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const DeviceMemory& m = devices[d];
    const Limits limits = limits_of(cluster.devices()[d]);
    if (!is_used(m)) continue;
    const auto [at, is_new] = known.try_emplace({m, limits});
    for (int rank = 0; rank < pipeline && is_new; ++rank) {
      const Peak p = walk(plan, schedules[static_cast<std::size_t>(rank)], rank, m);
      if (p.sum() == base::Bytes(0) && pipeline > 1) continue;  // a rank of other devices
      const base::Bytes held = held_in_pools(plan, schedules[static_cast<std::size_t>(rank)], rank, m, p.sum());
      const MemoryUse use = use_of(m, p, held, limits, base::DeviceId(d));
      if (!at->second || use.peak > at->second->peak) at->second = use;
    }
    if (!at->second) continue;
    uses.push_back(*at->second);
    uses.back().device = base::DeviceId(d);
  }
  return uses;
}

std::vector<DeviceMemory> devices_of(const pcg::Plan& plan, const topology::Cluster& cluster, const SimulationConfig& config) {
  return device_memory(plan, dataflow_of(plan), cluster, framework_of(plan.training, config));
}

}  // namespace

std::vector<DeviceMemory> device_memory(const pcg::Plan& plan, const Dataflow& dataflow, const topology::Cluster& cluster,
                                        const profiles::FrameworkProfile& framework, Blocks blocks) {
  return MemoryCounter(plan, dataflow, cluster, framework, blocks).run();
}

MemoryUse peak_memory(const pcg::Plan& plan, std::span<const DeviceMemory> devices, const topology::Cluster& cluster) {
  const std::vector<MemoryUse> uses = peaks_of(plan, devices, cluster);
  const auto tightest = std::ranges::max_element(uses, {}, [](const MemoryUse& u) { return u.peak - u.capacity; });
  return tightest == uses.end() ? MemoryUse{} : *tightest;
}

MemoryUse memory_of(const pcg::Plan& plan, const topology::Cluster& cluster, const SimulationConfig& config) {
  return peak_memory(plan, devices_of(plan, cluster, config), cluster);
}

std::vector<MemoryUse> memory_by_device(const pcg::Plan& plan, const topology::Cluster& cluster, const SimulationConfig& config) {
  return peaks_of(plan, devices_of(plan, cluster, config), cluster);
}

}  // namespace sim
