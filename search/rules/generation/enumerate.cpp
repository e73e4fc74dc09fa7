#include "search/rules/generation/families.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "search/rules/language/typing.hpp"
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

std::uint64_t hash_of(Id type, const Value& v) {
  base::Hash h(static_cast<std::uint64_t>(type));
  for (const std::int64_t s : v.sizes) h(static_cast<std::uint64_t>(s));
  for (const std::uint32_t e : v.elements) h(e);
  return h.value();
}

// The union of sorted ids.
Operators joined(const Operators& a, const Operators& b) {
  Operators all;
  std::ranges::set_union(a, b, std::back_inserter(all));
  return all;
}

// A cut may only be where the size's symbols say that it is inside.
bool is_inside(const Node& n, const Types& t) {
  if (n.axis >= t[0].rank) return false;
  const auto whole = letters_of(dim_size(t, n.axis)), part = letters_of(n.at);
  return whole && part && whole->size() > part->size() && std::ranges::includes(*whole, *part);
}

// Nothing is done with a number but scaling by it; kernels are no images, gains no rows.
bool is_sensible(Kind k, std::span<const Types* const> in) {
  if (in.empty()) return true;
  const Type& x = (*in[0])[0];
  if (x.rank == 0) return false;
  if (k == Kind::attention) return x.rank == 3 && letters_of({x.size[2] / 3, (*in[0])[1].size[2] / 3, (*in[0])[2].size[2] / 3});
  if (k == Kind::softmax || k == Kind::layer_norm || k == Kind::rms_norm) return x.rank > 1;
  if (is_convolution(k) || is_pool(k)) return x.rank == 4 && x.size[2] != (*in[0])[1].size[2] && x.size[3] != (*in[0])[1].size[3];
  return true;
}

// Groups must divide a kernel's outputs because of the symbols, too.
bool groups_divide(const Types& x, const Types& w) {
  if (x[0].rank != 4 || w[0].rank != 4) return false;
  Numbers groups, quotient;
  for (std::size_t a = 0; a < groups.size(); ++a) {
    groups[a] = x[a].size[1] / w[a].size[1];
    if (groups[a] == 0 || w[a].size[0] % groups[a] != 0) return false;
    quotient[a] = w[a].size[0] / groups[a];
  }
  if (groups == Numbers{1, 1, 1}) return true;
  return letters_of(groups) && (is_plain(quotient) || (letters_of(quotient) && is_plain(groups)));  // depthwise, or some groups
}

// The type of an operator's output (of both parts of a split: of the one that `n` is), where it is well typed at every size, as the symbols
// of the sizes say, and means something; nullopt: it is not worth forming.
std::optional<Types> sensible_type(const Node& n, std::span<const Types* const> in) {
  if (!is_sensible(n.kind, in)) return std::nullopt;
  if (is_split(n.kind) && !is_inside(n, *in[0])) return std::nullopt;
  if (is_convolution(n.kind) && !groups_divide(*in[0], *in[1])) return std::nullopt;
  return type_of(n, in);
}

// The graphs of a setting by number: those that larger ones are built from. Types are compared by number, too: graphs are many, types few.
struct GraphPool {
  const Setting& setting;
  std::vector<SmallSizes> sizes;  // by draw
  std::vector<Types> types;
  std::map<Types, Id> type_ids;
  std::vector<Entry> entries;

  [[nodiscard]] const Node& op(const Graph& g) const { return setting.operators[static_cast<std::size_t>(g.op)]; }
  [[nodiscard]] Kind kind(const Graph& g) const { return g.op >= 0 ? op(g).kind : Kind::variable; }
  [[nodiscard]] const Entry& entry(Id i) const { return entries[static_cast<std::size_t>(i)]; }
  Id intern(const Types& t) {
    const auto [it, fresh] = type_ids.try_emplace(t, static_cast<Id>(types.size()));
    if (fresh) types.push_back(t);
    return it->second;
  }
};

Id result_type(GraphPool& pool, const Graph& g, std::span<const Id> inputs) {
  std::array<const Types*, 3> in{};
  for (std::size_t i = 0; i < inputs.size(); ++i) in[i] = &pool.types[static_cast<std::size_t>(inputs[i])];
  const auto t = sensible_type(pool.op(g), std::span(in).first(inputs.size()));
  return t ? pool.intern(*t) : kIllTyped;
}

Value evaluate(const GraphPool& pool, const Graph& g, std::size_t draw) {
  std::array<const Value*, 3> in{};
  std::size_t arity = 0;
  for (; arity < in.size() && g.inputs[arity] >= 0; ++arity) in[arity] = &pool.entry(g.inputs[arity]).values[draw];
  return value_of(pool.op(g), std::span(in).first(arity), pool.sizes[draw]);
}

