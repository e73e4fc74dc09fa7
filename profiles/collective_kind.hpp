#pragma once
// Names of collectives and of the algorithms that do them, shared by network profiles, imported measurements and the simulator.

#include <array>
#include <optional>
#include <string_view>

namespace profiles {

enum class CollectiveKind { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send };
enum class Algorithm { automatic, ring, tree, hierarchical, in_switch, pairwise, forwarded, bulk_forwarded };
inline constexpr std::array kCollectiveKinds = {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                                CollectiveKind::all_to_all, CollectiveKind::broadcast,  CollectiveKind::send};
// Those that do a collective: all but `automatic`, which stands for the quickest of them.
inline constexpr std::array kAlgorithms = {Algorithm::ring,     Algorithm::tree,      Algorithm::hierarchical,  Algorithm::in_switch,
                                           Algorithm::pairwise, Algorithm::forwarded, Algorithm::bulk_forwarded};
[[nodiscard]] std::string_view to_text(CollectiveKind k);
[[nodiscard]] std::string_view to_text(Algorithm a);
// Each returns the value that to_text() writes so, or nullopt for any other word.
[[nodiscard]] std::optional<CollectiveKind> collective_kind(std::string_view name);
[[nodiscard]] std::optional<Algorithm> algorithm(std::string_view name);

}  // namespace profiles
