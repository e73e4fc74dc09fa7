#include "search/rules/language/text.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace rules {

std::string to_text(Degree d) {
  std::string factors;
  for (std::size_t s = 0; s < d.powers.size(); ++s) factors.append(d.powers[s], "de2"[s]);
  return factors.empty() ? "1" : fmt::format("{}", fmt::join(factors, "*"));
}

std::string degree_text(const Numbers& values) { return to_text(degree_from(values).value()); }

namespace {

using Variables = std::span<const Variable>;

bool adds_up(const Numbers& left, Variables variables, std::size_t from, int terms, std::vector<VariableDim>& chosen) {
  for (std::size_t v = from; v < variables.size(); ++v)
    for (std::size_t d = 0; d < variables[v].types[0].rank; ++d) {
      const Numbers n = dim_size(variables[v].types, d);
      chosen.push_back({static_cast<std::uint8_t>(v), static_cast<std::uint8_t>(d)});
      if (n == left) return true;
      const Numbers rest = minus(left, n);
      if (terms > 1 && std::ranges::min(rest) > 0 && adds_up(rest, variables, v, terms - 1, chosen)) return true;
      chosen.pop_back();
    }
  return false;
}

bool has_letters_of(const Numbers& size, Variables variables) {
  const auto letters = letters_of(size);
  return letters && !letters->empty() && std::ranges::all_of(*letters, [&](char c) { return is_letter_of(c, variables); });
}

// "w.1+u.1"
std::string dims_text(const Numbers& n, Variables variables) {
  const auto dims = dims_adding_to(n, variables);
  if (!dims && has_letters_of(n, variables)) return fmt::format("{}", fmt::join(letters_of(n).value(), "+"));
  if (!dims) throw std::logic_error(fmt::format("size {} is no sum of variables' dims", n[0]));
  std::string text;
  for (const VariableDim& d : *dims) text += fmt::format("{}{}.{}", text.empty() ? "" : "+", variables[d.variable].name, d.dim);
  return text;
}

// The text in the brackets; an optional function that is not there has none.
std::string attributes(const Node& n, Variables variables) {
  switch (facts_of(n.kind).parameters) {
    case Parameters::none:
    case Parameters::name: return "";
    case Parameters::function: return n.function == Function::none ? "" : fmt::format("[{}]", name_of(n.function));
    case Parameters::axis: return fmt::format("[{}]", n.axis);
    case Parameters::axis_position: return fmt::format("[{} at {}]", n.axis, dims_text(n.at, variables));
    case Parameters::size: return fmt::format("[{}]", dims_text(n.at, variables));
    case Parameters::two_sizes: return fmt::format("[{}, {}]", dims_text(n.at, variables), dims_text(n.by, variables));
    case Parameters::axis_and_degree: return fmt::format("[{}, {}]", n.axis, to_text(n.degree));
    case Parameters::degree: return fmt::format("[{}]", to_text(n.degree));
  }
  return "";
}

std::string node_text(const Term& t, std::size_t at, Variables variables) {
  const Node& n = t.nodes[at];
  if (n.kind == Kind::variable) return variables[n.variable].name;
  std::string text(n.kind == Kind::unary ? name_of(n.function) : name_of(n.kind));
  text += attributes(n, variables);
  for (std::size_t i = 0; i < n.inputs.size(); ++i) text += (i == 0 ? "(" : ", ") + node_text(t, n.inputs[i], variables);
  return n.inputs.empty() ? text : text + ")";
}

// "2k+n"; a plain number as it is.
std::string written_size(const Numbers& n) {
  const std::optional<std::string> letters = letters_of(n);
  if (!letters) throw std::logic_error(fmt::format("size {} is no sum of letters", n[0]));
  if (letters->empty()) return std::to_string(n[0]);
  std::string text;
  for (std::size_t i = 0; i < letters->size();) {
    const char c = (*letters)[i];
    const auto count = static_cast<std::size_t>(std::ranges::count(*letters, c));
    text += fmt::format("{}{}{}", text.empty() ? "" : "+", count > 1 ? std::to_string(count) : "", c);
    i += count;
  }
  return text;
}

}  // namespace

std::optional<std::vector<VariableDim>> dims_adding_to(const Numbers& sizes, Variables variables) {
  for (int terms = 1; terms <= 4; ++terms) {
    std::vector<VariableDim> chosen;
    if (adds_up(sizes, variables, 0, terms, chosen)) return chosen;
  }
  return std::nullopt;
}

bool names_size(const Node& n, const Numbers& size, Variables variables) {
  return dims_adding_to(size, variables) || (is_split(n.kind) && has_letters_of(size, variables));
}

bool is_letter_of(char letter, Variables variables) {
  for (const Variable& v : variables)
    for (std::size_t d = 0; d < v.types[0].rank; ++d)
      if (letters_of(dim_size(v.types, d)).value_or("").find(letter) != std::string::npos) return true;
  return false;
}

std::string to_text(const Term& t, Variables variables) {
  std::string text;
  for (const std::uint8_t o : t.outputs) text += (text.empty() ? "" : " ; ") + node_text(t, o, variables);
  return text;
}

std::string to_text(const Variable& v) {
  const Types& t = v.types;
  std::string text = v.name + ": [";
  for (std::size_t d = 0; d < t[0].rank; ++d) {
    text += (d == 0 ? "" : ", ") + written_size(dim_size(t, d));
    if (t[0].degree[d] > 1) text += "/" + degree_text(dim_degree(t, d));
  }
  text += "]";
  if (t[0].index) text += " index";
  if (t[0].summands > 1) text += " sum " + degree_text(summands_of(t));
  if (t[0].copies > 1) text += " copy " + degree_text(copies_of(t));
  return text;
}

}  // namespace rules
