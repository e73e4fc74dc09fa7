#include "search/planners/unity/variants.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "pcg/graph/pcg.hpp"

namespace search {
namespace {

// Nodes of a PCG without parallelism are those of its graph.
std::optional<rules::Matcher> matcher_on(const pcg::Graph& graph, std::span<const rules::Rule> rules) {
  if (rules.empty()) return std::nullopt;
  return rules::Matcher(rules, pcg::parallelize(graph, pcg::unsharded(graph)));
}

// Per node: the occurrences of rules that a cut after it would part. The last operator of a segment stays, so that a cut after an
// operator that is taken apart is in the way, too.
std::vector<std::size_t> occurrences_parted(const pcg::Graph& graph, std::span<const rules::Rule> rules,
                                            const std::optional<rules::Matcher>& matcher) {
  std::vector<std::size_t> parted(graph.nodes().size(), 0);
  if (!matcher) return parted;
  for (const rules::Match& m : matcher->matches()) {
    const auto [first, last] = std::ranges::minmax(m.nodes, {}, &pcg::NodeId::value);
    const std::uint32_t end = takes_apart(rules[m.rule]) ? last.value + 1 : last.value;
    for (std::uint32_t n = first.value; n < end; ++n) ++parted[n];
  }
  return parted;
}

}  // namespace

RewrittenModel::RewrittenModel(const pcg::Graph& graph, std::size_t fewest, std::span<const rules::Rule> rules, OperatorCatalog& catalog,
                               BranchShapes& shapes)
    : graph_(graph),
      rules_(rules),
      matcher_(matcher_on(graph, rules)),
      catalog_(catalog),
      shapes_(shapes),
      kinds_(catalog.kinds_of(graph)),
      segments_(segments_of(graph, fewest, occurrences_parted(graph, rules, matcher_))) {
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    segment_graphs_.push_back(segment_graph(graph_, segments_[s]));
    std::size_t like = 0;
    while (!is_like(like, s)) ++like;
    example_.push_back(like);
  }
}

// Whether what is found for one segment holds for another.
bool RewrittenModel::is_like(std::size_t a, std::size_t b) const {
  if (a == b) return true;
  const Segment &s = segments_[a], &t = segments_[b];
  return example_[a] == a && alike(segment_graphs_[a], segment_graphs_[b]) &&
         (!s.first || (kinds_[*s.first] == kinds_[*t.first] && with_gradient(*s.first) == with_gradient(*t.first)));
}

bool RewrittenModel::with_gradient(std::uint32_t node) const {
  const OperatorKind& kind = catalog_.kind(kinds_[node]);
  return std::ranges::find(kind.has_gradient, true) != kind.has_gradient.end();
}

void RewrittenModel::rewrite(const VariantsConfig& config, const Estimate& estimate, Budget& budget) {
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    if (example_[s] != s) continue;
    const std::optional<std::uint32_t> first = segments_[s].first;
    Variants found = variants_of(segment_graphs_[s], first ? std::optional(kinds_[*first]) : std::nullopt, first && with_gradient(*first),
                                 catalog_, shapes_, rules_, matcher_ ? &*matcher_ : nullptr, config, estimate, budget);
    evaluated_ += found.evaluated;
    variants_[s] = std::move(found.variants);
  }
}

Joined RewrittenModel::with(const std::vector<std::size_t>& variant) const {
  std::vector<Piece> pieces;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    const SegmentGraph& example = segment_graphs_[example_[s]];
    pieces.push_back({&variants(s)[variant[s]].graph, example.first ? std::optional(example.graph.node(*example.first).name) : std::nullopt,
                      &example, &segment_graphs_[s]});
  }
  return joined(graph_, pieces);
}

void RewrittenModel::add_rewrites(const std::vector<std::size_t>& variant, const pcg::Graph& with, pcg::Plan& plan) const {
  if (!std::ranges::equal(pcg::serial(plan.pcg).nodes(), with.nodes())) return;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    double before = variants(s)[0].seconds;
    for (const RuleApplied& r : variants(s)[variant[s]].rules) {
      plan.rewrites.push_back({r.rule, graph_.nodes()[segments_[s].last].name, base::Seconds(before), base::Seconds(r.seconds)});
      before = r.seconds;
    }
  }
  if (!plan.rewrites.empty()) plan.summary += fmt::format("; {} rewrite{}", plan.rewrites.size(), plan.rewrites.size() == 1 ? "" : "s");
}

}  // namespace search
