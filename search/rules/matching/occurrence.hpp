#pragma once
// The search for one rule's occurrences around one node of a graph. Private to the matcher.

#include <optional>
#include <span>
#include <vector>

#include "search/rules/matching/match.hpp"
#include "search/rules/matching/pattern.hpp"

namespace rules {

// Appends to `found` each occurrence of the pattern in which operator `anchor` is node `at`, as a match of `rule`. Rejects those that
// have a node for which `excluded` is not 0 (by node; may be empty).
class OccurrenceSearch {
 public:
  OccurrenceSearch(const GraphIndex& graph, std::vector<Match>& found) : graph_(graph), found_(found) {}
  void run(const Pattern& p, std::size_t rule, std::uint8_t anchor, std::uint32_t at, std::span<const std::uint8_t> excluded);

 private:
  static constexpr std::uint32_t kUnbound = 0xffffffff;
  struct State {
    std::array<std::uint32_t, kMostOperators> nodes;
    std::array<TensorId, kMostVariables> variables;
    std::array<bool, kMostOperators> swapped{};
    int row = -1;     // not known
    int excess = -1;  // dims beyond the rule's rank, of tensors that have any; not known
  };

  void bind(std::uint8_t o, std::uint32_t node, std::size_t step, const State& s);
  void bind_as(std::uint8_t o, std::uint32_t node, bool swapped, std::size_t step, State s);
  void take(std::size_t step, const State& s);
  [[nodiscard]] bool bind_slot(const PatternOperator& op, std::uint8_t i, TensorId tensor, State& s) const;
  [[nodiscard]] bool bind_axis(const PatternOperator& op, const NodeFacts& f, State& s) const;
  [[nodiscard]] static bool bind_rank(int rule_rank, int rank, State& s);
  [[nodiscard]] TensorId output_of(const PatternOperator& op, std::uint32_t node) const {
    return graph_.output(node, op.output_of(graph_.node(node)));
  }
  void finish(const State& s);
  [[nodiscard]] pcg::TensorRef ref(TensorId t) const;
  [[nodiscard]] ConcatAsTwo taken(std::size_t o, const ConcatView& v, Match& m) const;
  [[nodiscard]] bool is_closed(const State& s) const;
  [[nodiscard]] std::size_t reads_inside(const State& s, TensorId t) const;
  [[nodiscard]] bool windows_agree(const State& s) const;
  [[nodiscard]] bool attentions_agree(const State& s) const;
  [[nodiscard]] bool scalars_agree(const State& s) const;
  // Nullopt: sizes of the graph disagree with the rule's, or leave a letter open.
  [[nodiscard]] std::optional<LetterSizes> letter_sizes(const State& s) const;
  [[nodiscard]] Learnt learn_dims(const State& s, bool grouped, LetterSizes& sizes) const;
  [[nodiscard]] Learnt learn_cuts(const State& s, LetterSizes& sizes) const;
  [[nodiscard]] LetterSizes with_row(const State& s, std::size_t row, LetterSizes sizes) const;
  [[nodiscard]] bool is_grouped(const State& s) const;
  [[nodiscard]] int rows(const State& s) const;

  const GraphIndex& graph_;
  std::vector<Match>& found_;
  const Pattern* p_ = nullptr;
  const std::vector<Step>* path_ = nullptr;
  std::size_t rule_ = 0;
  std::span<const std::uint8_t> excluded_;
};

}  // namespace rules
