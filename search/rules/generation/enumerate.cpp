// Bottom-up: level n holds graphs of n operators.

#include "search/rules/generation/enumerate.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "search/rules/semantics/values.hpp"

namespace rules {
namespace {

// Draws of small sizes and values: two of them order the sizes in opposite directions (SmallSizes), a third is unrelated.
constexpr std::size_t kDraws = 3;
constexpr std::int32_t kIllTyped = -1;

using Id = std::int32_t;  // of an entry, a type, a class
using Operators = std::vector<Id>;

// An operator on entries. Without inputs: a constant.
struct Graph {
  std::int32_t op = 0;  // of the setting
  std::array<Id, 3> inputs{-1, -1, -1};
};

struct Entry {  // a representative
  Graph graph;  // of a variable: op is -1 - its number
  Id type = 0;
  Operators operators;  // sorted; both parts of a split are one
  std::array<Value, kDraws> values;
};

struct Key {
  Id type;
  std::uint64_t hash;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  std::size_t operator()(const Key& k) const { return base::Hash(k.hash)(static_cast<std::uint64_t>(k.type)).value(); }
};

std::uint64_t hash_of(const Value& v) {
  base::Hash h(v.elements.size());
  for (const std::int64_t s : v.sizes) h(static_cast<std::uint64_t>(s));
  for (const std::uint32_t e : v.elements) h(e);
  return h.value();
}

// Of sorted ids.
Operators joined(const Operators& a, const Operators& b) {
  Operators all;
  std::ranges::set_union(a, b, std::back_inserter(all));
  return all;
}

// Both halves of a split are one.
std::size_t operators_of(const Term& t) {
  std::size_t count = 0;
  for (std::size_t n = 0; n < t.nodes.size(); ++n) {
    const auto is_other_half = [&](const Node& m) {
      return is_split(m.kind) && m.kind != t.nodes[n].kind && m.inputs == t.nodes[n].inputs && m.axis == t.nodes[n].axis &&
             m.at == t.nodes[n].at;
    };
    const bool counted =
        is_split(t.nodes[n].kind) && std::any_of(t.nodes.begin(), t.nodes.begin() + static_cast<std::ptrdiff_t>(n), is_other_half);
    if (t.nodes[n].kind != Kind::variable && !counted) ++count;
  }
  return count;
}

class Enumeration {
 public:
  Enumeration(const Setting& setting, int operators) : s_(setting), most_(static_cast<std::size_t>(operators)) {
    for (std::size_t i = 0; i < kDraws; ++i) sizes_.emplace_back(s_.variables, i + 1);
    levels_.resize(most_ + 1);
    for (std::size_t v = 0; v < s_.variables.size(); ++v) {
      Entry e{.graph = {.op = -1 - static_cast<std::int32_t>(v)}, .type = intern(s_.variables[v].types)};
      for (std::size_t i = 0; i < kDraws; ++i) e.values[i] = value_of(s_.variables[v], s_.variables, sizes_[i], i + 1);
      keep(std::move(e), 0);
    }
  }

  Enumerated run() {
    for (std::size_t level = 1; level <= most_; ++level)
      for (std::size_t op = 0; op < s_.operators.size(); ++op) extend(static_cast<std::int32_t>(op), level);
    for (std::size_t e = 0; e < entries_.size(); ++e)
      if (entries_[e].operators.size() < most_) split_in_two(static_cast<Id>(e));
    result_.classes = std::ranges::count(shared_, true);
    return std::move(result_);
  }

 private:
  using ByType = std::map<Id, std::vector<Id>>;  // entries

  const Node& op(std::int32_t i) const { return s_.operators[static_cast<std::size_t>(i)]; }
  const Entry& entry(Id i) const { return entries_[static_cast<std::size_t>(i)]; }

  // Types are compared by number from here on: graphs are many, types few.
  Id intern(const Types& t) {
    const auto [it, fresh] = type_ids_.try_emplace(t, static_cast<Id>(types_.size()));
    if (fresh) types_.push_back(t);
    return it->second;
  }

  Id result_type(std::int32_t o, std::span<const Id> inputs) {
    std::array<const Types*, 3> in{};
    for (std::size_t i = 0; i < inputs.size(); ++i) in[i] = &types_[static_cast<std::size_t>(inputs[i])];
    const auto t = sensible_type(op(o), std::span(in).first(inputs.size()));
    return t ? intern(*t) : kIllTyped;
  }

