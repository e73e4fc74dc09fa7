// Interpretations of published rules in our language.
//
// Matrices: the replica dim is copies (Replicate copies) or partial sums (Replicate gives each of two summands the same tensor; Concat
// along it makes summands of two tensors, which Partition along it only spreads); Reduce adds summands up. Stacks: the replica dim is a dim
// like any other, Replicate makes a stack of two equal slices, Linear multiplies slice by slice. In both, Linear's weight is stored [out,
// in]. No interpretation exists for Replicate and Reduce along rows or columns, nor where a stack is added up.

#include "tests/oracles/published.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "search/rules/language/typing.hpp"

namespace rules {
namespace {

// --- sizes that follow from how tensors are used ---------------------------------------------------------------------------

struct Size;
using SizeId = int;

// Sizes are unknowns, sums of two sizes, or known to be equal to another.
class SizeTable {
 public:
  SizeId fresh() { return append({}); }
  SizeId sum(SizeId a, SizeId b) { return append({.left = a, .right = b}); }
  bool unify(SizeId a, SizeId b) {
    a = root(a);
    b = root(b);
    if (a == b) return true;
    if (!is_sum(a)) return bind(a, b);
    if (!is_sum(b)) return bind(b, a);
    return unify(entries_[index(a)].left, entries_[index(b)].left) && unify(entries_[index(a)].right, entries_[index(b)].right);
  }
  // The typing size; letters are given out in order of first use.
  Numbers numbers(SizeId s) {
    s = root(s);
    if (is_sum(s)) {
      Numbers n = numbers(entries_[index(s)].left);
      const Numbers more = numbers(entries_[index(s)].right);
      for (std::size_t a = 0; a < n.size(); ++a) n[a] += more[a];
      return n;
    }
    const auto [it, fresh] = letters_.try_emplace(s, static_cast<char>('g' + letters_.size()));
    return symbol(it->second);
  }

 private:
  struct Entry {
    SizeId same = -1, left = -1, right = -1;
  };
  static std::size_t index(SizeId s) { return static_cast<std::size_t>(s); }
  SizeId append(Entry e) {
    entries_.push_back(e);
    return static_cast<SizeId>(entries_.size()) - 1;
  }
  SizeId root(SizeId s) const {
    while (entries_[index(s)].same >= 0) s = entries_[index(s)].same;
    return s;
  }
  bool is_sum(SizeId s) const { return entries_[index(s)].left >= 0; }
  bool occurs(SizeId unknown, SizeId in) const {
    in = root(in);
    return in == unknown || (is_sum(in) && (occurs(unknown, entries_[index(in)].left) || occurs(unknown, entries_[index(in)].right)));
  }
  bool bind(SizeId unknown, SizeId to) {
    if (occurs(unknown, to)) return false;
    entries_[index(unknown)].same = to;
    return true;
  }
  std::vector<Entry> entries_;
  std::map<SizeId, char> letters_;
};

// --- translation -----------------------------------------------------------------------------------------------------------

enum class Replica { copies, sums, stack };

struct Style {
  Replica replica;
  Degree degree;  // of all parallel operators: a symbol, or 2 where two tensors are replicas
};

// A tensor of the published rule in our language.
struct Meaning {
  std::uint8_t node = 0;
  std::vector<SizeId> sizes;
  std::map<std::size_t, SizeId> joint;  // by axis: where a concatenation joined it, which is what Split undoes
  int unspread = 1;                     // summands that no Partition has spread yet
};

class Translation {
 public:
  Translation(const PublishedRule& rule, const Style& style) : rule_(rule), style_(style) {}

