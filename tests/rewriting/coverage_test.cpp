// How much of the builtin models the rules speak of: an operator without a kind in the rule language ends every chain of rewrites.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <map>
#include <set>

#include "pcg/models/builtins.hpp"
#include "planted.hpp"
#include "substitutions/matching/graph_index.hpp"

namespace substitutions::rewriting {
namespace {

struct Coverage {
  int known = 0, all = 0;
  std::map<std::string, int> unknown;  // by kind
};

Coverage coverage(const std::string& model) {
  const pcg::Pcg g = serial_pcg(pcg::models::builtin(model, 8));
  const GraphIndex index(g);
  Coverage c;
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    if (g.nodes()[n].is_source()) continue;
    ++c.all;
    if (index.node(static_cast<std::uint32_t>(n)).code != kNoCode) ++c.known;
    else ++c.unknown[std::string(pcg::kind_name(*g.nodes()[n].operation()))];
  }
  return c;
}

TEST_CASE("rules speak of all operators of the builtin models but these") {
  // Losses; broadcasts (of positions), views and pools of whole planes; a transposed weight (tied to the embedding); attention with a
  // bias or other weights of its own, of latent keys or of two sequences; experts; the square of relu.
  const std::set<std::string> foreign{"cross_entropy", "squared_error", "binary",        "broadcast",    "reshape",     "pool2d",
                                      "linear",        "attention",     "expert_linear", "moe_dispatch", "moe_combine", "unary"};
  for (const std::string& name : pcg::models::builtin_names()) {
    const Coverage c = coverage(name);
    std::string rest;
    for (const auto& [kind, count] : c.unknown) {
      CHECK_MESSAGE(foreign.contains(kind), name, ": ", kind);
      rest += fmt::format(" {} {}", count, kind);
    }
    MESSAGE(fmt::format("{}: {} of {}; not{}", name, c.known, c.all, rest));
    // A layer that is all experts has 16 operators: two products up, one down, dispatch, combine and an attention with norms are foreign. A
    // layer of squares of relu has 10, of which that square is one; the loss comes on top.
    const bool small = c.all - c.known == 1, experts = c.unknown.contains("expert_linear");
    CHECK_MESSAGE((small || c.known >= (experts ? 10.0 / 16 : 0.9) * (c.all - 2)), name);
  }
}

}  // namespace
}  // namespace substitutions::rewriting
