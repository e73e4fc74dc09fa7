#include "search/planners/unity/variants.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <queue>
#include <set>

#include "base/check.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/graph/stored_weights.hpp"
#include "search/rules/rewriting/apply.hpp"

namespace search {
namespace {

class VariantMaker {
 public:
  VariantMaker(const SegmentGraph& segment, OperatorCatalog& catalog, const Estimate& estimate)
      : segment_(segment), catalog_(catalog), estimate_(estimate) {}

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
      if (std::ranges::count(catalog_.kind(*segment_.first_kind).has_gradient, true) > 0) with_gradient.emplace_back(*v.segment.first);
    }
    v.kinds = catalog_.kinds_of(graph, with_gradient);
    for (std::uint32_t n = 0; n < v.kinds.size(); ++n)
      if (v.kinds[n] != kSource) v.segment.operators.push_back(n);
    if (v.segment.operators.empty() || graph.results().size() != segment_.graph.results().size()) return std::nullopt;
    v.segment.last = v.segment.operators.back();
    if (last_kind_ && v.kinds[v.segment.last] != *last_kind_) return std::nullopt;
    if (v.segment.first) v.kinds[*v.segment.first] = *segment_.first_kind;
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
  std::optional<KindNumber> last_kind_;
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

// Whether a rule computes with the parts of what is joined in its source.
bool takes_apart(const rules::Rule& rule) {
  const auto joins = [](const rules::Node& n) { return n.kind == rules::Kind::concat; };
  return std::ranges::any_of(rule.source().nodes, joins) && std::ranges::none_of(rule.target().nodes, joins);
}

// Best-first search over algebraic substitutions (Unity, OSDI'22, section 5.1). Two graphs count as one where kinds of operators and edges
// are equal.
class Rewriting {
 public:
  // `matcher`: of the rules, on any graph.
  Rewriting(const SegmentGraph& segment, VariantMaker maker, std::span<const rules::Rule> rules, rules::Matcher& matcher,
            const VariantsConfig& config, Budget& budget)
      : segment_(segment), maker_(maker), rules_(rules), matcher_(matcher), config_(config), budget_(budget) {}

  // Returns: the segment itself first, then rewritten ones without their parts, the quickest first.
  std::vector<Variant> run() {
    const pcg::Pcg start = pcg::parallelize(segment_.graph, pcg::unsharded(segment_.graph));
    Variant itself = maker_.itself();
    seen_.insert(key(itself));
    add(std::move(itself), start);
    take_apart(start);
    while (!queue_.empty() && evaluated_ < config_.graphs && !budget_.is_spent()) {
      const auto [seconds, number] = queue_.top();
      queue_.pop();
      if (seconds > config_.threshold * best_) break;
      expand(number);
    }
    std::ranges::stable_sort(found_.begin() + 1, found_.end(), {}, &Variant::seconds);
    std::vector<Variant> kept;
    for (std::size_t i = 0; i < found_.size(); ++i)
      if (i <= config_.kept || found_[i].is_apart) kept.push_back(std::move(found_[i]));
    return kept;
  }
  [[nodiscard]] std::size_t evaluated() const { return evaluated_; }  // rewritten graphs

 private:
  void add(Variant v, pcg::Pcg graph) {
    best_ = std::min(best_, v.seconds);
    queue_.emplace(v.seconds, found_.size());
    found_.push_back(std::move(v));
    graphs_.push_back(std::move(graph));
  }

  // A tensor that is joined along a dim cannot be cut there, so that what was computed in parts has to move. Rules that compute with the
  // parts instead take one part away at a time, and nothing is gained before the last: they are applied as often as they go, and the graph
  // is kept whatever its operators cost by themselves.
  void take_apart(const pcg::Pcg& start) {
    std::vector<RuleApplied> rules;
    pcg::Pcg apart = start;
    std::optional<Variant> v;
    while (!budget_.time_is_up()) {
      matcher_.restart(apart);
      const std::size_t before = rules.size();
      for (const rules::Match& match : matcher_.matches()) {
        if (!takes_apart(rules_[match.rule]) || !takes_first_part(match)) continue;
        base::Attempt<rules::Rewritten> rewritten = rules::apply(rules_[match.rule], match, apart, {});
        if (!rewritten) continue;
        rules.push_back({rules_[match.rule].name, rules.empty() ? found_.front().seconds : rules.back().seconds});
        apart = std::move(rewritten->graph);
        break;
      }
      if (rules.size() == before) break;
      v = maker_.variant(pcg::with_stored_weights(pcg::serial(apart)));
      if (v) rules.back().seconds = v->seconds;
    }
    if (!v || !seen_.insert(key(*v)).second) return;
    ++evaluated_;
    v->rules = std::move(rules);
    v->is_apart = true;
    add(std::move(*v), std::move(apart));
  }

  // The match takes the first part of a concat of many tensors; the others are taken apart next.
  static bool takes_first_part(const rules::Match& m) {
    return std::ranges::all_of(m.views, [](const rules::ConcatAsTwo& c) { return c.begin == 0 && c.cut == 1; });
  }

