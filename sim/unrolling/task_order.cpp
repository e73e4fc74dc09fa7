#include "sim/unrolling/unroll.hpp"

#include <algorithm>

#include "sim/program/program.hpp"

namespace sim {
namespace {

bool is_token_exchange(const Entry& e) {
  const auto* moved = std::get_if<TransferRun>(&e.work);
  return moved != nullptr && moved->stream == StreamKind::experts;
}

// Where the parts of a block end. Launches between its exchanges belong to these.
std::vector<std::uint32_t> part_ends(const CompiledBlock& block) {
  std::vector<std::uint32_t> ends;
  bool sent = false;
  for (std::uint32_t i = 0; i < block.entries.size(); ++i) {
    const bool sends = is_token_exchange(block.entries[i]);
    if (sent && !sends && !std::holds_alternative<HostLaunch>(block.entries[i].work)) {
      ends.push_back(i);
      sent = false;
    }
    sent = sent || sends;
  }
  ends.push_back(static_cast<std::uint32_t>(block.entries.size()));
  return ends;
}

struct PassTasks {
  std::uint32_t first = 0;
  const std::vector<std::uint32_t>& ends;
  std::uint32_t taken = 0;
  std::size_t part = 0;
};

class Orderer {
 public:
  explicit Orderer(const Unrolled& u) : unrolled_(u) {
    for (const CompiledBlock& block : u.blocks) ends_.push_back(part_ends(block));
  }

  std::vector<std::uint32_t> run() && {
    order_.reserve(unrolled_.graph.tasks.size());
    const std::vector<BlockInstance>& all = unrolled_.instances;
    for (std::size_t i = 0; i < all.size(); ++i) {
      PassTasks one{all[i].first, ends_[all[i].block]};
      if (!all[i].merged) {
        for (std::size_t part = 0; part < one.ends.size(); ++part) take_part(one);
        continue;
      }
      ++i;
      PassTasks other{all[i].first, ends_[all[i].block]};
      for (const Pass pass : alternation(one.ends.size(), other.ends.size())) take_part(pass == Pass::forward ? one : other);
    }
    return std::move(order_);
  }

 private:
  void take_part(PassTasks& s) {
    for (const std::uint32_t end = s.ends[s.part++]; s.taken < end; ++s.taken) order_.push_back(s.first + s.taken);
  }

  const Unrolled& unrolled_;
  std::vector<std::vector<std::uint32_t>> ends_;  // per block
  std::vector<std::uint32_t> order_;
};

}  // namespace

std::vector<std::uint32_t> task_order(const Unrolled& unrolled) {
  if (std::ranges::none_of(unrolled.instances, &BlockInstance::merged)) return {};
  return Orderer(unrolled).run();
}

}  // namespace sim
