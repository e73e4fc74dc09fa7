#include "sim/dataflow/internal_movement.hpp"

#include "pcg/sharding/internal_collectives.hpp"

namespace sim {
namespace {

using Kind = pcg::InternalCollective::Kind;
using Line = std::vector<base::DeviceId>;

bool is_halo(const pcg::InternalCollective& c) { return c.kind == Kind::halo_before || c.kind == Kind::halo_after; }

// Lines of points that differ in the coordinate of one loop. Task space: (sums, copies, loops...), mixed radix, outermost first.
std::vector<Line> lines_along(std::size_t loop, const std::vector<int>& degrees, const std::vector<base::DeviceId>& points) {
  int inner = 1;
  for (std::size_t d = loop + 1; d < degrees.size(); ++d) inner *= degrees[d];
  std::vector<Line> lines;
  for (int p = 0; p < static_cast<int>(points.size()); ++p) {
    if (p / inner % degrees[loop] != 0) continue;
    Line& line = lines.emplace_back();
    for (int k = 0; k < degrees[loop]; ++k) line.push_back(points[static_cast<std::size_t>(p + k * inner)]);
  }
  return lines;
}

// Each point of the line gets a halo from the neighbour before (or after) it.
void add_halos(bool from_front, base::Bytes bytes, const Line& line, Round& round) {
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == line[i - 1]) continue;
    round.push_back({CollectiveKind::send, bytes, from_front ? Line{line[i - 1], line[i]} : Line{line[i], line[i - 1]}});
  }
}

// Each point of the line sends its block to the next one, the last to the first.
void add_hop(base::Bytes bytes, const Line& line, Round& round) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const base::DeviceId to = line[(i + 1) % line.size()];
    if (to != line[i]) round.push_back({CollectiveKind::send, bytes, {line[i], to}});
  }
}

void add_transfers(Kind kind, base::Bytes bytes, Line line, Round& round) {
  switch (kind) {
    case Kind::all_reduce: round.push_back({CollectiveKind::all_reduce, bytes, std::move(line)}); return;
    case Kind::all_gather: round.push_back({CollectiveKind::all_gather, bytes, std::move(line)}); return;
    case Kind::reduce_scatter: round.push_back({CollectiveKind::reduce_scatter, bytes, std::move(line)}); return;
    case Kind::halo_before: return add_halos(/*from_front=*/true, bytes, line, round);
    case Kind::halo_after: return add_halos(/*from_front=*/false, bytes, line, round);
  }
}

}  // namespace

bool has_ring(const pcg::Plan& plan, const pcg::Attention& op) { return plan.key_exchange == pcg::KeyExchange::ring && op.window == 0; }

InternalMovements internal_movements(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  const pcg::NodeId id(node);
  const pcg::PcgNode& n = plan.pcg.node(id);
  InternalMovements out;
  for (const pcg::InternalCollective& c : pcg::internal_collectives(*n.operation(), *n.space, n.sharding, plan.pcg.whole_inputs(id))) {
    // The gradient of a halo goes back only where the gradient of the image is wanted.
    if (is_halo(c) && c.backward && !flow.needs_gradient[flow.origins[node][0].node.value]) continue;
    const base::Bytes element = c.fp32 ? base::Bytes(4) : pcg::element_bytes(c.shape.element, plan.training.precision);
    const base::Bytes bytes = element * static_cast<double>(c.shape.elements());
    const auto loop = static_cast<std::size_t>(c.loop);
    InternalMovements::Side& side = c.backward ? out.backward : out.forward;
    Round round;
    if (const auto* attention = std::get_if<pcg::Attention>(n.operation()); attention != nullptr && has_ring(plan, *attention)) {
      if (c.kind != Kind::all_gather) continue;  // gradients go round in blocks of the same size
      const int points = n.sharding.degrees[loop];
      for (const Line& line : lines_along(loop, n.sharding.degrees, flow.layouts[node].points)) add_hop(bytes / points, line, round);
      if (!round.empty()) side.hop.rounds.push_back(std::move(round));
      side.hops = static_cast<std::size_t>(points) - 1;
      continue;
    }
    for (Line& line : lines_along(loop, n.sharding.degrees, flow.layouts[node].points))
      add_transfers(c.kind, bytes, std::move(line), round);
    if (round.empty()) continue;
    (pcg::runs_before(c) ? side.before : side.after).push_back(Movement{{std::move(round)}});
  }
  return out;
}

}  // namespace sim