  // Both sides, before the variables have layouts; nullopt: there is no such interpretation.
  std::optional<Equation> equation() {
    Term left, right;
    std::vector<Meaning> lo, ro;
    if (!side(rule_.source, true, left, lo) || !side(rule_.target, false, right, ro)) return std::nullopt;
    for (std::size_t o = 0; o < lo.size(); ++o) {
      if (lo[o].sizes.size() != ro[o].sizes.size() || lo[o].unspread != ro[o].unspread) return std::nullopt;
      for (std::size_t d = 0; d < lo[o].sizes.size(); ++d)
        if (!sizes_.unify(lo[o].sizes[d], ro[o].sizes[d])) return std::nullopt;
    }
    Equation e;
    for (const auto& [name, v] : variables_) {
      Variable variable{.name = fmt::format("{}{}", name >= -3 ? "x" : "w", -name)};
      for (std::size_t d = 0; d < v.sizes.size(); ++d) {
        const Numbers n = sizes_.numbers(v.sizes[d]);
        for (std::size_t a = 0; a < kAssignments; ++a) {
          variable.types[a].rank = static_cast<std::uint8_t>(v.sizes.size());
          variable.types[a].size[d] = n[a];
          variable.types[a].degree[d] = 1;
        }
      }
      for (Term* t : {&left, &right})
        for (Node& n : t->nodes)
          if (n.kind == Kind::variable && n.variable == v.number) n.variable = static_cast<std::uint8_t>(0x80U | e.variables.size());
      e.variables.push_back(std::move(variable));
    }
    for (Term* t : {&left, &right})
      for (Node& n : t->nodes)
        if (n.kind == Kind::variable) n.variable = static_cast<std::uint8_t>(n.variable & 0x7FU);
    for (const auto& [t, node, size] : positions_) (t ? left : right).nodes[node].at = sizes_.numbers(size);
    e.left = canonical(left);
    e.right = canonical(right);
    return e;
  }

 private:
  struct VariableSizes {
    std::uint8_t number;
    std::vector<SizeId> sizes;
  };
  std::size_t rank() const { return style_.replica == Replica::stack ? 3 : 2; }

  std::uint8_t append(Term& t, Node n) {
    t.nodes.push_back(std::move(n));
    return static_cast<std::uint8_t>(t.nodes.size() - 1);
  }

  Meaning variable(Term& t, int name) {
    auto [it, fresh] = variables_.try_emplace(name, VariableSizes{static_cast<std::uint8_t>(variables_.size()), {}});
    if (fresh)
      for (std::size_t d = 0; d < rank(); ++d) it->second.sizes.push_back(sizes_.fresh());
    return {append(t, {.kind = Kind::variable, .variable = it->second.number}), it->second.sizes, {}, 1};
  }

  bool side(const PublishedSide& ops, bool left, Term& t, std::vector<Meaning>& outputs) {
    term_ = &t;
    left_ = left;
    std::vector<std::vector<Meaning>> values;
    const auto get = [&](const PublishedRef& r) -> std::optional<Meaning> {
      if (r.op < 0) return variable(t, r.op);
      const std::vector<Meaning>& v = values[static_cast<std::size_t>(r.op)];
      if (static_cast<std::size_t>(r.output) >= v.size()) return std::nullopt;
      return v[static_cast<std::size_t>(r.output)];
    };
    for (const PublishedOp& op : ops) {
      std::vector<Meaning> in;
      for (const PublishedRef& r : op.inputs) {
        std::optional<Meaning> m = get(r);
        if (!m) return false;
        in.push_back(std::move(*m));
      }
      std::optional<std::vector<Meaning>> out = translated(op, in);
      if (!out) return false;
      values.push_back(std::move(*out));
    }
    for (const auto& [from, to] : rule_.outputs) {
      std::optional<Meaning> m = get(left ? from : to);
      if (!m) return false;
      t.outputs.push_back(m->node);
      outputs.push_back(std::move(*m));
    }
    return true;
  }

  using Result = std::optional<std::vector<Meaning>>;
  Result one(Meaning m) { return std::vector<Meaning>{std::move(m)}; }
  bool same_sizes(const Meaning& a, const Meaning& b, std::size_t but = 99) {
    for (std::size_t d = 0; d < a.sizes.size(); ++d)
      if (d != but && !sizes_.unify(a.sizes[d], b.sizes[d])) return false;
    return a.unspread == b.unspread;
  }
  Meaning with(Meaning m, Node n) {
    m.node = append(*term_, std::move(n));
    return m;
  }