std::uint8_t append(const GraphPool& pool, Term& t, const Graph& g) {
  Node n;
  if (g.op < 0) {
    n.variable = static_cast<std::uint8_t>(-1 - g.op);
  } else {
    n = pool.op(g);
    for (const Id i : g.inputs)
      if (i >= 0) n.inputs.push_back(append(pool, t, pool.entry(i).graph));
  }
  t.nodes.push_back(std::move(n));
  BASE_CHECK(t.nodes.size() < 200, "a graph of {} nodes", t.nodes.size());
  return static_cast<std::uint8_t>(t.nodes.size() - 1);
}
Term term(const GraphPool& pool, const std::vector<Graph>& outputs) {
  Term t;
  for (const Graph& g : outputs) t.outputs.push_back(append(pool, t, g));
  return canonical(t);
}
Equation equation(const GraphPool& pool, const std::vector<Graph>& left, const std::vector<Graph>& right) {
  return {pool.setting.variables, term(pool, left), term(pool, right)};
}

struct GraphClass {
  Id type = 0;
  Id entry = -1;        // the representative, where larger graphs are built from it
  Graph graph;          // the representative
  bool shared = false;  // two members or more
  // Where the representative is a part of something: the first other member, which is no such part. add(split0(x), split0(y)) is found
  // after split0(add(x, y)), which stands for it; as one half of two it says something of its own.
  std::optional<Graph> unsplit;
};

bool is_equal(const GraphPool& pool, const GraphClass& c, Id type, const std::array<Value, kDraws>& values) {
  if (c.type != type) return false;
  for (std::size_t i = 0; i < kDraws; ++i)
    if (values[i] != (c.entry >= 0 ? pool.entry(c.entry).values[i] : evaluate(pool, c.graph, i))) return false;
  return true;
}

struct Enumeration {
  GraphPool pool;
  std::vector<GraphClass> classes;
  std::unordered_map<std::uint64_t, std::vector<Id>> classes_by_hash;
  std::size_t most;                                            // operators of a graph
  std::vector<std::map<Id, std::vector<Id>>> levels;           // by number of operators: entries by type
  std::map<std::tuple<Id, std::uint8_t, Numbers>, Id> splits;  // the number that both parts of a split share
  Id next_operator = 0;
  Enumerated result;
};

// The class of graphs of these values; nullptr where none has been met.
GraphClass* find(Enumeration& e, Id type, std::uint64_t hash, const std::array<Value, kDraws>& values) {
  const auto same = e.classes_by_hash.find(hash);
  if (same == e.classes_by_hash.end()) return nullptr;
  for (const Id c : same->second)
    if (GraphClass& found = e.classes[static_cast<std::size_t>(c)]; is_equal(e.pool, found, type, values)) return &found;
  return nullptr;
}

void add_class(Enumeration& e, std::uint64_t hash, GraphClass c) {
  e.classes_by_hash[hash].push_back(static_cast<Id>(e.classes.size()));
  e.classes.push_back(c);
}

void keep(Enumeration& e, Entry entry, std::size_t level) {
  const Id id = static_cast<Id>(e.pool.entries.size());
  add_class(e, hash_of(entry.type, entry.values[0]), {.type = entry.type, .entry = id, .graph = entry.graph});
  e.levels[level][entry.type].push_back(id);
  e.pool.entries.push_back(std::move(entry));
}

Id operator_number(Enumeration& e, const Graph& g) {
  const Node& n = e.pool.op(g);
  if (!is_split(n.kind)) return e.next_operator++;
  const auto [it, fresh] = e.splits.try_emplace(std::tuple(g.inputs[0], n.axis, n.at), e.next_operator);
  if (fresh) ++e.next_operator;
  return it->second;
}

void add(Enumeration& e, const Graph& g, Id type, const Operators& operators, std::size_t level) {
  ++e.result.graphs;
  std::array<Value, kDraws> values;
  values[0] = evaluate(e.pool, g, 0);
  const std::uint64_t hash = hash_of(type, values[0]);
  if (level < e.most || e.classes_by_hash.contains(hash))
    for (std::size_t i = 1; i < kDraws; ++i) values[i] = evaluate(e.pool, g, i);
  if (GraphClass* c = find(e, type, hash, values)) {
    c->shared = true;
    if (is_split(e.pool.kind(c->graph)) && !is_split(e.pool.kind(g)) && !c->unsplit) c->unsplit = g;
    return e.result.equations.push_back(equation(e.pool, {c->graph}, {g}));
  }
  if (level == e.most) return add_class(e, hash, {.type = type, .graph = g});
  Entry entry{.graph = g, .type = type, .operators = operators, .values = std::move(values)};
  const Id number = operator_number(e, g);
  entry.operators.insert(std::ranges::lower_bound(entry.operators, number), number);
  keep(e, std::move(entry), level);
}

