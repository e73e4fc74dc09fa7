#include "search/unity/variants.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <queue>
#include <set>

#include "pcg/graph/stored_weights.hpp"
#include "pcg/graph/parallelize.hpp"
#include "pcg/graph/serial.hpp"
#include "substitutions/rewriting/apply.hpp"

namespace search {
namespace {

class Rewriting {
 public:
  Rewriting(const SegmentGraph& segment, std::optional<KindNumber> first_kind, bool has_gradient, OperatorCatalog& catalog,
            BranchShapes& shapes, std::span<const substitutions::Rule> rules, substitutions::Matcher* matcher, const VariantsConfig& config,
            const Estimate& estimate)
      : segment_(segment),
        first_kind_(first_kind),
        has_gradient_(has_gradient),
        catalog_(catalog),
        shapes_(shapes),
        rules_(rules),
        matcher_(matcher),
        config_(config),
        estimate_(estimate) {}

  Variants run(const Deadline& deadline) {
    std::optional<Variant> itself = variant(segment_.graph, {});
    last_kind_ = itself->kinds[itself->segment.last];
    seen_.insert(key(*itself));
    add_up(*itself);
    double best = itself->seconds;
    found_.push_back(std::move(*itself));
    push(pcg::parallelize(segment_.graph, pcg::unsharded(segment_.graph)), 0);
    while (!queue_.empty() && looked_at_ < config_.candidates && !deadline.has_passed()) {
      const Open open = queue_.top();
      queue_.pop();
      if (open.seconds > config_.threshold * best) break;
      expand(open, best, deadline);
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

  void expand(const Open& open, double& best, const Deadline& deadline) {
    if (matcher_ == nullptr) return;
    matcher_->restart(*open.graph);
    for (const substitutions::Match& match : matcher_->matches()) {
      if (looked_at_ >= config_.candidates || deadline.has_passed()) return;
      const substitutions::Rule& rule = rules_[match.rule];
      base::Attempt<substitutions::Rewritten> rewritten = substitutions::apply(rule, match, *open.graph, {});
      if (!rewritten) continue;
      std::vector<std::string> rules = found_[open.number].rules;
      rules.push_back(rule.name);
      std::optional<Variant> v = variant(pcg::with_stored_weights(pcg::serial(rewritten->graph)), std::move(rules));
      if (!v || !seen_.insert(key(*v)).second) continue;
      ++looked_at_;
      add_up(*v);
      if (v->seconds > config_.threshold * best) continue;
      best = std::min(best, v->seconds);
      found_.push_back(std::move(*v));
      push(std::move(rewritten->graph), found_.size() - 1);
    }
  }

  // nullopt: it would not train the model's weights, or would end otherwise.
  std::optional<Variant> variant(pcg::Graph graph, std::vector<std::string> rules) {
    if (pcg::operators_on_weights(graph) > pcg::operators_on_weights(segment_.graph)) return std::nullopt;
    Variant v{.rules = std::move(rules)};
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
    return v;
  }

  void add_up(Variant& v) const {
    for (const std::uint32_t n : v.segment.operators) v.seconds += estimate_(v.kinds[n]);
  }

  // Kinds and edges, in the order of the graph.
  [[nodiscard]] static std::vector<std::uint64_t> key(const Variant& v) {
    std::vector<std::uint64_t> k;
    for (std::uint32_t n = 0; n < v.kinds.size(); ++n) {
      k.push_back(v.kinds[n]);
      for (const pcg::GraphTensorRef t : v.graph.nodes()[n].inputs)
        k.push_back((static_cast<std::uint64_t>(t.node.value) << 8U) | static_cast<std::uint64_t>(t.output));
    }
    return k;
  }

  Variants result() {
    Variants r{{}, looked_at_};
    std::stable_sort(found_.begin() + 1, found_.end(), [](const Variant& a, const Variant& b) { return a.seconds < b.seconds; });
    found_.resize(std::min(found_.size(), config_.kept + 1));
    for (Variant& v : found_) {
      v.part = part_of(v.graph, v.segment, v.kinds, catalog_, shapes_);
      r.variants.push_back(std::move(v));
    }
    return r;
  }

  const SegmentGraph& segment_;
  std::optional<KindNumber> first_kind_, last_kind_;
  bool has_gradient_;
  OperatorCatalog& catalog_;
  BranchShapes& shapes_;
  std::span<const substitutions::Rule> rules_;
  substitutions::Matcher* matcher_;
  VariantsConfig config_;
  const Estimate& estimate_;
  std::vector<Variant> found_;
  std::priority_queue<Open> queue_;
  std::set<std::vector<std::uint64_t>> seen_;
  std::size_t looked_at_ = 0;
};

}  // namespace

std::size_t quickest(const std::vector<Variant>& variants) {
  return static_cast<std::size_t>(std::ranges::min_element(variants, {}, &Variant::seconds) - variants.begin());
}

Variants variants_of(const SegmentGraph& segment, std::optional<KindNumber> first_kind, bool has_gradient, OperatorCatalog& catalog,
                     BranchShapes& shapes, std::span<const substitutions::Rule> rules, substitutions::Matcher* matcher,
                     const VariantsConfig& config, const Estimate& estimate, const Deadline& deadline) {
  return Rewriting(segment, first_kind, has_gradient, catalog, shapes, rules, matcher, config, estimate).run(deadline);
}

}  // namespace search
