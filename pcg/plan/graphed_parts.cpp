#include "pcg/plan/graphed_parts.hpp"

#include "pcg/plan/recomputed_units.hpp"

namespace pcg {

bool is_graphed(const PcgNode& node, const GraphedParts& parts) {
  if (parts == GraphedParts{} || !node.computes()) return false;
  const auto in = [&](std::string_view part) { return has_part(node.name, part); };
  if (in("mamba")) return parts.mamba;
  if (in("attention") || in("norm1")) return parts.attention;
  if (in("mlp")) return parts.mlp;
  if (in("moe")) return parts.router && (in("router") || in("routing") || in("shared") || in("latent_down"));
  return in("norm2") && (parts.mlp || parts.router);
}

}  // namespace pcg