// Every tuple of entries of these types that makes a graph of this level.
void fill(Enumeration& e, Graph& g, Id out, std::span<const Id> types, std::size_t i, const Operators& operators, std::size_t level) {
  if (i == types.size()) {
    if (operators.size() + 1 == level) add(e, g, out, operators, level);
    return;
  }
  const bool last = i + 1 == types.size();
  for (std::size_t l = 0; l < level; ++l) {
    if (last && operators.size() + l + 1 < level) continue;  // too few, however little they share
    const auto it = e.levels[l].find(types[i]);
    if (it == e.levels[l].end()) continue;
    const std::size_t count = it->second.size();  // entries of this level do not grow while it is read: new ones are of `level`
    for (std::size_t k = 0; k < count; ++k) {
      const Id next = it->second[k];
      if (i == 1 && is_commutative(e.pool.kind(g)) && next < g.inputs[0]) continue;
      g.inputs[i] = next;
      const Operators& own = e.pool.entry(next).operators;
      const Operators more = operators.empty() ? own : joined(operators, own);
      if (more.size() < level) fill(e, g, out, types, i + 1, more, level);
    }
  }
  g.inputs[i] = -1;
}

// Every tuple of types that the operator takes.
void extend(Enumeration& e, std::int32_t op, std::size_t level) {
  Graph g{.op = op};
  const std::size_t arity = input_count(e.pool.kind(g));
  std::array<Id, 3> types{};
  std::vector<Id> known;
  for (Id t = 0; t < static_cast<Id>(e.pool.types.size()); ++t)
    if (std::ranges::any_of(std::span(e.levels).first(level), [&](const auto& l) { return l.contains(t); })) known.push_back(t);
  const auto choose = [&](auto&& self, std::size_t i) -> void {
    if (i < arity) {
      for (const Id t : known) {
        types[i] = t;
        self(self, i + 1);
      }
      return;
    }
    const auto in = std::span<const Id>(types).first(arity);
    if (const Id out = result_type(e.pool, g, in); out != kIllTyped) fill(e, g, out, in, 0, {}, level);
  };
  choose(choose, 0);
}

// Both parts of an entry split in every way.
void split_in_two(Enumeration& e, Id id) {
  const std::vector<Node>& operators = e.pool.setting.operators;
  const auto is_part = [&](const Graph& g) { return is_split(e.pool.kind(g)) && g.inputs[0] == id; };
  for (std::size_t o = 0; o < operators.size(); ++o) {
    if (operators[o].kind != Kind::split0) continue;
    Node second = operators[o];
    second.kind = Kind::split1;
    const auto other = std::ranges::find(operators, second);
    if (other == operators.end()) continue;
    const Graph a{.op = static_cast<std::int32_t>(o), .inputs = {id, -1, -1}};
    const Graph b{.op = static_cast<std::int32_t>(other - operators.begin()), .inputs = {id, -1, -1}};
    const Id type = e.pool.entry(id).type;
    const Id ta = result_type(e.pool, a, std::span(&type, 1)), tb = result_type(e.pool, b, std::span(&type, 1));
    if (ta == kIllTyped || tb == kIllTyped) continue;
    const auto known = [&](const Graph& g, Id t) {
      std::array<Value, kDraws> values;
      for (std::size_t i = 0; i < kDraws; ++i) values[i] = evaluate(e.pool, g, i);
      return find(e, t, hash_of(t, values[0]), values);
    };
    const GraphClass *ca = known(a, ta), *cb = known(b, tb);
    if (ca == nullptr || cb == nullptr) continue;
    Graph ra = ca->graph, rb = cb->graph;
    if (is_part(ra) && is_part(rb) && ca->unsplit && cb->unsplit) {
      ra = *ca->unsplit;
      rb = *cb->unsplit;
    }
    if (is_part(ra) || is_part(rb)) continue;
    Equation candidate = equation(e.pool, {ra, rb}, {a, b});
    if (whole_operators(candidate.left).size() <= e.most) e.result.equations.push_back(std::move(candidate));
  }
}

}  // namespace

Enumerated enumerate(const Setting& setting, int operators) {
  Enumeration e{.pool = {setting}, .most = static_cast<std::size_t>(operators)};
  for (std::size_t i = 0; i < kDraws; ++i) e.pool.sizes.emplace_back(setting.variables, i + 1);
  e.levels.resize(e.most + 1);
  for (std::size_t v = 0; v < setting.variables.size(); ++v) {
    Entry entry{.graph = {.op = -1 - static_cast<std::int32_t>(v)}, .type = e.pool.intern(setting.variables[v].types)};
    for (std::size_t i = 0; i < kDraws; ++i) entry.values[i] = value_of(setting.variables[v], setting.variables, e.pool.sizes[i], i + 1);
    keep(e, std::move(entry), 0);
  }
  for (std::size_t level = 1; level <= e.most; ++level)
    for (std::size_t op = 0; op < setting.operators.size(); ++op) extend(e, static_cast<std::int32_t>(op), level);
  for (std::size_t id = 0; id < e.pool.entries.size(); ++id)
    if (e.pool.entries[id].operators.size() < e.most) split_in_two(e, static_cast<Id>(id));
  e.result.classes = std::ranges::count(e.classes, true, &GraphClass::shared);
  return std::move(e.result);
}

}  // namespace rules
