#pragma once
// Gradient synchronisation of one virtual stage: weights become ready in backward order, are put into buckets by who adds up with whom,
// and a full bucket is sent. Weights that ZeRO-3 shards have buckets of their own: one for each block of the graph. Internal to
// sim/lowering.

#include <cstdint>
#include <map>
#include <vector>

#include "sim/lowering/lowering.hpp"

namespace sim {

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