  Result translated(const PublishedOp& op, const std::vector<Meaning>& in) {
    const Meaning& x = in[0];
    switch (op.kind) {
      case PublishedKind::relu: return one(with(x, {.kind = Kind::unary, .function = Function::relu, .inputs = {x.node}}));
      case PublishedKind::add:
      case PublishedKind::multiply: {
        if (!same_sizes(x, in[1])) return std::nullopt;
        Meaning m = with(x, {.kind = op.kind == PublishedKind::add ? Kind::add : Kind::multiply, .inputs = {x.node, in[1].node}});
        m.joint.insert(in[1].joint.begin(), in[1].joint.end());
        return one(std::move(m));
      }
      case PublishedKind::linear: return linear(op, x, in[1]);
      case PublishedKind::concat: return concat(op, x, in[1]);
      case PublishedKind::split: return split(op, x);
      default: return parallel(op, x);
    }
  }

  Result linear(const PublishedOp& op, const Meaning& x, const Meaning& w) {
    const std::size_t r = rank();
    if (!sizes_.unify(x.sizes[r - 1], w.sizes[r - 1]) || x.unspread != 1 || w.unspread != 1) return std::nullopt;
    if (r == 3 && !sizes_.unify(x.sizes[0], w.sizes[0])) return std::nullopt;
    const std::uint8_t turned = append(*term_, {.kind = Kind::transpose, .inputs = {w.node}});
    Meaning m = x;
    m.sizes[r - 1] = w.sizes[r - 2];
    m.joint.erase(r - 1);
    if (const auto it = w.joint.find(r - 2); it != w.joint.end()) m.joint[r - 1] = it->second;
    if (r == 2) return one(with(std::move(m), {.kind = Kind::linear, .function = op.function, .inputs = {x.node, turned}}));
    m = with(std::move(m), {.kind = Kind::batch_matmul, .inputs = {x.node, turned}});
    if (op.function != Function::none) m = with(m, {.kind = Kind::unary, .function = op.function, .inputs = {m.node}});
    return one(std::move(m));
  }

  Result concat(const PublishedOp& op, const Meaning& x, const Meaning& y) {
    const std::optional<std::uint8_t> axis = axis_of(op.dim);
    if (!axis) {  // replicas are joined: two partial sums
      if (style_.replica != Replica::sums || !same_sizes(x, y)) return std::nullopt;
      Meaning m = with(x, {.kind = Kind::summands, .inputs = {x.node, y.node}});
      m.unspread *= 2;
      return one(std::move(m));
    }
    if (!same_sizes(x, y, *axis)) return std::nullopt;
    Meaning m = with(x, {.kind = Kind::concat, .axis = *axis, .inputs = {x.node, y.node}});
    m.sizes[*axis] = sizes_.sum(x.sizes[*axis], y.sizes[*axis]);
    m.joint[*axis] = x.sizes[*axis];
    return one(std::move(m));
  }

  Result split(const PublishedOp& op, const Meaning& x) {
    const std::optional<std::uint8_t> axis = axis_of(op.dim);
    if (!axis || !x.joint.contains(*axis)) return std::nullopt;
    const SizeId first = x.joint.at(*axis), second = sizes_.fresh();
    if (!sizes_.unify(x.sizes[*axis], sizes_.sum(first, second))) return std::nullopt;
    std::vector<Meaning> parts;
    for (const Kind k : {Kind::split0, Kind::split1}) {
      Meaning m = with(x, {.kind = k, .axis = *axis, .inputs = {x.node}});
      positions_.emplace_back(left_, m.node, first);
      m.joint.erase(*axis);
      m.sizes[*axis] = k == Kind::split0 ? first : second;
      parts.push_back(std::move(m));
    }
    return parts;
  }

