#include "search/rules/generation/enumerate.hpp"

#include <algorithm>

#include "search/rules/language/typing.hpp"

namespace rules {
namespace {

// A cut may only be where the size's symbols say that it is inside.
bool is_inside(const Node& n, const Types& t) {
  if (n.axis >= t[0].rank) return false;
  const auto whole = letters_of(dim_size(t, n.axis)), part = letters_of(n.at);
  return whole && part && whole->size() > part->size() && std::ranges::includes(*whole, *part);
}

// Nothing is done with a number but scaling by it; kernels are no images, gains no rows.
bool is_sensible(Kind k, std::span<const Types* const> in) {
  if (in.empty()) return true;
  const Type& x = (*in[0])[0];
  if (x.rank == 0) return false;
  if (k == Kind::attention) return x.rank == 3 && letters_of({x.size[2] / 3, (*in[0])[1].size[2] / 3, (*in[0])[2].size[2] / 3});
  if (k == Kind::softmax || k == Kind::layer_norm || k == Kind::rms_norm) return x.rank > 1;
  if (is_convolution(k) || is_pool(k)) return x.rank == 4 && x.size[2] != (*in[0])[1].size[2] && x.size[3] != (*in[0])[1].size[3];
  return true;
}

// Groups must divide a kernel's outputs because of the symbols, too.
bool groups_divide(const Types& x, const Types& w) {
  if (x[0].rank != 4 || w[0].rank != 4) return false;
  Numbers groups, outs, quotient;
  for (std::size_t a = 0; a < groups.size(); ++a) {
    groups[a] = x[a].size[1] / w[a].size[1];
    outs[a] = w[a].size[0];
    if (groups[a] == 0 || outs[a] % groups[a] != 0) return false;
    quotient[a] = outs[a] / groups[a];
  }
  if (groups == Numbers{1, 1, 1}) return true;
  if (!letters_of(groups)) return false;
  if (quotient[0] == quotient[1] && quotient[1] == quotient[2]) return true;  // depthwise
  const auto letters = letters_of(quotient);
  return letters && groups[0] == groups[1] && groups[1] == groups[2];
}

}  // namespace

std::optional<Types> sensible_type(const Node& n, std::span<const Types* const> in) {
  if (!is_sensible(n.kind, in)) return std::nullopt;
  if (is_split(n.kind) && !is_inside(n, *in[0])) return std::nullopt;
  if (is_convolution(n.kind) && !groups_divide(*in[0], *in[1])) return std::nullopt;
  return type_of(n, in);
}

}  // namespace rules
