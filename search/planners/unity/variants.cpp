#include "search/planners/unity/variants.hpp"

#include <algorithm>
#include <memory>
#include <queue>
#include <set>

#include "pcg/graph/pcg.hpp"
#include "pcg/graph/stored_weights.hpp"
#include "search/rules/rewriting/apply.hpp"

namespace search {
namespace {

class VariantMaker {
 public:
  VariantMaker(const SegmentGraph& segment, std::optional<KindNumber> first_kind, bool has_gradient, OperatorCatalog& catalog,
               const Estimate& estimate)
      : segment_(segment), first_kind_(first_kind), has_gradient_(has_gradient), catalog_(catalog), estimate_(estimate) {}

  // The segment as it is: all others end as it does.
  Variant itself() {
    Variant v = *variant(segment_.graph);
    last_kind_ = v.kinds[v.segment.last];
    return v;
  }
  // Returns: the variant and its seconds; nullopt: it would not train the model's weights, or would end otherwise.
  std::optional<Variant> variant(pcg::Graph graph) {
    if (pcg::operators_on_weights(graph) > pcg::operators_on_weights(segment_.graph) || stores_apart(graph)) return std::nullopt;
    Variant v;
    std::vector<pcg::GraphNodeId> with_gradient;
    if (segment_.first) {
      const std::string& name = segment_.graph.node(*segment_.first).name;
      const auto first = std::ranges::find(graph.nodes(), name, &pcg::GraphNode::name);
      if (first == graph.nodes().end() || !is_source(*first)) return std::nullopt;
      v.segment.first = static_cast<std::uint32_t>(first - graph.nodes().begin());
      if (has_gradient_) with_gradient.emplace_back(*v.segment.first);
    }
    v.kinds = catalog_.kinds_of(graph, with_gradient);
    for (std::uint32_t n = 0; n < v.kinds.size(); ++n)
      if (v.kinds[n] != kSource) v.segment.operators.push_back(n);
    if (v.segment.operators.empty() || graph.results().size() != segment_.graph.results().size()) return std::nullopt;
    v.segment.last = v.segment.operators.back();
    if (last_kind_ && v.kinds[v.segment.last] != *last_kind_) return std::nullopt;
    if (v.segment.first) v.kinds[*v.segment.first] = *first_kind_;
    v.graph = std::move(graph);
    for (const std::uint32_t n : v.segment.operators) v.seconds += estimate_(v.kinds[n]);
    return v;
  }

 private:
  // Whether it would store in another way what other segments read, too.
  [[nodiscard]] bool stores_apart(const pcg::Graph& graph) const {
    const std::span<const pcg::GraphNode> before = segment_.graph.nodes();
    for (const pcg::GraphNode& n : graph.nodes())
      if (const auto* weight = std::get_if<pcg::Weight>(&n.op))
        for (const pcg::WeightPart& p : weight->parts) {
          const auto of = std::ranges::find(before, p.of, &pcg::GraphNode::name);
          if (of != before.end() && segment_.is_shared[static_cast<std::size_t>(of - before.begin())]) return true;
        }
    return false;
  }

  const SegmentGraph& segment_;
  std::optional<KindNumber> first_kind_, last_kind_;
  bool has_gradient_;
  OperatorCatalog& catalog_;
  const Estimate& estimate_;
};

// Kinds and edges, in the order of the graph.
std::vector<std::uint64_t> key(const Variant& v) {
  std::vector<std::uint64_t> k;
  for (std::uint32_t n = 0; n < v.kinds.size(); ++n) {
    k.push_back(v.kinds[n]);
    for (const pcg::GraphTensorRef t : v.graph.nodes()[n].inputs)
      k.push_back((static_cast<std::uint64_t>(t.node.value) << 8U) | static_cast<std::uint64_t>(t.output));
  }
  return k;
}

class Rewriting {
 public:
  Rewriting(const SegmentGraph& segment, VariantMaker maker, std::span<const rules::Rule> rules, rules::Matcher* matcher,
            const VariantsConfig& config)
      : segment_(segment), maker_(maker), rules_(rules), matcher_(matcher), config_(config) {}

  // Variants without their parts.
  Variants run(Budget& budget) {
    found_.push_back(maker_.itself());
    seen_.insert(key(found_.front()));
    double best = found_.front().seconds;
    pcg::Pcg start = pcg::parallelize(segment_.graph, pcg::unsharded(segment_.graph));
    take_apart(start, best, budget);
    push(std::move(start), 0);
    while (!queue_.empty() && evaluated_ < config_.graphs && !budget.is_spent()) {
      const Open open = queue_.top();
      queue_.pop();
      if (open.seconds > config_.threshold * best) break;
      expand(open, best, budget);
    }
    return result();
  }

 private:
  struct Open {
    double seconds = 0;
    std::size_t number = 0;  // of `found_`
    std::shared_ptr<const pcg::Pcg> graph;
    bool operator<(const Open& o) const { return seconds != o.seconds ? seconds > o.seconds : number > o.number; }
  };

