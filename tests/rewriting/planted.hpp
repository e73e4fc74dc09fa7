#pragma once
// Graphs to rewrite: those in which a rule's source is sure to be found (its variables as inputs, in layouts that they may have, and its
// operators), and models on one device.

#include <optional>
#include <span>

#include "search/rules/matching/matcher.hpp"
#include "search/rules/rewriting/apply.hpp"

namespace rules::rewriting {

// The sources of some rules side by side. Every letter is one small size, d and e are 2. Nullopt where one is not well typed at those
// sizes, or holds what no PCG has (constants).
[[nodiscard]] std::optional<pcg::Pcg> planted(std::span<const Rule> rules);

// No operator cut.
[[nodiscard]] pcg::Pcg serial_pcg(const pcg::Graph& g);

// A rule whose source is a variable alone (x = combine(partition(x))) holds at every tensor: no matcher lists it, this names one. All
// readers of the tensor read the target instead. `chosen`: sizes of letters that only the target has.
[[nodiscard]] Match match_at(std::size_t number, const Rule& rule, const pcg::Pcg& graph, pcg::TensorRef tensor, int row,
                             const LetterSizes& chosen = {});

// Of all results, in order: what no rewrite may change.
[[nodiscard]] std::vector<pcg::ParallelShape> result_shapes(const pcg::Pcg& g);

}  // namespace rules::rewriting