  void expand(std::size_t number) {
    const pcg::Pcg& graph = graphs_[number];
    matcher_.restart(graph);
    for (const rules::Match& match : matcher_.matches()) {
      if (evaluated_ >= config_.graphs || !budget_.take()) return;
      const rules::Rule& rule = rules_[match.rule];
      base::Attempt<rules::Rewritten> rewritten = rules::apply(rule, match, graph, {});
      if (!rewritten) continue;
      std::optional<Variant> v = maker_.variant(pcg::with_stored_weights(pcg::serial(rewritten->graph)));
      if (!v || !seen_.insert(key(*v)).second) continue;
      ++evaluated_;
      v->rules = found_[number].rules;
      v->rules.push_back({rule.name, v->seconds});
      if (v->seconds <= config_.threshold * best_) add(std::move(*v), std::move(rewritten->graph));
    }
  }

  const SegmentGraph& segment_;
  VariantMaker maker_;
  std::span<const rules::Rule> rules_;
  rules::Matcher& matcher_;
  const VariantsConfig& config_;
  Budget& budget_;
  double best_ = std::numeric_limits<double>::infinity();  // seconds
  std::vector<Variant> found_;
  std::deque<pcg::Pcg> graphs_;                 // of `found_`; those that are there stay in their place
  using Open = std::pair<double, std::size_t>;  // seconds, and which of `found_`
  std::priority_queue<Open, std::vector<Open>, std::greater<>> queue_;
  std::set<std::vector<std::uint64_t>> seen_;
  std::size_t evaluated_ = 0;
};

// Names of the example's nodes as those of the segment that is alike.
class Names {
 public:
  Names(const SegmentGraph& example, const SegmentGraph& original, std::set<std::string>& taken) : taken_(taken) {
    for (std::size_t n = 0; n < example.graph.nodes().size(); ++n) known_[example.graph.nodes()[n].name] = original.graph.nodes()[n].name;
    from_ = stem(example.graph.nodes().back().name);
    to_ = stem(original.graph.nodes().back().name);
  }

  // A node that was there before, and one that a rule made.
  [[nodiscard]] const std::string* known(const std::string& name) const {
    const auto at = known_.find(name);
    return at == known_.end() ? nullptr : &at->second;
  }
  std::string fresh(const std::string& name) {
    std::string text = name.starts_with(from_) ? to_ + name.substr(from_.size()) : name;
    while (taken_.contains(text)) text += "'";
    return text;
  }

 private:
  static std::string stem(const std::string& name) { return name.substr(0, name.find('.')); }

