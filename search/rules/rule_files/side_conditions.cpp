#include "search/rules/rule_files/side_conditions.hpp"
#include "search/rules/language/text.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

namespace rules {
namespace {

Numbers degree_of(const Types& t, std::size_t d) { return {t[0].degree[d], t[1].degree[d], t[2].degree[d]}; }
Numbers summands_of(const Types& t) { return {t[0].summands, t[1].summands, t[2].summands}; }
Numbers copies_of(const Types& t) { return {t[0].copies, t[1].copies, t[2].copies}; }

std::string degree_text(const Numbers& values) { return to_text(degree_from(values).value()); }
bool divides(const Numbers& a, const Numbers& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (b[i] % a[i] != 0) return false;
  return true;
}

// Those that divide no other: who meets these meets them all.
std::vector<Numbers> largest(const std::set<Numbers>& degrees) {
  std::vector<Numbers> result;
  std::ranges::copy_if(degrees, std::back_inserter(result), [&](const Numbers& degree) {
    return std::ranges::none_of(degrees, [&](const Numbers& other) { return other != degree && divides(degree, other); });
  });
  return result;
}

std::string dim_text(const Variable& v, std::size_t d) { return fmt::format("dim {} of {}", d, v.name); }

class Conditions {
 public:
  explicit Conditions(const Rule& rule) : rule_(rule), variables_(rule.equation.variables()) {}

  std::vector<std::string> all() {
    kinds();
    ranks();
    sizes();
    layouts();
    cuts();
    divisors();
    degrees();
    windows();
    readers();
    return std::move(texts_);
  }

 private:
  struct Side {
    const Term& term;
    const std::vector<Types>& types;  // by node
  };
  [[nodiscard]] Side source() const { return {rule_.source(), rule_.source_types()}; }
  [[nodiscard]] Side target() const { return {rule_.target(), rule_.target_types()}; }

  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    texts_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void kinds() {
    for (const Variable& v : variables_) {
      if (v.types[0].rank == 0) say("{} is a number", v.name);
      if (v.types[0].index) say("{} holds numbers of rows", v.name);
    }
  }

  // Where a dim is summed away, one that rode along would be another behind it (Pattern::exact_rank).
  void ranks() {
    for (const Term* t : {&rule_.source(), &rule_.target()})
      if (std::ranges::count(t->nodes, Kind::sum, &Node::kind) > 0) return say("tensors have just the rule's dims, no further ones");
  }

  // Each size is stated once, where it is first met.
  void sizes() {
    std::map<Numbers, std::string> first;
    std::vector<std::string> sums;
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      const Variable& variable = variables_[v];
      const auto same = std::ranges::find_if(variables_.begin(), variables_.begin() + static_cast<std::ptrdiff_t>(v),
                                             [&](const Variable& w) { return same_sizes(w, variable); });
      if (variable.types[0].rank > 0 && same != variables_.begin() + static_cast<std::ptrdiff_t>(v)) {
        say("{} has the sizes of {}", variable.name, same->name);
        continue;
      }
      for (std::size_t d = 0; d < variable.types[0].rank; ++d) {
        const Numbers n = dim_size(variable.types, d);
        const auto letters = letters_of(n);
        const auto [it, fresh] = first.emplace(n, dim_text(variable, d));
        if (letters && letters->empty()) {
          if (!is_kernel(v) || d < 2) say("{} is {}", dim_text(variable, d), n[0]);
        } else if (!fresh) say("{} = {}", dim_text(variable, d), it->second);
        else if (letters && letters->size() > 1 && !is_any_sum(*letters)) sums.push_back(dim_text(variable, d) + " " + sum_text(*letters));
      }
    }
    std::ranges::move(sums, std::back_inserter(texts_));
  }
  static bool same_sizes(const Variable& a, const Variable& b) {
    if (a.types[0].rank != b.types[0].rank) return false;
    for (std::size_t d = 0; d < a.types[0].rank; ++d)
      if (dim_size(a.types, d) != dim_size(b.types, d)) return false;
    return true;
  }
  // Any size from 2 is a sum of sizes that nothing else has.
  bool is_any_sum(const std::string& letters) const {
    return letters.size() == 2 && letters[0] != letters[1] &&
           std::ranges::none_of(letters, [&](char c) { return dims_adding_to(symbol(c), variables_).has_value(); });
  }
  // "= dim 1 of x + 2 times dim 0 of y", "is a multiple of 3". A letter stands for the first dim that is nothing else.
  std::string sum_text(const std::string& letters) const {
    std::vector<std::string> parts;
    for (auto c = letters.begin(); c != letters.end();) {
      const std::ptrdiff_t times = std::count(c, letters.end(), *c);  // they are sorted
      std::string part;
      for (const Variable& v : variables_)
        for (std::size_t d = v.types[0].rank; d-- > 0;)
          if (dim_size(v.types, d) == symbol(*c)) part = dim_text(v, d);
      if (part.empty() && times == static_cast<std::ptrdiff_t>(letters.size())) return fmt::format("is a multiple of {}", times);
      if (part.empty()) part = "any size";
      parts.push_back(times > 1 ? fmt::format("{} times {}", times, part) : part);
      c += times;
    }
    return fmt::format("= {}", fmt::join(parts, " + "));
  }

