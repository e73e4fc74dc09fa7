#pragma once
// Names of collectives and of the algorithms that do them, shared by network profiles, imported measurements and the simulator.

#include <optional>
#include <string_view>

namespace profiles {

enum class CollectiveKind { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send };
enum class Algorithm { automatic, ring, tree, hierarchical, in_switch, pairwise };
[[nodiscard]] std::string_view to_text(CollectiveKind k);
[[nodiscard]] std::string_view to_text(Algorithm a);
// Each returns the value that to_text() writes so, or nullopt for any other word.
[[nodiscard]] std::optional<CollectiveKind> collective_kind(std::string_view name);
[[nodiscard]] std::optional<Algorithm> algorithm(std::string_view name);

}  // namespace profiles
