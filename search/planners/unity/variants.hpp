#pragma once
// Rewrites of a segment: best-first search over algebraic substitutions (Unity, OSDI'22, section 5.1).

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/planners/unity/segment_graph.hpp"
#include "search/problem/budget.hpp"
#include "search/rules/matching/matcher.hpp"
#include "search/solve/mapping/mapping.hpp"

namespace search {

// A rule that was applied, and the seconds of the segment behind it: sums of estimates.
struct RuleApplied {
  std::string rule;
  double seconds = 0;
};

struct Variant {
  pcg::Graph graph;                // with weights as they are stored
  Segment segment;                 // its operators; `first` is the input that stands for it
  std::vector<KindNumber> kinds;   // per node; of `first` that of the operator it stands for
  std::vector<RuleApplied> rules;  // in order
  double seconds = 0;              // the sum of the estimates of its operators
  bool is_apart = false;           // what was joined for an operator is computed with in parts: it is kept whatever its seconds
  Mapping::Part part;
};

struct VariantsConfig {
  double threshold = 1.05;   // graphs that cost more than so many times the best are not rewritten further
  std::size_t graphs = 200;  // rewritten ones of a segment that are looked at, at most
  std::size_t kept = 6;      // variants of a segment that are mapped
};

// Seconds of an operator of a kind, in whatever way a graph is judged by.
using Estimate = std::function<double(KindNumber)>;

struct Variants {
  std::vector<Variant> variants;  // the segment itself first, then rewritten ones, the quickest first
  std::size_t looked_at = 0;      // rewritten graphs
};

// Whether a rule computes with the parts of what is joined in its source.
[[nodiscard]] bool takes_apart(const rules::Rule& rule);

// The one with the least seconds.
[[nodiscard]] std::size_t quickest(const std::vector<Variant>& variants);

// Returns the variants of a segment. `first_kind`: of the operator that ends the segment before, where there is one; `has_gradient`: of the
// tensor that comes from it. Rewrites keep the last operator, so that segments stay apart, and train the model's own weights: rules that
// would compute with weights alone, other than join and cut what no other segment reads, are not applied. One variant has all joined
// tensors taken apart that rules take apart: a concat bars cuts, which costs nothing until the graph is mapped. Two graphs count as one
// where kinds of operators and edges are equal. `matcher`: of the rules, on any graph; null: there are none. Each rule that is applied is a
// candidate of the budget.
[[nodiscard]] Variants variants_of(const SegmentGraph& segment, std::optional<KindNumber> first_kind, bool has_gradient,
                                   OperatorCatalog& catalog, BranchShapes& shapes, std::span<const rules::Rule> rules,
                                   rules::Matcher* matcher, const VariantsConfig& config, const Estimate& estimate, Budget& budget);

}  // namespace search
