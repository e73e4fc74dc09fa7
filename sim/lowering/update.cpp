// The end of an iteration: gradients that were not synchronised during the backward pass, tied weights of different stages,
// the norm that clips them, the optimizer, gathering weights that ZeRO-1 and -2 updated in shards, and casting them for low precision.
#include "sim/lowering/passes.hpp"

#include <algorithm>

#include "sim/dataflow/dataflow.hpp"
#include "sim/memory/model_states.hpp"

namespace sim {
namespace {

Movement sum_of_shards(const Layout& a, const Layout& b, base::Bytes shard) {
  Round round;
  for (std::size_t p = 0; p < a.devices.size(); ++p)
    if (a.devices[p] != b.devices[p])
      round.push_back({CollectiveKind::all_reduce, shard, {std::min(a.devices[p], b.devices[p]), std::max(a.devices[p], b.devices[p])}});
  return {{std::move(round)}};
}

Movement both_ways(const Layout& a, const Layout& b, base::Bytes element, const topology::Cluster& cluster) {
  Movement there = reshard(a, b, element, cluster);
  const Movement back = reshard(b, a, element, cluster);
  there.rounds.resize(std::max(there.rounds.size(), back.rounds.size()));
  for (std::size_t r = 0; r < back.rounds.size(); ++r)
    there.rounds[r].insert(there.rounds[r].end(), back.rounds[r].begin(), back.rounds[r].end());
  return there;
}

class UpdateEmitter {
 public:
  UpdateEmitter(const Lowering& l, const std::vector<EventId>& gradients) : l_(l), gradients_(gradients) {
    for (int s = 0; s < l.plan.stages; ++s) held_.push_back(trained_weights(l, s));
  }
  Block emit() {
    synchronise();
    tie();
    clip();
    optimize();
    gather();
    cast();
    return std::move(block_);
  }

 private:
  void synchronise() {
    if (l_.overlap.gradients) return;
    for (int s = 0; s < l_.plan.stages; ++s) {
      GradientBuckets buckets(l_, block_, s, gradient_bucket(l_, s));
      buckets.wait_for(l_.events.stage_end(s));
      for (const HeldWeight& h : base::nth(held_, s))
        if (zero_of(l_, h.weight) < 2) buckets.add(h.reader, h.input, {});
      buckets.flush();
      synchronised_[s] = buckets.sent();
    }
  }

  // Two stages that hold one weight (embedding and output layer) add their gradients: shard by shard where it is cut the same way in
  // both, else each brings its own to the other, cut as it is there.
  void tie() {
    std::map<std::uint32_t, std::vector<std::pair<int, HeldWeight>>> by_weight;  // with the stage
    for (int s = 0; s < l_.plan.stages; ++s)
      for (const HeldWeight& h : base::nth(held_, s)) by_weight[h.weight].emplace_back(s, h);
    for (const auto& [weight, holders] : by_weight) {
      for (std::size_t k = 1; k < holders.size(); ++k) {
        const auto& [stage, first] = holders[0];
        const auto& [other_stage, other] = holders[k];
        const Layout &a = l_.flow.layouts[first.reader].inputs[first.input], &b = l_.flow.layouts[other.reader].inputs[other.input];
        // Devices that run both stages (DualPipe) have both gradients.
        if (std::ranges::is_permutation(a.devices, b.devices)) continue;
        const base::Bytes bytes = gradient_bytes(l_, first.reader, first.input);
        Movement sum = a.shape == b.shape ? sum_of_shards(a, b, bytes) : both_ways(a, b, bytes / a.shard_elements(), l_.cluster);
        Item item = moving(StreamKind::gradients, l_.interned.intern(std::move(sum)), "tied weight", weight, {}, gradients_);
        for (const int s : {stage, other_stage}) {
          item.after.insert(item.after.end(), synchronised_[s].begin(), synchronised_[s].end());
          item.waits_on.push_back(l_.events.stage_end(s));
        }
        const std::uint32_t at = append(block_, std::move(item));
        for (const int s : {stage, other_stage}) synchronised_[s].push_back(at);
      }
    }
  }

