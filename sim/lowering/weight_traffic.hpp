#pragma once
// Weights and gradients on their way between the devices that share them: what a stage holds, in which buckets, of how many bytes. Internal
// to sim/lowering.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/lowering/lowering.hpp"

namespace sim {

// The ZeRO stage at which the variant holds a weight.
[[nodiscard]] int zero_of(const Lowering& l, std::uint32_t weight);

// One shard of the weight that input `input` of `node` reads: its parameters, their bytes where they are gathered, and those of the
// gradient.
[[nodiscard]] double shard_elements(const Lowering& l, std::uint32_t node, std::uint32_t input);
[[nodiscard]] base::Bytes gathered_bytes(const Lowering& l, std::uint32_t node, std::uint32_t input);
[[nodiscard]] base::Bytes gradient_bytes(const Lowering& l, std::uint32_t node, std::uint32_t input);

// A weight as one stage holds it, through its earliest reader there.
struct HeldWeight {
  std::uint32_t weight = 0, reader = 0, input = 0;
};
// The weights of a stage, in the order in which a backward pass comes to them; and of them those that an optimizer updates.
[[nodiscard]] std::vector<HeldWeight> held_weights(const Lowering& l, int stage);
[[nodiscard]] std::vector<HeldWeight> trained_weights(const Lowering& l, int stage);

// Bytes that a bucket of the stage's gradients holds before it is sent.
[[nodiscard]] base::Bytes gradient_bucket(const Lowering& l, int stage);
// Parameters of a bucket of the stage's updated weights: those of a bucket of gradients that are overlapped.
[[nodiscard]] double weight_bucket(const Lowering& l, int stage);

// Whether the node reads weights of a unit that is gathered for each pass (ZeRO-3).
[[nodiscard]] bool is_of_unit(const Lowering& l, std::uint32_t node);
// Adds to a pass what the host does for each such unit in it (HostCosts::unit), before the unit's first kernels.
void add_host_time_of_units(const Lowering& l, Block& block);
// Kernels on such weights once they are gathered: copies out of the buffer, casts. No parts: nothing.
[[nodiscard]] Compute work_on_gathered_weight(const Lowering& l, std::uint32_t node);

// The same collective of `bytes` in every group of the pattern at once.
[[nodiscard]] MovementId in_every_group(const Lowering& l, CollectiveKind kind, const SyncPattern& pattern, base::Bytes bytes);

// ZeRO-3: weights are gathered block by block before they are used, at most as many blocks ahead as profiles::prefetch_units says of the
// computation, and freed after. With n units ahead the gather of block k of a pass may start when block k - n - 1 of the pass has been
// computed: n + 1 blocks are whole at most. Blocks that the plan does not shard and that read nothing sharded do not count. A pass does
// not wait for the one before it.
class WeightGathers {
 public:
  // `nodes` in the order in which they are emitted. Does nothing unless the variant shards weights.
  WeightGathers(const Lowering& l, Block& block, std::span<const std::uint32_t> nodes) : l_(l), block_(block), nodes_(nodes) {}
  // Call before a node's items are emitted: gathers of a block that begins here. Returns the items to wait for.
  std::vector<std::uint32_t> before(std::uint32_t node);

 private:
  int block_of(std::uint32_t node) const { return l_.plan.pcg.nodes()[node].block; }
  const Lowering& l_;
  Block& block_;
  std::span<const std::uint32_t> nodes_;
  int current_ = -1;
  bool is_unit_ = false;             // the current block counts
  double largest_ = 0;               // parameters of the largest weight of the block that counted last
  std::vector<std::uint32_t> ends_;  // last compute item of each block so far
};

// Weights that ZeRO-1 and -2 have updated in shards, gathered when the next iteration begins: bucket by bucket in the order of the layers,
// during the forward pass of the first micro-batch, whose kernels wait for the weights that they read. Iterations follow each other, so
// each one begins so.
class UpdatedWeights {
 public:
  // Puts the gathers of a stage's weights at the end of `block`.
  UpdatedWeights(const Lowering& l, Block& block, int stage);

  // The gathers of the weights that a node reads, as items of the block.
  [[nodiscard]] std::vector<std::uint32_t> before(std::uint32_t node) const;

 private:
  const Lowering& l_;
  std::map<std::uint32_t, std::uint32_t> gather_of_;  // by weight
};

// Gradient synchronisation of one virtual stage: weights become ready in backward order, are put into buckets by who adds up with whom,
// and a full bucket is sent. Weights that ZeRO-3 shards have buckets of their own: one for each block of the graph.
class GradientBuckets {
 public:
  // Sends into `block` of a stage; a bucket goes once it holds `capacity` bytes per device or more.
  GradientBuckets(const Lowering& l, Block& block, int stage, base::Bytes capacity)
      : l_(l), block_(block), stage_(stage), capacity_(capacity) {}

  // The gradient of weight input `input` of `node` is there when these items have ended.
  void add(std::uint32_t node, std::uint32_t input, const std::vector<std::uint32_t>& ready);
  void flush_block();  // the buckets of sharded weights: their block has no more
  void flush();        // what is left, in the order of kinds and patterns
  // Other gradients of the iteration come later: groups that share out copies of their own do not add theirs up yet.
  void postpone_replicas() { joins_replicas_ = false; }
  // The last item of each bucket that was sent so far.
  [[nodiscard]] const std::vector<std::uint32_t>& sent() const { return sent_; }
  void wait_for(EventId b) { waits_on_.push_back(b); }
  // Collectives that are sent from now on signal that they have ended.
  void signal() { signals_ = true; }
  // The events that those signal.
  [[nodiscard]] const std::vector<EventId>& signalled() const { return signalled_; }

 private:
  struct Bucket {
    base::Bytes bytes;
    std::uint32_t node = 0;  // first one, for the trace
    std::vector<std::uint32_t> ready;
  };
  struct Key {
    CollectiveKind kind;
    SyncPatternId pattern;
    SyncPatternId replicas;  // shards are all-reduced there, afterwards
    bool of_block;           // goes when its block ends, however full it is
    auto operator<=>(const Key&) const = default;
  };
  void put(const Key& key, std::uint32_t node, base::Bytes bytes, const std::vector<std::uint32_t>& ready);
  void send(const Key& key, const Bucket& bucket);
  [[nodiscard]] bool is_empty(SyncPatternId pattern) const { return l_.synchronisation.pattern(pattern).empty(); }

  const Lowering& l_;
  Block& block_;
  int stage_;
  base::Bytes capacity_;
  bool signals_ = false, joins_replicas_ = true;
  std::vector<EventId> signalled_;
  std::vector<EventId> waits_on_;
  std::map<Key, Bucket> open_;
  std::vector<std::uint32_t> sent_;
};

}  // namespace sim