  Result parallel(const PublishedOp& op, const Meaning& x) {
    const std::optional<std::uint8_t> axis = axis_of(op.dim);
    if (op.kind == PublishedKind::replicate || op.kind == PublishedKind::reduce) {
      if (op.dim != 0) return std::nullopt;  // rows that are repeated or added up in place
      return op.kind == PublishedKind::replicate ? replicate(x) : reduce(x);
    }
    if (!axis) {
      if (op.kind != PublishedKind::partition || x.unspread < 2) return std::nullopt;
      Meaning m = x;
      m.unspread /= 2;
      return one(std::move(m));
    }
    return one(with(x, {.kind = op.kind == PublishedKind::partition ? Kind::partition : Kind::combine,
                        .axis = *axis,
                        .degree = style_.degree,
                        .inputs = {x.node}}));
  }
  Result replicate(const Meaning& x) {
    switch (style_.replica) {
      case Replica::copies: return one(with(x, {.kind = Kind::replicate, .degree = style_.degree, .inputs = {x.node}}));
      case Replica::sums: return one(with(x, {.kind = Kind::summands, .inputs = {x.node, x.node}}));
      case Replica::stack: break;
    }
    Meaning m = with(x, {.kind = Kind::concat, .inputs = {x.node, x.node}});
    m.sizes[0] = sizes_.sum(x.sizes[0], x.sizes[0]);
    m.joint.erase(0);
    return one(with(m, {.kind = Kind::partition, .degree = style_.degree, .inputs = {m.node}}));
  }
  Result reduce(const Meaning& x) {
    if (style_.replica == Replica::stack || x.unspread != 1) return std::nullopt;
    return one(with(x, {.kind = Kind::reduce, .degree = style_.degree, .inputs = {x.node}}));
  }

  // Our axis of a published dim; nullopt: the replica dim, where that is no dim here.
  std::optional<std::uint8_t> axis_of(int dim) const {
    if (style_.replica == Replica::stack) return static_cast<std::uint8_t>(dim);
    if (dim == 0) return std::nullopt;
    return static_cast<std::uint8_t>(dim - 1);
  }

  const PublishedRule& rule_;
  Style style_;
  SizeTable sizes_;
  std::map<int, VariableSizes, std::greater<>> variables_;
  std::vector<std::tuple<bool, std::uint8_t, SizeId>> positions_;  // of splits: on the left, node, size
  Term* term_ = nullptr;
  bool left_ = true;
};

// --- layouts of the variables ----------------------------------------------------------------------------------------------

// Plain, one dim cut, copies, summands, and pairs of these; by `degree`.
std::vector<Types> layouts(const Types& plain, Degree degree) {
  const auto times = [&](Types t, int what) {
    const Numbers d = values(degree);
    for (std::size_t a = 0; a < kAssignments; ++a) {
      if (what == 0) t[a].copies *= d[a];
      else if (what == 1) t[a].summands *= d[a];
      else t[a].degree[static_cast<std::size_t>(what - 2)] *= d[a];
    }
    return t;
  };
  const int choices = 2 + plain[0].rank;
  std::vector<Types> all{plain};
  for (int i = 0; i < choices; ++i) all.push_back(times(plain, i));
  for (int i = 0; i < choices; ++i)
    for (int j = i; j < choices; ++j) all.push_back(times(times(plain, i), j));
  return all;
}

bool types_alike(const Equation& e) {
  const auto l = types_of(e.left, e.variables);
  if (!l) return false;
  const auto r = types_of(e.right, e.variables);
  if (!r) return false;
  for (std::size_t o = 0; o < e.left.outputs.size(); ++o)
    if ((*l)[e.left.outputs[o]] != (*r)[e.right.outputs[o]]) return false;
  return true;
}

// Gives the variables from `v` on the first layouts that type both sides alike.
bool lay_out(Equation& e, Degree degree, std::size_t v, int changed) {
  if (v == e.variables.size()) return types_alike(e);
  const Types plain = e.variables[v].types;
  const std::vector<Types> options = layouts(plain, degree);
  for (std::size_t i = 0; i < (changed > 2 ? 1 : options.size()); ++i) {
    e.variables[v].types = options[i];
    if (lay_out(e, degree, v + 1, changed + (i > 0 ? 1 : 0))) return true;
  }
  e.variables[v].types = plain;
  return false;
}

}  // namespace

std::vector<TypedEquation> interpretations(const PublishedRule& r) {
  constexpr Degree kSymbol{{1, 0, 0}}, kTwo{{0, 0, 1}};
  std::vector<TypedEquation> all;
  for (const Style& style : {Style{Replica::copies, kSymbol}, Style{Replica::sums, kTwo}, Style{Replica::stack, kTwo}})
    if (std::optional<Equation> e = Translation(r, style).equation(); e && lay_out(*e, style.degree, 0, 0))
      all.push_back(TypedEquation::make(std::move(*e)).value());
  return all;
}

}  // namespace rules
