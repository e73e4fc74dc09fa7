#include "profiles/collective_kind.hpp"

#include <algorithm>
#include <array>

namespace profiles {
namespace {

constexpr std::array<std::string_view, 6> kKinds = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send"};
constexpr std::array<std::string_view, 6> kAlgorithms = {"automatic", "ring", "tree", "hierarchical", "in_switch", "pairwise"};

template <class Enum>
std::optional<Enum> find(const std::array<std::string_view, 6>& names, std::string_view name) {
  const auto* const at = std::ranges::find(names, name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Enum>(at - names.begin());
}

}  // namespace

std::string_view to_text(CollectiveKind k) { return kKinds[static_cast<std::size_t>(k)]; }
std::string_view to_text(Algorithm a) { return kAlgorithms[static_cast<std::size_t>(a)]; }
std::optional<CollectiveKind> collective_kind(std::string_view name) { return find<CollectiveKind>(kKinds, name); }
std::optional<Algorithm> algorithm(std::string_view name) { return find<Algorithm>(kAlgorithms, name); }

}  // namespace profiles
