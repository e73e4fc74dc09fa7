#pragma once
// A model in segments, with what rules make of each: what sequential and joint optimisation choose from.

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "search/planners/unity/segment_graph.hpp"
#include "search/planners/unity/variants.hpp"
#include "search/solve/mapping/segments.hpp"

namespace search {

class RewrittenModel {
 public:
  // `graph` is a micro-batch, which is the whole batch, in segments of at least so many operators, cut where the fewest occurrences of
  // rules are cut too. All outlive the object.
  RewrittenModel(const pcg::Graph& graph, std::size_t fewest, std::span<const rules::Rule> rules, OperatorCatalog& catalog,
                 BranchShapes& shapes);

  // Looks for variants of every segment, of those that are alike once. To be called once, before what follows.
  void rewrite(const VariantsConfig& config, const Estimate& estimate, Budget& budget);

  [[nodiscard]] std::size_t segments() const { return segments_.size(); }
  [[nodiscard]] std::size_t unlike_segments() const { return variants_.size(); }
  [[nodiscard]] std::size_t looked_at() const { return looked_at_; }  // rewritten graphs
  // The segment itself is the first of its variants.
  [[nodiscard]] const std::vector<Variant>& variants(std::size_t segment) const { return variants_.at(example_[segment]); }
  // The whole graph, with these variants of its segments.
  [[nodiscard]] Joined with(const std::vector<std::size_t>& variant) const;
  // Says in a plan of that graph what was done to the model, segment by segment, and in its summary how much. A plan of another graph, as
  // data parallelism of the model that a search compared with, stays as it is.
  void add_rewrites(const std::vector<std::size_t>& variant, const pcg::Graph& with, pcg::Plan& plan) const;

 private:
  [[nodiscard]] bool is_like(std::size_t a, std::size_t b) const;
  [[nodiscard]] bool with_gradient(std::uint32_t node) const;

  const pcg::Graph& graph_;
  std::span<const rules::Rule> rules_;
  std::optional<rules::Matcher> matcher_;  // where there are rules: they are compiled once
  OperatorCatalog& catalog_;
  BranchShapes& shapes_;
  std::vector<KindNumber> kinds_;
  std::vector<Segment> segments_;
  std::deque<SegmentGraph> segment_graphs_;
  std::vector<std::size_t> example_;                      // per segment: the first one like it
  std::map<std::size_t, std::vector<Variant>> variants_;  // by example
  std::size_t looked_at_ = 0;
};

}  // namespace search