  // Every tuple of types that the operator takes, then every tuple of entries of those types that makes a graph of this level.
  void extend(std::int32_t o, std::size_t level) {
    const std::size_t arity = input_count(op(o).kind);
    std::array<Id, 3> types{};
    std::vector<Id> known;
    for (Id t = 0; t < static_cast<Id>(types_.size()); ++t)
      if (has_entries(t, level)) known.push_back(t);
    const auto choose = [&](auto&& self, std::size_t i) -> void {
      if (i < arity) {
        for (const Id t : known) {
          types[i] = t;
          self(self, i + 1);
        }
        return;
      }
      if (const Id out = result_type(o, std::span(types).first(arity)); out != kIllTyped) {
        Graph g{.op = o};
        fill(g, out, std::span<const Id>(types).first(arity), 0, {}, level);
      }
    };
    choose(choose, 0);
  }

  bool has_entries(Id type, std::size_t below) const {
    return std::ranges::any_of(std::span(levels_).first(below), [&](const ByType& l) { return l.contains(type); });
  }

  void fill(Graph& g, Id out, std::span<const Id> types, std::size_t i, const Operators& operators, std::size_t level) {
    if (i == types.size()) {
      if (operators.size() + 1 == level) add(g, out, operators, level);
      return;
    }
    const bool last = i + 1 == types.size();
    for (std::size_t l = 0; l < level; ++l) {
      if (last && operators.size() + l + 1 < level) continue;  // too few, however little they share
      const auto it = levels_[l].find(types[i]);
      if (it == levels_[l].end()) continue;
      const std::size_t count = it->second.size();  // entries of this level do not grow while it is read: new ones are of `level`
      for (std::size_t k = 0; k < count; ++k) {
        const Id e = it->second[k];
        if (i == 1 && is_commutative(op(g.op).kind) && e < g.inputs[0]) continue;
        g.inputs[i] = e;
        const Operators more = operators.empty() ? entry(e).operators : joined(operators, entry(e).operators);
        if (more.size() < level) fill(g, out, types, i + 1, more, level);
      }
    }
    g.inputs[i] = -1;
  }

  Value evaluate(const Graph& g, std::size_t draw) const {
    std::array<const Value*, 3> in{};
    std::size_t arity = 0;
    for (; arity < in.size() && g.inputs[arity] >= 0; ++arity) in[arity] = &entry(g.inputs[arity]).values[draw];
    return value_of(op(g.op), std::span(in).first(arity), sizes_[draw]);
  }

  // The number that both parts of a split share.
  Id operator_number(const Graph& g) {
    const Node& n = op(g.op);
    if (!is_split(n.kind)) return next_operator_++;
    const auto [it, fresh] = splits_.try_emplace(std::tuple(g.inputs[0], n.axis, n.at), next_operator_);
    if (fresh) ++next_operator_;
    return it->second;
  }

  void add(const Graph& g, Id type, const Operators& operators, std::size_t level) {
    ++result_.graphs;
    std::array<Value, kDraws> values;
    values[0] = evaluate(g, 0);
    const Key key{type, hash_of(values[0])};
    std::vector<Id>& same = classes_[key];
    if (!same.empty() || level < most_)
      for (std::size_t i = 1; i < kDraws; ++i) values[i] = evaluate(g, i);
    for (const Id c : same)
      if (equal(c, values)) {
        shared_[static_cast<std::size_t>(c)] = true;
        if (is_split(op_kind(class_graph(c))) && !is_split(op(g.op).kind)) unsplit_.try_emplace(c, g);
        result_.equations.push_back(equation({class_graph(c)}, {g}));
        return;
      }
    if (level < most_) {
      Entry e{.graph = g, .type = type, .operators = operators, .values = std::move(values)};
      const Id number = operator_number(g);
      e.operators.insert(std::ranges::lower_bound(e.operators, number), number);
      keep(std::move(e), level);
    } else {
      same.push_back(new_class(-1 - static_cast<Id>(last_level_.size())));
      last_level_.push_back(g);
    }
  }

  void keep(Entry e, std::size_t level) {
    const Id id = static_cast<Id>(entries_.size());
    classes_[{e.type, hash_of(e.values[0])}].push_back(new_class(id));
    levels_[level][e.type].push_back(id);
    entries_.push_back(std::move(e));
  }

  // A class: its representative is an entry, or (-1 - i) a graph of the last level.
  Id new_class(Id representative) {
    representatives_.push_back(representative);
    shared_.push_back(false);
    return static_cast<Id>(representatives_.size() - 1);
  }
  Graph class_graph(Id c) const {
    const Id r = representatives_[static_cast<std::size_t>(c)];
    return r >= 0 ? entry(r).graph : last_level_[static_cast<std::size_t>(-1 - r)];
  }
  bool equal(Id c, const std::array<Value, kDraws>& values) const {
    const Id r = representatives_[static_cast<std::size_t>(c)];
    for (std::size_t i = 0; i < kDraws; ++i)
      if (values[i] != (r >= 0 ? entry(r).values[i] : evaluate(class_graph(c), i))) return false;
    return true;
  }

