#pragma once
// A rule made ready for matching and rewriting: its source's operators with their edges, a path through them from each operator, and the
// sizes and degrees that must agree. Private to the matcher.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/attempt.hpp"
#include "search/rules/language/rule.hpp"
#include "search/rules/matching/graph_index.hpp"
#include "search/rules/matching/match.hpp"

namespace rules {

inline constexpr std::size_t kMostOperators = 8;   // of a source
inline constexpr std::size_t kMostVariables = 12;  // of a rule

// An input of an operator of the source: another operator's output, or a variable.
struct Slot {
  bool variable = false;
  std::uint8_t index = 0;  // of the operator or of the variable
};

struct PatternOperator {
  Kind kind = Kind::variable;
  Code code = kNoCode, other_code = kNoCode;  // a half of a split alone may be a slice, too
  std::array<Slot, kMostInputs> slots{};
  std::uint8_t slot_count = 0;  // inputs that are tensors
  int scalar = -1;              // the variable that a scaling multiplies by
  bool commutative = false;
  int output = 0;  // of its node; 1: the second half of a split
  int half = -1;   // the operator that is the other half of the same split
  std::uint8_t axis = 0;
  std::uint8_t rank = 0;    // of its first input
  bool any_window = false;  // of a convolution or a pool: window and stride are the matched one's
  Window window{};          // otherwise this
  bool is_output = false;   // others may read it, too

  [[nodiscard]] bool accepts(Code c) const { return c == code || (c == other_code && c != kNoCode); }
  [[nodiscard]] int output_of(const NodeFacts& f) const { return f.code == code ? output : 0; }
};

// One step of a path: an operator is bound through one that is bound already.
struct Step {
  enum class By : std::uint8_t { producer, reader, shared };  // it makes what `from` reads; it reads what `from` makes, or a variable
  By by = By::producer;
  std::uint8_t to = 0;
  std::uint8_t from = 0;  // operator, or, for `shared`, variable
  std::uint8_t slot = 0;  // of the reader
};

struct PatternVariable {
  std::uint8_t rank = 0;
  bool index = false;
  bool kernel = false;  // of a convolution of any window: its rows and columns are not the rule's
  bool packed = false;  // queries, keys and values: where heads share keys, their width is not the rule's
  std::array<SizeText, kMostRank> sizes;
};

struct Pattern {
  std::vector<PatternOperator> operators;  // of the source, in its order
  std::vector<PatternVariable> variables;
  std::vector<std::vector<Step>> paths;  // from each operator through all others
  std::vector<SizeText> split_at;        // by operator
  std::vector<Degree> degrees;           // by operator; of layout operators
  bool any_heads = true;                 // no other size has to do with that of packed variables
  bool exact_rank = false;               // of a rule that sums a dim away: what rides along would be another dim after it
  std::vector<std::uint8_t> row_choice;  // variables whose dim 0 the target cuts, joins or splits
};

// Returns: the pattern, or why the rule never applies to a PCG: constants, arithmetic of numbers or enlarged kernels in it, a sum to a
// single number, a dropout that only one side has, sizes that the source leaves open, an output that is a variable, a source that does not
// hang together, or one that is too large.
[[nodiscard]] base::Attempt<Pattern> compile(const Rule& rule);

// The degree of a layout operator where it is matched.
struct DegreeEquation {
  Degree symbols;
  int value = 1;
};
// Returns: d and e from the degrees that a source has where it is matched; 0: not determined. Nullopt: they contradict each other.
[[nodiscard]] std::optional<std::array<int, 2>> solve(std::span<const DegreeEquation> equations);
// Returns: d^a e^b 2^c; nullopt: it is beyond the degrees that a PCG may have.
[[nodiscard]] std::optional<int> degree_at(Degree symbols, const std::array<int, 2>& degrees);

// Returns: the occurrences of a pattern's source in a graph, as matches of `rule`, ordered by nodes, variables, row and views.
[[nodiscard]] std::vector<Match> occurrences(const GraphIndex& graph, const Pattern& pattern, std::size_t rule);

}  // namespace rules