  // The norm of all gradients: that of each device's own, and their sum.
  void clip() {
    if (!l_.plan.training.clip_gradients) return;
    for (int s = 0; s < l_.plan.stages; ++s)
      for (const auto& [devices, what] : updated(s)) {
        Compute kernels{devices, {l_.program.part(what.weight, "gradient norm", l_.costs.gradient_norm(what.parameters))}};
        kernels.ends_run = true;
        clipped_.push_back(append(block_, {std::move(kernels), what.weight, synchronised_[s], gradients_, {}}));
      }
    Movement sum;
    for (const SyncPattern& step : steps_of_sum(model_copies(l_.plan, l_.flow, l_.synchronisation, l_.variant.zero))) {
      Round& round = sum.rounds.emplace_back();
      for (const auto& group : step.groups) round.push_back({CollectiveKind::all_reduce, base::Bytes(4), group});  // a number in fp32
    }
    if (sum.empty() || clipped_.empty()) return;
    const std::uint32_t node = std::ranges::find_if(held_, [](const auto& of_stage) { return !of_stage.empty(); })->front().weight;
    clipped_ = {append(block_, moving(StreamKind::communication, l_.interned.intern(std::move(sum)), "gradient norm", node, clipped_))};
  }

  void optimize() {
    if (l_.plan.training.optimizer == pcg::Optimizer::muon && (l_.variant.zero >= 2 || l_.plan.memory.offload.optimizer))
      l_.program.add_note(base::Fact("muon-shards"));
    for (int s = 0; s < l_.plan.stages; ++s) {
      if (l_.plan.memory.offload.optimizer) {
        optimize_on_hosts(s);
        continue;
      }
      for (const auto& [devices, what] : updated(s)) {
        Compute kernels{devices, parts_of(what)};
        kernels.ends_run = true;
        // Loss scaling: the host reads whether a gradient overflowed before it launches the step.
        kernels.host_waits = l_.plan.training.precision == pcg::Precision::fp16;
        std::vector<std::uint32_t> after = synchronised_[s];
        after.insert(after.end(), clipped_.begin(), clipped_.end());
        optimized_[s].push_back(append(block_, {std::move(kernels), what.weight, std::move(after), gradients_, {}}));
      }
    }
  }

  // The hosts update what they hold: block by block gradients go there, and weights come back.
  void optimize_on_hosts(int stage) {
    struct Share {
      std::uint32_t weight = 0;
      double parameters = 0;
      base::Bytes gradients, weights;
    };
    std::map<std::pair<int, DeviceSetId>, Share> shares;  // by block
    for (const HeldWeight& h : base::nth(held_, stage)) {
      const double part = share_of(h);
      Share& s = shares.try_emplace({l_.plan.pcg.nodes()[h.reader].block, l_.interned.device_set_of(h.reader)}, Share{h.weight, 0, {}, {}})
                     .first->second;
      s.parameters += part * shard_elements(l_, h.reader, h.input);
      s.gradients += part * gradient_bytes(l_, h.reader, h.input);
      s.weights += part * gathered_bytes(l_, h.reader, h.input);
    }
    const HostLinks& hosts = l_.costs.hosts();
    std::vector<EventId> complete = gradients_;  // kernels of the update come after the backward pass on their stream; copies have to wait
    complete.push_back(l_.events.stage_end(stage));
    for (const auto& [where, s] : shares) {
      const auto add = [&](StreamKind stream, const std::vector<base::Seconds>& times, std::string_view what,
                           std::vector<std::uint32_t> after, std::vector<EventId> waits_on) {
        return append(block_,
                      {Copy{where.second, stream, l_.program.times(times), what}, s.weight, std::move(after), std::move(waits_on), {}});
      };
      const std::uint32_t there = add(StreamKind::to_host, hosts.to_host(s.gradients), "gradients", synchronised_[stage], complete);
      std::vector<std::uint32_t> ready = clipped_;
      ready.push_back(there);
      const std::uint32_t done = add(StreamKind::host_update, hosts.update(s.parameters), "update", std::move(ready), {});
      optimized_[stage].push_back(add(StreamKind::from_host, hosts.from_host(s.weights), "weights", {done}, {}));
    }
    l_.program.add_note(base::Fact("host-update", kHostUpdate.value()));
  }