  void push(pcg::Pcg graph, std::size_t number) {
    queue_.push({found_[number].seconds, number, std::make_shared<const pcg::Pcg>(std::move(graph))});
  }

  // A tensor that is joined along a dim cannot be cut there, so that what was computed in parts has to move. Rules that compute with the
  // parts instead take one part away at a time, and nothing is gained before the last: they are applied as often as they go, and the graph
  // is kept whatever its operators cost by themselves.
  void take_apart(const pcg::Pcg& start, double& best, const Budget& budget) {
    if (matcher_ == nullptr) return;
    std::vector<RuleApplied> rules;
    std::optional<pcg::Pcg> apart;
    std::optional<Variant> v;
    while (!budget.time_is_up()) {
      const pcg::Pcg& from = apart ? *apart : start;
      matcher_->restart(from);
      std::optional<rules::Rewritten> next;
      for (const rules::Match& match : matcher_->matches()) {
        if (!takes_apart(rules_[match.rule]) || !takes_first_part(match)) continue;
        base::Attempt<rules::Rewritten> rewritten = rules::apply(rules_[match.rule], match, from, {});
        if (!rewritten) continue;
        rules.push_back({rules_[match.rule].name, rules.empty() ? found_.front().seconds : rules.back().seconds});
        next = std::move(*rewritten);
        break;
      }
      if (!next) break;
      apart = std::move(next->graph);
      v = maker_.variant(pcg::with_stored_weights(pcg::serial(*apart)));
      if (v) rules.back().seconds = v->seconds;
    }
    if (!v || !seen_.insert(key(*v)).second) return;
    ++evaluated_;
    v->rules = std::move(rules);
    best = std::min(best, v->seconds);
    v->is_apart = true;
    found_.push_back(std::move(*v));
    push(std::move(*apart), found_.size() - 1);
  }

  // The match takes the first part of a concat of many tensors; the others are taken apart next.
  static bool takes_first_part(const rules::Match& m) {
    return std::ranges::all_of(m.views, [](const rules::ConcatAsTwo& c) { return c.begin == 0 && c.cut == 1; });
  }

  void expand(const Open& open, double& best, Budget& budget) {
    if (matcher_ == nullptr) return;
    matcher_->restart(*open.graph);
    for (const rules::Match& match : matcher_->matches()) {
      if (evaluated_ >= config_.graphs || !budget.take()) return;
      const rules::Rule& rule = rules_[match.rule];
      base::Attempt<rules::Rewritten> rewritten = rules::apply(rule, match, *open.graph, {});
      if (!rewritten) continue;
      std::optional<Variant> v = maker_.variant(pcg::with_stored_weights(pcg::serial(rewritten->graph)));
      if (!v || !seen_.insert(key(*v)).second) continue;
      ++evaluated_;
      v->rules = found_[open.number].rules;
      v->rules.push_back({rule.name, v->seconds});
      if (v->seconds > config_.threshold * best) continue;
      best = std::min(best, v->seconds);
      found_.push_back(std::move(*v));
      push(std::move(rewritten->graph), found_.size() - 1);
    }
  }

  Variants result() {
    Variants r{{}, evaluated_};
    std::stable_sort(found_.begin() + 1, found_.end(), [](const Variant& a, const Variant& b) { return a.seconds < b.seconds; });
    for (std::size_t i = 0; i < found_.size(); ++i)
      if (i <= config_.kept || found_[i].is_apart) r.variants.push_back(std::move(found_[i]));
    return r;
  }

  const SegmentGraph& segment_;
  VariantMaker maker_;
  std::span<const rules::Rule> rules_;
  rules::Matcher* matcher_;
  VariantsConfig config_;
  std::vector<Variant> found_;
  std::priority_queue<Open> queue_;
  std::set<std::vector<std::uint64_t>> seen_;
  std::size_t evaluated_ = 0;
};

}  // namespace

bool takes_apart(const rules::Rule& rule) {
  const auto joins = [](const rules::Node& n) { return n.kind == rules::Kind::concat; };
  return std::ranges::any_of(rule.source().nodes, joins) && std::ranges::none_of(rule.target().nodes, joins);
}

std::size_t quickest(const std::vector<Variant>& variants) {
  return static_cast<std::size_t>(std::ranges::min_element(variants, {}, &Variant::seconds) - variants.begin());
}

Variants variants_of(const SegmentGraph& segment, std::optional<KindNumber> first_kind, bool has_gradient, OperatorCatalog& catalog,
                     BranchShapes& shapes, std::span<const rules::Rule> rules, rules::Matcher* matcher, const VariantsConfig& config,
                     const Estimate& estimate, Budget& budget) {
  Variants found = Rewriting(segment, {segment, first_kind, has_gradient, catalog, estimate}, rules, matcher, config).run(budget);
  for (Variant& v : found.variants) v.part = part_of(v.graph, v.segment, v.kinds, catalog, shapes);
  return found;
}

}  // namespace search
