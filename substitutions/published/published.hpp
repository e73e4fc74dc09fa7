#pragma once
// The rule files of TASO and FlexFlow (JSON): what they say, and what each rule is worth: implied by the axioms, refuted, or open.
//
// Their tensors are [replica, rows, columns] with a degree for each dim; one replica dim stands for copies, for partial sums, or for a
// stack of unlike slices. A rule is implied if under one of these readings, the same throughout the rule, both sides are well typed here,
// have equal layouts, and the axioms prove them equal.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "substitutions/proof/prove.hpp"

namespace substitutions {

enum class PublishedKind : std::uint8_t { partition, combine, replicate, reduce, linear, relu, add, multiply, concat, split };
struct PublishedRef {
  int op = 0;  // of the same side; negative: a variable, -1 -2 -3 activations, -4 -5 -6 weights
  int output = 0;
  auto operator<=>(const PublishedRef&) const = default;
};
struct PublishedOp {
  PublishedKind kind = PublishedKind::relu;
  int dim = 0;           // of concat, split and the parallel ones
  std::string function;  // of linear: "none", "sigmoid", "relu", "tanh"
  std::vector<PublishedRef> inputs;
};
using PublishedSide = std::vector<PublishedOp>;
struct PublishedRule {
  std::string name;
  PublishedSide source, target;
  std::vector<std::pair<PublishedRef, PublishedRef>> outputs;  // of the source, of the target
};

// Throws: base::InputError with every problem found.
[[nodiscard]] std::vector<PublishedRule> read_published(const std::filesystem::path& file);

// A rule in our language, or why not. Readings come with the plainest variables first.
[[nodiscard]] std::vector<TypedEquation> readings(const PublishedRule& r);

// Where the sides differ in the semantics that the published file follows (each Replicate repeats slices side by side, Reduce adds
// neighbours, Linear reads the first replica and leaves the products of column blocks as replicas), at sizes where tensors have several
// rows; or a variable of one side alone on which that side depends, once Linear reads all replicas.
[[nodiscard]] std::optional<Counterexample> refute(const PublishedRule& r);

struct Compared {
  Verdict verdict = Verdict::open;  // proved: implied
  std::vector<std::string> axioms;  // implied
  std::string why;                  // refuted: the counterexample; open: the reason
};
[[nodiscard]] Compared compare(const PublishedRule& r, Prover& prover);

}  // namespace substitutions
