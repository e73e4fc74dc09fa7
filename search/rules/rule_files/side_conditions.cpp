#include "search/rules/language/text.hpp"
#include "search/rules/rule_files/rule_file.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

namespace rules {
namespace {

bool divides(const Numbers& a, const Numbers& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (b[i] % a[i] != 0) return false;
  return true;
}

// The degrees that divide no other: a size that these divide is divided by all.
std::vector<Numbers> largest(const std::set<Numbers>& degrees) {
  std::vector<Numbers> result;
  std::ranges::copy_if(degrees, std::back_inserter(result), [&](const Numbers& degree) {
    return std::ranges::none_of(degrees, [&](const Numbers& other) { return other != degree && divides(degree, other); });
  });
  return result;
}

Term part_of(Term t, std::size_t node) {
  t.outputs = {static_cast<std::uint8_t>(node)};
  return canonical(t);
}

std::string dim_text(const Variable& v, std::size_t d) { return fmt::format("dim {} of {}", d, v.name); }

struct Side {
  const Term& term;
  const std::vector<Types>& types;  // by node
};

struct Conditions {
  const Rule& rule;
  const std::vector<Variable>& variables;
  std::vector<std::string> texts;
};

template <class... Args>
void say(Conditions& to, fmt::format_string<Args...> format, Args&&... args) {
  to.texts.push_back(fmt::format(format, std::forward<Args>(args)...));
}

void kinds(Conditions& to) {
  for (const Variable& v : to.variables) {
    if (v.types[0].rank == 0) say(to, "{} is a number", v.name);
    if (v.types[0].index) say(to, "{} holds numbers of rows", v.name);
  }
}

// Where a dim is summed away, one that rode along would be another behind it (Pattern::exact_rank).
void ranks(Conditions& to) {
  for (const Term* t : {&to.rule.source(), &to.rule.target()})
    if (t->count(Kind::sum) > 0) return say(to, "tensors have just the rule's dims, no further ones");
}

bool is_kernel(const Conditions& to, std::size_t variable) {
  if (to.variables[variable].types[0].rank != 4) return false;  // a number that scales one
  const Term& t = to.rule.source();
  return std::ranges::any_of(t.nodes, [&](const Node& n) { return is_convolution(n.kind) && uses(part_of(t, n.inputs[1]), variable); });
}

// Any size from 2 is a sum of sizes that nothing else has.
bool is_any_sum(const Conditions& to, const std::string& letters) {
  return letters.size() == 2 && letters[0] != letters[1] &&
         std::ranges::none_of(letters, [&](char c) { return dims_adding_to(symbol(c), to.variables).has_value(); });
}

// "= dim 1 of x + 2 times dim 0 of y", "is a multiple of 3". A letter stands for the first dim that is nothing else.
std::string sum_text(const Conditions& to, const std::string& letters) {
  std::vector<std::string> parts;
  for (auto c = letters.begin(); c != letters.end();) {
    const std::ptrdiff_t times = std::count(c, letters.end(), *c);  // they are sorted
    std::string part;
    for (const Variable& v : to.variables)
      for (std::size_t d = v.types[0].rank; d-- > 0;)
        if (dim_size(v.types, d) == symbol(*c)) part = dim_text(v, d);
    if (part.empty() && times == static_cast<std::ptrdiff_t>(letters.size())) return fmt::format("is a multiple of {}", times);
    if (part.empty()) part = "any size";
    parts.push_back(times > 1 ? fmt::format("{} times {}", times, part) : part);
    c += times;
  }
  return fmt::format("= {}", fmt::join(parts, " + "));
}

// Each size is stated once, where it is first met.
void sizes(Conditions& to) {
  std::map<Numbers, std::string> first;
  std::vector<std::string> sums;
  for (std::size_t v = 0; v < to.variables.size(); ++v) {
    const Variable& variable = to.variables[v];
    const auto same = std::ranges::find_if(
        to.variables, [&](const Variable& w) { return std::ranges::equal(w.types, variable.types, {}, &Type::size, &Type::size); });
    if (variable.types[0].rank > 0 && &*same != &variable) {
      say(to, "{} has the sizes of {}", variable.name, same->name);
      continue;
    }
    for (std::size_t d = 0; d < variable.types[0].rank; ++d) {
      const Numbers n = dim_size(variable.types, d);
      const auto letters = letters_of(n);
      const auto [it, fresh] = first.emplace(n, dim_text(variable, d));
      if (letters && letters->empty()) {
        if (!is_kernel(to, v) || d < 2) say(to, "{} is {}", dim_text(variable, d), n[0]);
      } else if (!fresh) say(to, "{} = {}", dim_text(variable, d), it->second);
      else if (letters && letters->size() > 1 && !is_any_sum(to, *letters))
        sums.push_back(dim_text(variable, d) + " " + sum_text(to, *letters));
    }
  }
  std::ranges::move(sums, std::back_inserter(to.texts));
}

void layouts(Conditions& to) {
  for (const Variable& v : to.variables) {
    for (std::size_t d = 0; d < v.types[0].rank; ++d)
      if (v.types[0].degree[d] > 1) say(to, "{} is cut in {}", dim_text(v, d), degree_text(dim_degree(v.types, d)));
    if (v.types[0].summands > 1) say(to, "{} is {} partial sums", v.name, degree_text(summands_of(v.types)));
    if (v.types[0].copies > 1) say(to, "{} has {} copies", v.name, degree_text(copies_of(v.types)));
  }
}

std::string text_of(const Conditions& to, const Term& t, std::size_t node) { return to_text(part_of(t, node), to.variables); }

// Where no dims say where a split cuts: anywhere, but all such splits of the source alike.
void cuts(Conditions& to) {
  const auto tensors = [&](const Term& t) {
    std::map<Numbers, std::set<std::uint8_t>> by_place;  // the nodes that are cut there
    for (const Node& n : t.nodes)
      if (is_split(n.kind) && !dims_adding_to(n.at, to.variables)) by_place[n.at].insert(n.inputs[0]);
    return by_place;
  };
  const auto places = tensors(to.rule.source());
  for (const auto& [at, inputs] : places) {
    std::vector<std::string> texts;
    for (const std::uint8_t i : inputs) texts.push_back(text_of(to, to.rule.source(), i));
    if (texts.size() > 1) say(to, "{} are cut at the same place", fmt::join(texts, ", "));
  }
  for (const auto& [at, inputs] : tensors(to.rule.target()))
    for (const std::uint8_t i : inputs)
      if (!places.contains(at)) say(to, "{} may be cut anywhere", text_of(to, to.rule.target(), i));
}

std::array<Side, 2> sides(const Rule& rule) { return {Side{rule.source(), rule.source_types()}, Side{rule.target(), rule.target_types()}}; }

// Names the first tensor of this size.
std::string inner_dim_text(const Conditions& to, const Numbers& size) {
  for (const Side& side : sides(to.rule))
    for (std::size_t n = 0; n < side.term.nodes.size(); ++n)
      for (std::size_t d = 0; d < side.types[n][0].rank; ++d)
        if (dim_size(side.types[n], d) == size) return fmt::format("dim {} of {}", d, text_of(to, side.term, n));
  return "the size that is cut";
}

std::string size_text(const Conditions& to, const Numbers& size) {
  const auto dims = dims_adding_to(size, to.variables);
  if (!dims) return inner_dim_text(to, size);
  std::vector<std::string> parts;
  for (const VariableDim& d : *dims) parts.push_back(dim_text(to.variables[d.variable], d.dim));
  return fmt::format("{}", fmt::join(parts, " + "));
}

void divisors(Conditions& to) {
  std::map<Numbers, std::set<Numbers>> cuts;  // size -> degrees
  std::set<Numbers> heads, widths;            // degrees that attentions are cut in; sizes of what they make
  for (const Side& side : sides(to.rule))
    for (std::size_t n = 0; n < side.term.nodes.size(); ++n)
      for (std::size_t d = 0; d < side.types[n][0].rank; ++d) {
        const bool by_heads = side.term.nodes[n].kind == Kind::attention && d == 2;
        const Numbers size = dim_size(side.types[n], d), degree = dim_degree(side.types[n], d);
        if (by_heads) widths.insert(size);
        if (degree[0] > 1) (by_heads ? heads : cuts[size]).insert(degree);
      }
  // Key heads divide heads, and heads the width, which no variable may have.
  const auto implied_by_heads = [&](const Numbers& size, const Numbers& degree) {
    return widths.contains(size) && !dims_adding_to(size, to.variables) &&
           std::ranges::any_of(heads, [&](const Numbers& h) { return divides(degree, h); });
  };
  for (const auto& [size, degrees] : cuts)
    for (const Numbers& degree : largest(degrees))
      if (!implied_by_heads(size, degree)) say(to, "{} divides {}", degree_text(degree), size_text(to, size));
  for (const Numbers& degree : largest(heads)) say(to, "{} divides the number of key heads", degree_text(degree));
}

void degrees(Conditions& to) {
  const auto in = [](const Term& t, std::size_t symbol) {
    return std::ranges::any_of(t.nodes, [&](const Node& n) { return n.degree.powers[symbol] > 0; });
  };
  for (const std::size_t symbol : {0U, 1U}) {
    const char name = symbol == 0 ? 'd' : 'e';
    if (in(to.rule.source(), symbol)) say(to, "{}: the degree that the source has", name);
    else if (in(to.rule.target(), symbol)) say(to, "{}: any degree from 2", name);
  }
}

// A kernel of 3 x 3 stands for any window, a smaller one for itself (matcher.hpp).
void windows(Conditions& to) {
  for (std::size_t v = 0; v < to.variables.size(); ++v) {
    if (!is_kernel(to, v)) continue;
    const std::int64_t rows = to.variables[v].types[0].size[2], columns = to.variables[v].types[0].size[3];
    if (rows == 3 && columns == 3) say(to, "{} has any number of rows and columns, with any stride and padding", to.variables[v].name);
    else say(to, "{} has {} x {} rows and columns, with stride 1 and the padding that keeps sizes", to.variables[v].name, rows, columns);
  }
  std::map<std::string_view, int> any;  // operators of any window, by what has one in common
  for (const Node& n : to.rule.source().nodes) {
    if (is_convolution(n.kind)) {
      const Type& kernel = to.rule.source_types()[n.inputs[1]][0];
      if (kernel.size[2] == 3 && kernel.size[3] == 3) ++any["convolutions"];
    } else if (n.kind == Kind::max_pool) ++any["max pools"];
    else if (n.kind == Kind::average_pool) ++any["average pools"];
  }
  for (const auto& [plural, count] : any)
    if (count > 1) say(to, "windows of {} are equal: rows, columns, stride and padding", plural);
}

// Operators that are taken away must have no other readers.
void readers(Conditions& to) {
  const Term& t = to.rule.source();
  std::vector<std::string> inner;
  for (std::size_t n = 0; n < t.nodes.size(); ++n)
    if (t.nodes[n].kind != Kind::variable && std::ranges::count(t.outputs, n) == 0) inner.push_back(text_of(to, t, n));
  if (!inner.empty()) say(to, "nothing else reads {}", fmt::join(inner, ", "));
}

}  // namespace

std::vector<std::string> side_conditions(const Rule& rule) {
  Conditions to{rule, rule.equation.variables(), {}};
  kinds(to);
  ranks(to);
  sizes(to);
  layouts(to);
  cuts(to);
  divisors(to);
  degrees(to);
  windows(to);
  readers(to);
  return std::move(to.texts);
}

}  // namespace rules
