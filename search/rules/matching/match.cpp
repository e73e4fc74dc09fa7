#include "search/rules/matching/match.hpp"

namespace rules {

Match match_at(std::size_t number, const Rule& rule, const pcg::Pcg& graph, pcg::TensorRef tensor, int row, const LetterSizes& chosen) {
  Match m{.rule = number, .nodes = {}, .variables = {tensor}, .views = {}, .row = row, .degrees = {0, 0}, .sizes = chosen};
  const Types& types = rule.equation.variables()[0].types;
  const std::vector<std::int64_t> have = graph.shape(tensor).whole().sizes;
  if (have.size() < types[0].rank) return m;  // applying it says so
  const std::size_t excess = have.size() - types[0].rank;
  for (std::size_t d = 0; d < types[0].rank; ++d)
    (void)learn(m.sizes, size_text(dim_size(types, d)), have[d > 0 || excess == 0 ? d + excess : static_cast<std::size_t>(row)]);
  return m;
}

}  // namespace rules
