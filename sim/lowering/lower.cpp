#include "sim/lowering/lower.hpp"

#include "base/check.hpp"
#include "sim/lowering/passes.hpp"
#include "sim/memory/activations.hpp"
#include "sim/schedules/schedule.hpp"

namespace sim {

Lowerer::Lowerer(const pcg::Plan& plan, const Dataflow& data, const topology::Cluster& cluster, const profiles::FrameworkProfile& framework)
    : plan_(plan),
      data_(data),
      cluster_(cluster),
      framework_(framework),
      costs_(plan, data.flow, cluster, framework),
      interned_(plan, data.flow, cluster),
      deliveries_(plan, data.flow, interned_),
      gradients_(plan, data.flow, interned_),
      program_(costs_, framework, plan),
      events_(program_, deliveries_, gradients_) {
  for (int s = 0; s < plan.stages; ++s)
    BASE_CHECK(!data.flow.stage_nodes[static_cast<std::size_t>(s)].empty(), "stage {} of plan {} has no operators", s, plan.name);
  if (plan.memory.offload.activations)
    for (int s = 0; s < plan.stages; ++s) offloaded_.push_back(offloaded_activations(plan, data.flow, framework, s));
}

BlockId Lowerer::forward(int stage, const Variant& v, bool gathers_updated) {
  const auto [at, is_new] = forward_.try_emplace({stage, v.zero >= 3, gathers_updated});
  if (is_new) at->second = program_.add(lower_forward(with(v), stage, gathers_updated));
  return at->second;
}

const Lowerer::Backward& Lowerer::backward(int stage, MicroBatchPosition position, const Variant& v, bool split) {
  // Where ZeRO shards no more than the optimizer's state, it changes what synchronises the gradients: nothing before they are complete.
  const int zero = v.zero <= 1 && !is_final(position) ? 0 : v.zero;
  const auto [at, is_new] = backward_.try_emplace({stage, position, v.recompute, zero, split});
  if (is_new) {
    BackwardBlock lowered = lower_backward(with({v.recompute, zero}), stage, position, split);
    at->second.block = program_.add(std::move(lowered.block));
    if (split) at->second.weights = program_.add(std::move(lowered.weights));
    at->second.synchronised = std::move(lowered.synchronised);
  }
  return at->second;
}

BlockId Lowerer::update(const Variant& v, const std::vector<EventId>& synchronised) {
  const auto [at, is_new] = update_.try_emplace({v.zero, synchronised});
  if (is_new) at->second = program_.add(lower_update(with(v), synchronised));
  return at->second;
}

void Lowerer::add_backward(PassBlocks& blocks, MicroBatchPosition position, const Variant& v, bool split) {
  std::vector<BlockId>& of_stages = (split ? blocks.inputs : blocks.backward)[position];
  std::vector<BlockId>& of_weights = blocks.weights[position];
  of_stages.resize(blocks.forward.size());
  if (split) of_weights.resize(blocks.forward.size());
  for (int s = plan_.stages - 1; s >= 0; --s) {
    const Backward& b = backward(s, position, v, split);
    of_stages[static_cast<std::size_t>(s)] = b.block;
    if (split) of_weights[static_cast<std::size_t>(s)] = b.weights;
  }
}

const Program& Lowerer::lower(const Variant& variant) & {
  PassBlocks blocks;
  std::vector<EventId> synchronised;
  const bool gathers_first = gathers_updated_weights(variant) && with(variant).overlap.parameters;
  for (int s = 0; s < plan_.stages; ++s) {
    blocks.forward.push_back(forward(s, variant, false));
    if (gathers_first) blocks.first_forward.push_back(forward(s, variant, true));
  }
  // These micro-batches meet every position that occurs; `only` and `last` are one and the same where there is one micro-batch.
  for (const int m : {0, 1, plan_.micro_batches - 1}) {
    const MicroBatchPosition position = position_of(m, plan_.micro_batches);
    if (m >= plan_.micro_batches || !blocks.backward[position].empty() || !blocks.inputs[position].empty()) continue;
    if (has_whole_backward(plan_.schedule)) add_backward(blocks, position, variant, false);
    if (splits_backward(plan_.schedule)) add_backward(blocks, position, variant, true);
  }
  // Whole passes and split ones signal the same events.
  for (int s = plan_.stages - 1; s >= 0; --s) {
    const MicroBatchPosition last = position_of(plan_.micro_batches - 1, plan_.micro_batches);
    const Backward& b = backward(s, last, variant, splits_backward(plan_.schedule));
    synchronised.insert(synchronised.end(), b.synchronised.begin(), b.synchronised.end());
  }
  blocks.update = update(variant, synchronised);
  if (plan_.overlap.tensor == true && !program_.has_shares()) program_.add_note(base::Fact("overlap-unused"));
  if (!data_.synchronisation.divides()) program_.add_note(base::Fact("uneven-groups", plan_.memory.zero.groups));
  if (plan_.training.constant_tokens) program_.add_note(base::Fact("constant-tokens"));
  const Program& program = program_.build(std::move(blocks), interned_, costs_);
  if (plan_.overlap.experts == true && !exchanges_tokens(program)) program_.add_note(base::Fact("expert-overlap-unused"));
  if (auto unused = unused_dispatch(plan_, data_.flow, program, cluster_)) program_.add_note(std::move(*unused));
  return program;
}

Program Lowerer::lower(const Variant& variant) && {
  (void)lower(variant);
  return std::move(program_).take();
}

Program lower(const pcg::Plan& plan, const Dataflow& data, const topology::Cluster& cluster, const profiles::FrameworkProfile& framework) {
  return Lowerer(plan, data, cluster, framework).lower(variant_of(plan));
}

}  // namespace sim
