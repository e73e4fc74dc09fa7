#pragma once
// One occurrence of a rule's source in a parallel computation graph.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "pcg/graph/pcg.hpp"
#include "search/rules/language/rule.hpp"
#include "search/rules/language/symbols.hpp"

namespace rules {

struct SizeText {       // a sum of letters, or a number
  std::string letters;  // "cmm"; empty: a number
  std::int64_t number = 0;
};
[[nodiscard]] SizeText size_text(const Numbers& n);

// The outcome of a size that was held against its letters.
enum class Learnt {
  agrees,     // all letters are known now, and add up to it
  disagrees,  // no size of the letters makes it
  open,       // two letters or more are not known yet: another size may identify one of them
};
// Holds a size of the graph against a sum of letters, and sets the one letter that is not known.
[[nodiscard]] Learnt learn(LetterSizes& sizes, const SizeText& text, std::int64_t size);

// A rule's concat has two inputs, a graph's may have more: the rule's is then the concat of two neighbours, which the others surround, or
// of all, cut in two anywhere. Its parts are the inputs [begin, cut) and [cut, end); the rule's variable stands for a part of several
// inputs though no node makes that tensor. As concats are associative, each such concat could be in the graph. The result of a rewrite
// is put back into one form: a concat whose only reader is a concat along the same axis becomes part of that.
struct ConcatAsTwo {
  std::size_t at = 0;  // which of Match::nodes
  std::uint32_t begin = 0, cut = 0, end = 0;
  auto operator<=>(const ConcatAsTwo&) const = default;
};

// An occurrence of a rule's source. A tensor has more dims than a rule's matrices where it has more than one kind of row (batch,
// sequence): a rule's dim 0 is then one of them, its last dims are the last ones, and what lies between rides along. Equal letters of the
// rule are equal sizes of the graph. Attributes that no rule distinguishes are free: window, stride and padding of convolutions and pools
// (all those of one kind in a rule have the same; a kernel of 3 x 3 stands for any, a smaller one for itself with stride 1 and the padding
// that keeps the size), heads of attention, and how many share keys (all those of a rule are alike). Never matched:
// kinds that the rule language has not, products with a transposed factor, attention with a bias or unpacked, softmax along another dim
// than the last, and binary operators that broadcast. A scaling's number is the node's factor.
struct Match {
  std::size_t rule = 0;                   // index into the rules given
  std::vector<pcg::NodeId> nodes;         // of the graph, one per operator of the source, in its order; halves of a split share one
  std::vector<pcg::TensorRef> variables;  // one per variable; of a number: an output of a scaling by it; of a part of a concat:
                                          // the first of its tensors. Unused ones: {0, 0}
  int row = 0;                            // the dim that a matrix's dim 0 stands for
  std::vector<ConcatAsTwo> views;         // of concats that have more than two inputs, in order; no two of one concat
  std::array<int, 2> degrees{};           // of d and e as the source binds them; 0: free, the caller chooses
  LetterSizes sizes{};                    // of the rule's letters; 0: only the target has it (where to split), and the caller chooses
  auto operator<=>(const Match&) const = default;
};

}  // namespace rules
