#include "search/rules/proof/prove.hpp"
#include "search/rules/semantics/values.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace rules {
namespace {

// Where a split falls depends on which sizes are greater: each draw orders them anew.
std::uint64_t draws(const Equation& e) {
  const auto splits = [](const Node& n) { return is_split(n.kind); };
  return std::ranges::any_of(e.left.nodes, splits) || std::ranges::any_of(e.right.nodes, splits) ? 100 : 6;
}

std::vector<std::int64_t> coordinates(const std::vector<std::int64_t>& sizes, std::size_t element) {
  std::vector<std::int64_t> at(sizes.size());
  auto left = static_cast<std::int64_t>(element);
  for (std::size_t d = sizes.size(); d-- > 0; left /= sizes[d]) at[d] = left % sizes[d];
  return at;
}

std::string sizes_text(const Equation& e, const SmallSizes& sizes) {
  std::string text;
  for (const Variable& v : e.variables)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", v.name, value_of(v, e.variables, sizes, 0).sizes);
  return text;
}

std::optional<std::string> difference(const Value& l, const Value& r) {
  if (l.sizes != r.sizes) return fmt::format("{} on the left, {} on the right", l.sizes, r.sizes);
  for (std::size_t i = 0; i < l.elements.size(); ++i)
    if (l.elements[i] != r.elements[i])
      return fmt::format("at {}: {} on the left, {} on the right", coordinates(l.sizes, i), l.elements[i], r.elements[i]);
  return std::nullopt;
}

// What values_of() has stand-ins for, each once.
struct StandIns {
  std::set<std::string_view> names;
  bool are_known = true;  // whole_numbers_of() knows what they are
};
StandIns stand_ins_of(const Equation& e) {
  StandIns s;
  const auto add = [&](std::string_view name, bool is_known) {
    s.names.insert(name);
    s.are_known = s.are_known && is_known;
  };
  for (const Term* t : {&e.left, &e.right})
    for (const Node& n : t->nodes) switch (n.kind) {
        case Kind::max_pool: add(name_of(n.kind), true); break;
        case Kind::dropout:
        case Kind::softmax:
        case Kind::layer_norm:
        case Kind::rms_norm:
        case Kind::batch_norm:
        case Kind::attention: add(name_of(n.kind), false); break;
        case Kind::average_pool:
        case Kind::pool_kernel: s.are_known = false; break;  // ninths have no sign in the field
        default:
          if (n.function != Function::none) add(name_of(n.function), n.function == Function::relu || n.function == Function::relu2);
      }
  return s;
}

// Where the sides differ; nullopt: nowhere in all draws, or their values become too large.
template <class Values>
std::optional<std::string> difference_of(const TypedEquation& e, Values&& values) {
  for (std::uint64_t seed = 1; seed <= draws(e); ++seed) {
    const SmallSizes sizes(e.variables(), seed);
    const std::optional<std::vector<Value>> l = values(e.left(), e.variables(), sizes, seed),
                                            r = values(e.right(), e.variables(), sizes, seed);
    if (!l || !r) return std::nullopt;
    for (std::size_t o = 0; o < e.left().outputs.size(); ++o)
      if (const auto d = difference((*l)[e.left().outputs[o]], (*r)[e.right().outputs[o]]))
        return fmt::format("{}: output {} {}", sizes_text(e, sizes), o, *d);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Difference> refute(const TypedEquation& e) {
  if (e.left().outputs.size() != e.right().outputs.size()) return Difference{"the sides have unequal numbers of outputs", ""};
  if (const std::vector<std::size_t> unlike = e.unlike_outputs(); !unlike.empty())
    return Difference{fmt::format("output {} has unequal sizes or layouts on the two sides", unlike[0]), ""};
  const auto with_stand_ins = difference_of(e, values_of);
  if (!with_stand_ins) return std::nullopt;
  const StandIns stand_ins = stand_ins_of(e);
  if (stand_ins.names.empty()) return Difference{*with_stand_ins, ""};
  if (stand_ins.are_known)
    if (const auto real = difference_of(e, whole_numbers_of)) return Difference{*real, ""};
  return Difference{*with_stand_ins, fmt::format("{}", fmt::join(stand_ins.names, ", "))};
}

}  // namespace rules
