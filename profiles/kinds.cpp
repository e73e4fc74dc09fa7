#include "profiles/kinds.hpp"

namespace profiles {
namespace {

constexpr std::array<std::string_view, 6> kKindNames = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send"};
constexpr std::array<std::string_view, 9> kAlgorithmNames = {"automatic",      "ring",     "tree",      "hierarchical",  "in_switch",
                                                             "in_switch_tree", "pairwise", "forwarded", "bulk_forwarded"};
constexpr std::array<std::string_view, 4> kBasisNames = {"measured", "fitted", "extrapolated", "defaults"};

}  // namespace

std::string_view to_text(CollectiveKind k) { return kKindNames[static_cast<std::size_t>(k)]; }
std::string_view to_text(Algorithm a) { return kAlgorithmNames[static_cast<std::size_t>(a)]; }
std::string_view to_text(Basis b) { return kBasisNames[static_cast<std::size_t>(b)]; }

}  // namespace profiles