  std::map<std::string, std::string> known_;
  std::string from_, to_;
  std::set<std::string>& taken_;
};

// Per node: the occurrences of rules that a cut after it would part. The last operator of a segment stays, so that a cut after an
// operator that is taken apart is in the way, too.
std::vector<std::size_t> occurrences_parted(const pcg::Graph& graph, std::span<const rules::Rule> rules, const rules::Matcher& matcher) {
  std::vector<std::size_t> parted(graph.nodes().size(), 0);
  for (const rules::Match& m : matcher.matches()) {
    const auto [first, last] = std::ranges::minmax(m.nodes, {}, &pcg::NodeId::value);
    const std::uint32_t end = takes_apart(rules[m.rule]) ? last.value + 1 : last.value;
    for (std::uint32_t n = first.value; n < end; ++n) ++parted[n];
  }
  return parted;
}

SegmentGraph segment_graph(const pcg::Graph& whole, const std::vector<KindNumber>& kinds, const Segment& segment) {
  pcg::GraphBuilder builder(whole.name());
  SegmentGraph s;
  if (segment.first) s.first_kind = kinds[*segment.first];
  std::map<pcg::GraphTensorRef, pcg::GraphTensorRef> now;
  std::vector<bool> read_outside(whole.nodes().size(), false);
  for (std::uint32_t n = 0; n < read_outside.size(); ++n)
    if (!std::ranges::binary_search(segment.operators, n))
      for (const pcg::GraphTensorRef t : whole.nodes()[n].inputs) read_outside[t.node.value] = true;
  for (const std::uint32_t n : segment.operators) {
    const pcg::GraphNode& node = whole.nodes()[n];
    if (s.blocks.empty() || s.blocks.back() != node.block) {
      s.blocks.push_back(node.block);
      builder.begin_block(whole.blocks()[static_cast<std::size_t>(node.block)]);
    }
    std::vector<pcg::GraphTensorRef> inputs;
    for (const pcg::GraphTensorRef t : node.inputs) {
      const auto [at, is_new] = now.try_emplace(t);
      if (is_new) {
        const pcg::GraphNode& source = whole.node(t.node);
        const bool is_first = segment.first == t.node.value;
        BASE_CHECK(is_first || is_source(source), "\"{}\" is outside the segment that reads it", source.name);
        if (is_first) s.first = pcg::GraphNodeId(s.is_shared.size());
        at->second = is_first ? builder.input(source.name, whole.shape(t)) : builder.add_raw(source.name, source.op, {}).front();
        s.is_shared.push_back(read_outside[t.node.value]);
      }
      inputs.push_back(at->second);
    }
    const std::vector<pcg::GraphTensorRef> outputs = builder.add_raw(node.name, node.op, std::move(inputs));
    s.is_shared.push_back(false);
    for (std::size_t o = 0; o < outputs.size(); ++o) now[{pcg::GraphNodeId(n), static_cast<int>(o)}] = outputs[o];
  }
  s.graph = std::move(builder).build();
  return s;
}

// They compute the same with weights of their own, so that variants of one are variants of the other.
bool alike(const SegmentGraph& a, const SegmentGraph& b) {
  const auto same = [](const pcg::GraphNode& m, const pcg::GraphNode& n) {
    return m.op == n.op && m.inputs == n.inputs && m.outputs == n.outputs && m.block == n.block;
  };
  return a.first == b.first && a.first_kind == b.first_kind && a.is_shared == b.is_shared &&
         std::ranges::equal(a.graph.nodes(), b.graph.nodes(), same);
}

}  // namespace

RewrittenModel::RewrittenModel(const pcg::Graph& graph, std::size_t fewest, std::span<const rules::Rule> rules, OperatorCatalog& catalog,
                               BranchShapes& shapes)
    : graph_(graph),
      rules_(rules),
      // Nodes of a PCG without parallelism are those of its graph.
      matcher_(rules, pcg::parallelize(graph, pcg::unsharded(graph))),
      catalog_(catalog),
      shapes_(shapes),
      segments_(segments_of(graph, bottlenecks(graph), fewest, occurrences_parted(graph, rules, matcher_))) {
  const std::vector<KindNumber> kinds = catalog.kinds_of(graph);
  for (const Segment& segment : segments_) {
    segment_graphs_.push_back(segment_graph(graph_, kinds, segment));
    const auto like = [&](const SegmentGraph& s) { return alike(s, segment_graphs_.back()); };
    example_.push_back(static_cast<std::size_t>(std::ranges::find_if(segment_graphs_, like) - segment_graphs_.begin()));
  }
}

void RewrittenModel::rewrite(const VariantsConfig& config, const Estimate& estimate, Budget& budget) {
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    if (example_[s] != s) continue;
    Rewriting rewriting(segment_graphs_[s], {segment_graphs_[s], catalog_, estimate}, rules_, matcher_, config, budget);
    std::vector<Variant>& variants = variants_[s] = rewriting.run();
    for (Variant& v : variants) v.part = part_of(v.graph, v.segment, v.kinds, catalog_, shapes_);
    evaluated_ += rewriting.evaluated();
  }
}

std::vector<std::size_t> RewrittenModel::quickest(const std::function<double(const Variant&)>& seconds) const {
  std::vector<std::size_t> variant;
  for (std::size_t s = 0; s < segments(); ++s)
    variant.push_back(static_cast<std::size_t>(std::ranges::min_element(variants(s), {}, seconds) - variants(s).begin()));
  return variant;
}

Joined RewrittenModel::with(const std::vector<std::size_t>& variant) const {
  pcg::GraphBuilder builder(graph_.name());
  Joined result;
  std::set<std::string> taken;
  for (const pcg::GraphNode& n : graph_.nodes()) taken.insert(n.name);
  std::map<std::string, std::uint32_t> sources;  // that are there
  std::uint32_t end = 0;                         // of the segment before
  int block = -1;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    const SegmentGraph &example = segment_graphs_[example_[s]], &original = segment_graphs_[s];
    Names names(example, original, taken);
    std::vector<std::uint32_t>& numbers = result.node.emplace_back();
    for (const pcg::GraphNode& node : variants(s)[variant[s]].graph.nodes()) {
      for (; block < original.blocks[static_cast<std::size_t>(node.block)]; ++block)
        builder.begin_block(graph_.blocks()[static_cast<std::size_t>(block + 1)]);
      if (example.first && node.name == example.graph.node(*example.first).name && is_source(node)) {
        numbers.push_back(end);
        continue;
      }
      const std::string* known = names.known(node.name);
      const std::string name = known != nullptr ? *known : names.fresh(node.name);
      if (const auto at = sources.find(name); at != sources.end()) {
        numbers.push_back(at->second);
        continue;
      }
      taken.insert(name);
      std::vector<pcg::GraphTensorRef> inputs;
      for (const pcg::GraphTensorRef t : node.inputs) inputs.push_back({pcg::GraphNodeId(numbers[t.node.value]), t.output});
      pcg::Operator op = node.op;
      if (auto* weight = std::get_if<pcg::Weight>(&op))
        for (pcg::WeightPart& part : weight->parts)
          if (const std::string* of = names.known(part.of)) part.of = *of;
      numbers.push_back(builder.add_raw(name, std::move(op), std::move(inputs)).front().node.value);
      if (is_source(node)) sources[name] = numbers.back();
    }
    end = numbers.back();
  }
  result.graph = std::move(builder).build();
  return result;
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