  void gather() {
    if (!gathers_updated_weights(l_.variant) || l_.overlap.parameters) return;
    for (int s = 0; s < l_.plan.stages; ++s) {
      std::map<SyncPatternId, std::pair<std::uint32_t, base::Bytes>> bytes;
      for (const HeldWeight& h : base::nth(held_, s)) {
        if (zero_of(l_, h.weight) == 0) continue;
        const auto it = bytes.try_emplace(l_.synchronisation.of(h.reader, h.input).main, h.weight, base::Bytes(0)).first;
        it->second.second += gathered_bytes(l_, h.reader, h.input);
      }
      for (const auto& [id, what] : bytes) {
        const SyncPattern& pattern = l_.synchronisation.pattern(id);
        if (pattern.empty()) continue;
        const MovementId m = in_every_group(l_, CollectiveKind::all_gather, pattern, what.second);
        gathered_[s].push_back(append(block_, moving(StreamKind::gradients, m, "updated weights", what.first, optimized_[s])));
      }
    }
  }

  // Weights that are held whole are cast once for all micro-batches. Those that are gathered during the first forward pass are cast there,
  // bucket by bucket, which takes as long: it is counted here.
  void cast() {
    if (!pcg::casts_products(l_.plan.training.precision)) return;
    for (int s = 0; s < l_.plan.stages; ++s) {
      std::map<DeviceSetId, Compute> kernels;
      for (const HeldWeight& h : held_weights(l_, s)) {
        if (h.input != 1 || zero_of(l_, h.weight) >= 3) continue;
        const Cost& casts = l_.costs.weight_cast(h.reader);
        if (casts.empty()) continue;
        const DeviceSetId devices = l_.interned.device_set_of(h.reader);
        kernels.try_emplace(devices, Compute{devices, {}}).first->second.parts.push_back(l_.program.part(h.reader, "weight cast", casts));
      }
      std::vector<std::uint32_t> after = optimized_[s];
      after.insert(after.end(), gathered_[s].begin(), gathered_[s].end());
      for (auto& [devices, work] : kernels) {
        const std::uint32_t node = work.parts.front().node;
        append(block_, {std::move(work), node, after, {}, {}});
      }
    }
  }

  struct Updated {
    std::uint32_t weight = 0;                  // the first
    double parameters = 0;                     // of each device
    std::map<pcg::Optimizer, double> by = {};  // of them, by what updates them
    std::vector<HeldWeight> orthogonalised{};
  };
  // The weights that the devices of a stage update, and the kernels for it. Whole matrices are shared out evenly.
  [[nodiscard]] std::map<DeviceSetId, Updated> updated(int stage) const {
    std::map<DeviceSetId, Updated> found;
    for (const HeldWeight& h : base::nth(held_, stage)) {
      const double n = share_of(h) * shard_elements(l_, h.reader, h.input);
      Updated& what = found.try_emplace(l_.interned.device_set_of(h.reader), Updated{h.weight}).first->second;
      const pcg::Optimizer by = optimizer_of(l_.plan, h.reader, h.input);
      what.parameters += n;
      what.by[by] += n;
      if (by == pcg::Optimizer::muon) what.orthogonalised.push_back(h);
    }
    return found;
  }

  [[nodiscard]] std::vector<Part> parts_of(const Updated& what) const {
    std::vector<Part> parts;
    for (const auto& [by, parameters] : what.by)
      parts.push_back(l_.program.part(what.weight, "update", l_.costs.optimizer(by, parameters)));
    for (const HeldWeight& h : what.orthogonalised)
      if (const auto matrices = matrices_of(l_.plan, l_.flow, l_.framework, h.reader, h.input))
        parts.push_back(l_.program.part(h.weight, "orthogonalisation", l_.costs.orthogonalisation(*matrices), share_of(h)));
    return parts;
  }

  // The share of a weight that each of its holders updates.
  [[nodiscard]] double share_of(const HeldWeight& h) const {
    return zero_of(l_, h.weight) >= 1 ? 1 / static_cast<double>(l_.synchronisation.shared_by(h.reader, h.input)) : 1;
  }

  const Lowering& l_;
  const std::vector<EventId>& gradients_;  // are synchronised during the backward passes
  Block block_;
  std::vector<std::vector<HeldWeight>> held_;               // per stage
  std::map<int, std::vector<std::uint32_t>> synchronised_;  // stage -> items of this block
  std::vector<std::uint32_t> clipped_;                      // the items by which all know the norm of the gradients
  std::map<int, std::vector<std::uint32_t>> optimized_, gathered_;
};

}  // namespace

Block lower_update(const Lowering& l, const std::vector<EventId>& synchronised) { return UpdateEmitter(l, synchronised).emit(); }

}  // namespace sim
