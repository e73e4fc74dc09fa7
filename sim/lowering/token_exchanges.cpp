#include "sim/lowering/lowering.hpp"

#include <algorithm>

namespace sim {
namespace {

// Collectives of tensor parallelism among the ranks of one expert leave the tokens where they are, unless all ranks gather all tokens.
bool moves_tokens(const Movement& movement, pcg::Dispatch by) {
  if (by == pcg::Dispatch::all_gather) return !movement.empty();
  return std::ranges::any_of(movement.rounds, [](const Round& round) {
    return round.front().kind == CollectiveKind::all_to_all || round.front().kind == CollectiveKind::send;
  });
}

}  // namespace

StreamKind stream_between(const Lowering& l, std::uint32_t producer, std::uint32_t consumer, MovementId movement) {
  const bool exchange = operation_of<pcg::MoeDispatch>(l.plan, producer) || operation_of<pcg::MoeCombine>(l.plan, consumer);
  return l.overlap.experts && exchange && moves_tokens(l.interned[movement], l.plan.dispatch) ? StreamKind::experts
                                                                                              : StreamKind::communication;
}

bool exchanges_tokens(const Program& program) {
  return std::ranges::any_of(program.blocks, [](const Block& block) {
    return std::ranges::any_of(block.items, [](const Item& item) {
      const Move* move = std::get_if<Move>(&item.work);
      return move != nullptr && move->stream == StreamKind::experts;
    });
  });
}

std::optional<base::Fact> unused_dispatch(const pcg::Plan& plan, const FlowGraph& flow, const Program& program,
                                          const topology::Cluster& cluster) {
  if (plan.dispatch == pcg::Dispatch::all_to_all) return std::nullopt;
  const bool gathers = plan.dispatch == pcg::Dispatch::all_gather;
  bool passed_on = false, crosses = gathers;
  for (std::uint32_t n = 0; gathers && n < plan.pcg.nodes().size(); ++n)
    passed_on = passed_on || (plan.pcg.nodes()[n].computes() && ranks_of_experts(plan, flow, n) > 1);
  for (const Movement& m : program.movements)
    for (const Round& round : m.rounds)
      for (const Transfer& t : round) {
        passed_on = passed_on || t.forwarding.copies > 0;
        crosses = crosses || (t.forwarding.copies > 0 && cluster.device(t.group.front()).domain != cluster.device(t.group.back()).domain);
      }
  const std::string& name = pcg::name_of(plan.dispatch);
  if (!passed_on) return base::Fact("dispatch-unused", name, gathers);
  if (crosses) return std::nullopt;
  return base::Fact("dispatch-saves-nothing", name);
}

}  // namespace sim