  void layouts() {
    for (const Variable& v : variables_) {
      for (std::size_t d = 0; d < v.types[0].rank; ++d)
        if (v.types[0].degree[d] > 1) say("{} is cut in {}", dim_text(v, d), degree_text(degree_of(v.types, d)));
      if (v.types[0].summands > 1) say("{} is {} partial sums", v.name, degree_text(summands_of(v.types)));
      if (v.types[0].copies > 1) say("{} has {} copies", v.name, degree_text(copies_of(v.types)));
    }
  }

  // Where no dims say where a split cuts: anywhere, but all such splits of the source alike.
  void cuts() {
    const auto tensors = [&](const Term& t) {
      std::map<Numbers, std::set<std::uint8_t>> by_place;  // the nodes that are cut there
      for (const Node& n : t.nodes)
        if (is_split(n.kind) && !dims_adding_to(n.at, variables_)) by_place[n.at].insert(n.inputs[0]);
      return by_place;
    };
    const auto places = tensors(rule_.source());
    for (const auto& [at, inputs] : places) {
      std::vector<std::string> texts;
      for (const std::uint8_t i : inputs) texts.push_back(text_of(rule_.source(), i));
      if (texts.size() > 1) say("{} are cut at the same place", fmt::join(texts, ", "));
    }
    for (const auto& [at, inputs] : tensors(rule_.target()))
      for (const std::uint8_t i : inputs)
        if (!places.contains(at)) say("{} may be cut anywhere", text_of(rule_.target(), i));
  }

  void divisors() {
    std::map<Numbers, std::set<Numbers>> cuts;  // size -> degrees
    std::set<Numbers> heads, widths;            // degrees that attentions are cut in; sizes of what they make
    for (const Side& side : {source(), target()})
      for (std::size_t n = 0; n < side.term.nodes.size(); ++n)
        for (std::size_t d = 0; d < side.types[n][0].rank; ++d) {
          const bool by_heads = side.term.nodes[n].kind == Kind::attention && d == 2;
          const Numbers size = dim_size(side.types[n], d), degree = degree_of(side.types[n], d);
          if (by_heads) widths.insert(size);
          if (degree[0] > 1) (by_heads ? heads : cuts[size]).insert(degree);
        }
    // Key heads divide heads, and heads the width, which no variable may have.
    const auto implied_by_heads = [&](const Numbers& size, const Numbers& degree) {
      return widths.contains(size) && !dims_adding_to(size, variables_) &&
             std::ranges::any_of(heads, [&](const Numbers& h) { return divides(degree, h); });
    };
    for (const auto& [size, degrees] : cuts)
      for (const Numbers& degree : largest(degrees))
        if (!implied_by_heads(size, degree)) say("{} divides {}", degree_text(degree), size_text(size));
    for (const Numbers& degree : largest(heads)) say("{} divides the number of key heads", degree_text(degree));
  }
  std::string size_text(const Numbers& size) const {
    const auto dims = dims_adding_to(size, variables_);
    if (!dims) return inner_dim_text(size);
    std::vector<std::string> parts;
    for (const VariableDim& d : *dims) parts.push_back(dim_text(variables_[d.variable], d.dim));
    return fmt::format("{}", fmt::join(parts, " + "));
  }
  // Of the first tensor of this size.
  std::string inner_dim_text(const Numbers& size) const {
    for (const Side& side : {source(), target()})
      for (std::size_t n = 0; n < side.term.nodes.size(); ++n)
        for (std::size_t d = 0; d < side.types[n][0].rank; ++d)
          if (dim_size(side.types[n], d) == size) return fmt::format("dim {} of {}", d, text_of(side.term, n));
    return "the size that is cut";
  }
  std::string text_of(Term t, std::size_t node) const {
    t.outputs = {static_cast<std::uint8_t>(node)};
    return to_text(t, variables_);
  }

