#include "search/rules/language/layout.hpp"

#include <algorithm>

namespace rules {
namespace {

// The summands that pass through an operator: of all inputs, which have equally many, or of one.
std::optional<std::int64_t> passing(const Space& s, Inputs in) {
  std::int64_t count = 1;
  std::size_t with = 0, last = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i]->summands == 1) continue;
    if (count != 1 && in[i]->summands != count) return std::nullopt;
    count = in[i]->summands;
    last = i;
    ++with;
  }
  if (with == 0 || (s.linear && with == in.size()) || (with == 1 && s.alone[last])) return count;
  return std::nullopt;
}

}  // namespace

Space elementwise(const Type& t, int uncut) {
  Space s;
  for (int i = 0; i < t.rank; ++i) s.output[static_cast<std::size_t>(i)] = s.loop(i == uncut ? Cut::none : Cut::free);
  s.inputs.fill(s.output);
  return s;
}

Space linear_elementwise(const Type& t, int uncut) {
  Space s = elementwise(t, uncut);
  s.linear = true;
  return s;
}

std::optional<Type> lay_out(const Space& s, Inputs in, Type out) {
  std::array<std::int64_t, 5> degree{};  // of loops; 0: not known yet
  for (std::size_t i = 0; i < in.size(); ++i)
    for (std::size_t d = 0; d < in[i]->rank; ++d) {
      const std::int64_t cut = in[i]->degree[d];
      const std::int8_t l = s.inputs[i][d];
      if (l == kWhole) {
        if (cut != 1) return std::nullopt;
        continue;
      }
      std::int64_t& known = degree[static_cast<std::size_t>(l)];
      if (known != 0 && known != cut) return std::nullopt;
      if (cut != 1 && s.cut[static_cast<std::size_t>(l)] == Cut::none) return std::nullopt;
      known = cut;
    }
  const std::optional<std::int64_t> sums = passing(s, in);
  if (!sums) return std::nullopt;
  const auto missing = [&](const Dims& dims, std::size_t rank, bool summed) {  // product of the degrees of loops that a tensor lacks
    std::int64_t product = 1;
    for (int l = 0; l < s.loops; ++l) {
      const auto at = static_cast<std::size_t>(l);
      if ((s.cut[at] == Cut::sum) == summed && std::find(dims.begin(), dims.begin() + rank, l) == dims.begin() + rank)
        product *= degree[at];
    }
    return product;
  };
  std::int64_t copies = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t beside = in[i]->summands == *sums ? 1 : *sums;
    const std::int64_t absent = beside * missing(s.inputs[i], in[i]->rank, false) * missing(s.inputs[i], in[i]->rank, true);
    if (in[i]->copies % absent != 0 || (i > 0 && in[i]->copies / absent != copies)) return std::nullopt;
    copies = in[i]->copies / absent;
  }
  for (std::size_t d = 0; d < out.rank; ++d) {
    const std::int8_t l = s.output[d];
    out.degree[d] = l == kWhole ? 1 : degree[static_cast<std::size_t>(l)];
    if (out.size[d] % out.degree[d] != 0) return std::nullopt;
  }
  out.copies = copies * missing(s.output, out.rank, false);
  out.summands = *sums * missing(s.output, out.rank, true);
  return out;
}

}  // namespace rules
