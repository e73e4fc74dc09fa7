#include "profiles/kinds.hpp"

#include <algorithm>
#include <array>

namespace profiles {
namespace {

constexpr std::array<std::string_view, 6> kKindNames = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send"};
constexpr std::array<std::string_view, 8> kAlgorithmNames = {"automatic", "ring",     "tree",      "hierarchical",
                                                             "in_switch", "pairwise", "forwarded", "bulk_forwarded"};

template <class Enum, std::size_t n>
std::optional<Enum> find(const std::array<std::string_view, n>& names, std::string_view name) {
  const auto* const at = std::ranges::find(names, name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Enum>(at - names.begin());
}

}  // namespace

std::string_view to_text(CollectiveKind k) { return kKindNames[static_cast<std::size_t>(k)]; }
std::string_view to_text(Algorithm a) { return kAlgorithmNames[static_cast<std::size_t>(a)]; }
std::optional<CollectiveKind> collective_kind(std::string_view name) { return find<CollectiveKind>(kKindNames, name); }
std::optional<Algorithm> algorithm(std::string_view name) { return find<Algorithm>(kAlgorithmNames, name); }

std::string_view to_text(Basis b) {
  switch (b) {
    case Basis::measured: return "measured";
    case Basis::fitted: return "fitted";
    case Basis::extrapolated: return "extrapolated";
    case Basis::defaults: return "defaults";
  }
  return "defaults";
}

}  // namespace profiles
