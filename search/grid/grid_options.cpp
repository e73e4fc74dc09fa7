#include "search/grid/grid_options.hpp"

#include "search/grid/grid.hpp"

namespace search {

Option recompute_option() {
  return {"recompute", Choice{.words = pcg::recompute_names(), .by_default = static_cast<std::size_t>(GridConfig{}.recompute)},
          "`selective`: attention scores; `full`: every block from its inputs"};
}

Option micro_batch_option(std::string help, std::string otherwise) {
  return {"micro_batch", WholeNumber{.by_default = GridConfig{}.micro_batch}, std::move(help), std::move(otherwise)};
}

}  // namespace search
