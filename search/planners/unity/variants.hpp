#pragma once
// A segment as a graph of its own, which rules rewrite, and a graph made of segments again.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/plan/plan.hpp"
#include "search/problem/budget.hpp"
#include "search/rules/matching/matcher.hpp"
#include "search/solve/mapping/mapping.hpp"
#include "search/solve/mapping/segments.hpp"

namespace search {

struct SegmentGraph {
  pcg::Graph graph;                       // with sources of its own, of the same names
  std::optional<pcg::GraphNodeId> first;  // the input in place of the end of the segment before; of its name
  std::optional<KindNumber> first_kind;   // of the operator that ends the segment before
  std::vector<int> blocks;                // of the whole graph, by block of this one
  std::vector<bool> is_shared;            // per node: a source that operators outside the segment read, too
};

// A graph made of segments, each in one of its variants, and its nodes by those that they were there.
struct Joined {
  pcg::Graph graph;
  std::vector<std::vector<std::uint32_t>> node;  // [segment][node of its variant]; sources that segments share are one node
};

// A rule that was applied, and the seconds of the segment after it: sums of estimates.
struct RuleApplied {
  std::string rule;
  double seconds = 0;
};

struct Variant {
  pcg::Graph graph;                // with weights as they are stored
  Segment segment;                 // its operators; `first` is the input in its place
  std::vector<KindNumber> kinds;   // per node; of `first` that of the operator whose place it takes
  std::vector<RuleApplied> rules;  // in order
  double seconds = 0;              // the sum of the estimates of its operators
  bool is_apart = false;           // what was joined for an operator is computed with in parts: it is kept whatever its seconds
  Mapping::Part part;
};

struct VariantsConfig {
  double threshold = 1.05;   // graphs that cost more than this times the best are not rewritten further
  std::size_t graphs = 200;  // rewritten ones of a segment that are evaluated, at most
  std::size_t kept = 6;      // variants of a segment that are mapped
};

// Seconds of an operator of a kind, by any measure that judges graphs.
using Estimate = std::function<double(KindNumber)>;

// A model in segments, with what rules make of each: what sequential and joint optimisation choose from.
class RewrittenModel {
 public:
  // `graph` is a micro-batch, which is the whole batch, in segments of at least `fewest` operators, cut where the fewest occurrences of
  // rules are cut too. All outlive the object.
  RewrittenModel(const pcg::Graph& graph, std::size_t fewest, std::span<const rules::Rule> rules, OperatorCatalog& catalog,
                 BranchShapes& shapes);

  // Finds variants of every segment, of equal ones once. Rewrites keep the last operator, so that segments stay apart, and train the
  // model's own weights: rules that would compute with weights alone, other than join and cut what no other segment reads, are not applied.
  // One variant has all joined tensors taken apart that rules take apart: a concat bars cuts, which costs nothing until the graph is
  // mapped. Each rule that is applied is a candidate of the budget. Called once, before the functions below.
  void rewrite(const VariantsConfig& config, const Estimate& estimate, Budget& budget);

  [[nodiscard]] std::size_t segments() const { return segments_.size(); }
  [[nodiscard]] std::size_t unlike_segments() const { return variants_.size(); }
  [[nodiscard]] std::size_t evaluated() const { return evaluated_; }  // rewritten graphs
  // The segment itself first, then rewritten ones, the quickest first.
  [[nodiscard]] const std::vector<Variant>& variants(std::size_t segment) const { return variants_.at(example_[segment]); }
  // Of each segment the variant that takes least.
  [[nodiscard]] std::vector<std::size_t> quickest(const std::function<double(const Variant&)>& seconds = &Variant::seconds) const;
  // The whole graph, with these variants of its segments. Keeps the names of its nodes where they are still there.
  [[nodiscard]] Joined with(const std::vector<std::size_t>& variant) const;
  // Says in a plan of that graph what was done to the model, segment by segment, and in its summary how much. A plan of another graph, as
  // data parallelism of the model that a search compared with, stays as it is.
  void add_rewrites(const std::vector<std::size_t>& variant, const pcg::Graph& with, pcg::Plan& plan) const;

 private:
  const pcg::Graph& graph_;
  std::span<const rules::Rule> rules_;
  rules::Matcher matcher_;  // of the rules, which are compiled once
  OperatorCatalog& catalog_;
  BranchShapes& shapes_;
  std::vector<Segment> segments_;
  std::deque<SegmentGraph> segment_graphs_;
  std::vector<std::size_t> example_;                      // per segment: the first one like it
  std::map<std::size_t, std::vector<Variant>> variants_;  // by example
  std::size_t evaluated_ = 0;
};

}  // namespace search