  // The class of a graph, if it has been met.
  std::optional<Id> find(const Graph& g, Id type) const {
    std::array<Value, kDraws> values;
    for (std::size_t i = 0; i < kDraws; ++i) values[i] = evaluate(g, i);
    const auto it = classes_.find({type, hash_of(values[0])});
    if (it == classes_.end()) return std::nullopt;
    for (const Id c : it->second)
      if (equal(c, values)) return c;
    return std::nullopt;
  }

  // Both parts of an entry split in every way.
  void split_in_two(Id e) {
    for (std::size_t o = 0; o < s_.operators.size(); ++o) {
      if (s_.operators[o].kind != Kind::split0) continue;
      Node second = s_.operators[o];
      second.kind = Kind::split1;
      const auto other = std::ranges::find(s_.operators, second);
      if (other == s_.operators.end()) continue;
      const Graph a{.op = static_cast<std::int32_t>(o), .inputs = {e, -1, -1}};
      const Graph b{.op = static_cast<std::int32_t>(other - s_.operators.begin()), .inputs = {e, -1, -1}};
      const Id type = entry(e).type;
      const Id ta = result_type(a.op, std::span(&type, 1)), tb = result_type(b.op, std::span(&type, 1));
      if (ta == kIllTyped || tb == kIllTyped) continue;
      const auto ca = find(a, ta), cb = find(b, tb);
      if (!ca || !cb) continue;
      Graph ra = class_graph(*ca), rb = class_graph(*cb);
      if (is_part(ra, e) && is_part(rb, e) && unsplit_.contains(*ca) && unsplit_.contains(*cb)) {
        ra = unsplit_.at(*ca);
        rb = unsplit_.at(*cb);
      }
      if (is_part(ra, e) || is_part(rb, e)) continue;
      Equation candidate = equation({ra, rb}, {a, b});
      if (operators_of(candidate.left) <= most_) result_.equations.push_back(std::move(candidate));
    }
  }
  bool is_part(const Graph& g, Id of) const { return is_split(op_kind(g)) && g.inputs[0] == of; }
  Kind op_kind(const Graph& g) const { return g.op >= 0 ? op(g.op).kind : Kind::variable; }

  // --- terms --------------------------------------------------------------------------------------------------------------

  std::uint8_t append(Term& t, const Graph& g) const {
    Node n;
    if (g.op < 0) {
      n.variable = static_cast<std::uint8_t>(-1 - g.op);
    } else {
      n = op(g.op);
      for (const Id i : g.inputs)
        if (i >= 0) n.inputs.push_back(append(t, entry(i).graph));
    }
    t.nodes.push_back(std::move(n));
    BASE_CHECK(t.nodes.size() < 200, "a graph of {} nodes", t.nodes.size());
    return static_cast<std::uint8_t>(t.nodes.size() - 1);
  }
  Term term(const std::vector<Graph>& outputs) const {
    Term t;
    for (const Graph& g : outputs) t.outputs.push_back(append(t, g));
    return canonical(t);
  }
  Equation equation(const std::vector<Graph>& left, const std::vector<Graph>& right) const {
    return {s_.variables, term(left), term(right)};
  }

  const Setting& s_;
  std::size_t most_;
  std::vector<SmallSizes> sizes_;
  std::vector<Types> types_;
  std::map<Types, Id> type_ids_;
  std::vector<Entry> entries_;
  std::vector<ByType> levels_;
  std::vector<Graph> last_level_;
  std::vector<Id> representatives_;  // by class
  std::vector<bool> shared_;         // by class: two members or more
  // By class whose representative is a part of something: the first other member, which is no such part. add(split0(x), split0(y)) is found
  // after split0(add(x, y)), which stands for it; as one half of two it says something of its own.
  std::unordered_map<Id, Graph> unsplit_;
  std::unordered_map<Key, std::vector<Id>, KeyHash> classes_;
  std::map<std::tuple<Id, std::uint8_t, Numbers>, Id> splits_;
  Id next_operator_ = 0;
  Enumerated result_;
};

}  // namespace

Enumerated enumerate(const Setting& setting, int operators) { return Enumeration(setting, operators).run(); }

}  // namespace rules
