#include "search/rules/language/type.hpp"

namespace rules {

Numbers dim_size(const Types& t, std::size_t dim) { return {t[0].size[dim], t[1].size[dim], t[2].size[dim]}; }
Numbers dim_degree(const Types& t, std::size_t dim) { return {t[0].degree[dim], t[1].degree[dim], t[2].degree[dim]}; }

}  // namespace rules
