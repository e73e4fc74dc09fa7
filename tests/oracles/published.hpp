#pragma once
// An oracle beside our rules: those that TASO and FlexFlow publish, and which of them ours imply.
//
// A tensor of such a rule is [replica, rows, columns] with a degree for each dim. One replica dim stands for copies, for partial sums, or
// for a stack of unlike slices; the file does not say which.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "search/rules/language/kind.hpp"
#include "search/rules/language/rule.hpp"
#include "search/rules/proof/prove.hpp"

namespace rules {

enum class PublishedKind : std::uint8_t { partition, combine, replicate, reduce, linear, relu, add, multiply, concat, split };
struct PublishedRef {
  int op = 0;  // of the same side; negative: a variable, -1 -2 -3 activations, -4 -5 -6 weights
  int output = 0;
  auto operator<=>(const PublishedRef&) const = default;
};
struct PublishedOp {
  PublishedKind kind = PublishedKind::relu;
  int dim = 0;                         // of concat, split and the parallel ones
  Function function = Function::none;  // of linear
  std::vector<PublishedRef> inputs;
};
using PublishedSide = std::vector<PublishedOp>;
struct PublishedRule {
  std::string name;
  PublishedSide source, target;
  std::vector<std::pair<PublishedRef, PublishedRef>> outputs;  // of the source, of the target
};

// Returns: the rules of a JSON file. Throws: base::InputError with the first hundred problems.
[[nodiscard]] std::vector<PublishedRule> read_published(const std::filesystem::path& file);

// Returns: the equations that the rule may be, one for each interpretation of the replica dim (the same throughout the rule) under which
// both sides are well typed and have equal layouts. The variables of each have the plainest such layouts; at most three are laid out at
// once.
[[nodiscard]] std::vector<TypedEquation> interpretations(const PublishedRule& r);

// Evaluates a rule as its own file has it: each Replicate repeats slices side by side, Reduce adds neighbours, Linear reads the first
// replica and leaves the products of column blocks as replicas.
// Returns: sizes at which tensors have several rows and the sides differ; or a variable on which a mapped output depends on one side, once
// Linear reads all replicas, while nothing behind that output on the other side is that variable. Nullopt: neither was found.
[[nodiscard]] std::optional<std::string> refute(const PublishedRule& r);

struct Compared {
  Verdict verdict = Verdict::open;  // proved: implied by the axioms
  std::vector<std::string> axioms;  // implied
  std::string why;                  // refuted: the counterexample; open: the reason
};
// Returns: `proved` where the axioms prove one of the rule's interpretations, `refuted` where the rule is false as its own file has it.
[[nodiscard]] Compared compare(const PublishedRule& r, Prover& prover);

}  // namespace rules