  void degrees() {
    const auto in = [](const Term& t, std::size_t symbol) {
      return std::ranges::any_of(t.nodes, [&](const Node& n) { return n.degree.powers[symbol] > 0; });
    };
    for (const std::size_t symbol : {0U, 1U}) {
      const char name = symbol == 0 ? 'd' : 'e';
      if (in(rule_.source(), symbol)) say("{}: the degree that the source has", name);
      else if (in(rule_.target(), symbol)) say("{}: any degree from 2", name);
    }
  }

  // A kernel of 3 x 3 stands for any window, a smaller one for itself (matcher.hpp).
  void windows() {
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      if (!is_kernel(v)) continue;
      const std::int64_t rows = variables_[v].types[0].size[2], columns = variables_[v].types[0].size[3];
      if (rows == 3 && columns == 3) say("{} has any number of rows and columns, with any stride and padding", variables_[v].name);
      else say("{} has {} x {} rows and columns, with stride 1 and the padding that keeps sizes", variables_[v].name, rows, columns);
    }
    std::map<std::string_view, int> any;  // operators of any window, by what has one in common
    for (const Node& n : rule_.source().nodes) {
      if (is_convolution(n.kind)) {
        const Type& kernel = rule_.source_types()[n.inputs[1]][0];
        if (kernel.size[2] == 3 && kernel.size[3] == 3) ++any["convolutions"];
      } else if (n.kind == Kind::max_pool) ++any["max pools"];
      else if (n.kind == Kind::average_pool) ++any["average pools"];
    }
    for (const auto& [plural, count] : any)
      if (count > 1) say("windows of {} are equal: rows, columns, stride and padding", plural);
  }
  [[nodiscard]] bool is_kernel(std::size_t variable) const {
    if (variables_[variable].types[0].rank != 4) return false;  // a number that scales one
    const auto leads_to = [&](const Term& t, auto& self, std::uint8_t n) -> bool {
      const Node& node = t.nodes[n];
      return node.kind == Kind::variable ? node.variable == variable
                                         : std::ranges::any_of(node.inputs, [&](std::uint8_t i) { return self(t, self, i); });
    };
    const Term& t = rule_.source();
    return std::ranges::any_of(t.nodes, [&](const Node& n) { return is_convolution(n.kind) && leads_to(t, leads_to, n.inputs[1]); });
  }

  // What is taken away must not be missed.
  void readers() {
    const Term& t = rule_.source();
    std::vector<std::string> inner;
    for (std::size_t n = 0; n < t.nodes.size(); ++n) {
      if (t.nodes[n].kind == Kind::variable || std::ranges::count(t.outputs, n) > 0) continue;
      inner.push_back(text_of(t, n));
    }
    if (!inner.empty()) say("nothing else reads {}", fmt::join(inner, ", "));
  }

  const Rule& rule_;
  const std::vector<Variable>& variables_;
  std::vector<std::string> texts_;
};

}  // namespace

std::vector<std::string> side_conditions(const Rule& rule) { return Conditions(rule).all(); }

}  // namespace rules
