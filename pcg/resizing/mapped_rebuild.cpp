#include "pcg/resizing/mapped_rebuild.hpp"

#include "pcg/resizing/operator_sizes.hpp"

namespace pcg {

Rebuild by(const SizeMap& map) {
  return {.change = [&map](const Operator& op, auto before, auto after) { return with_sizes(op, map, before, after); },
          .size =
              [&map](std::int64_t size) {
                const auto it = map.find(size);
                return it == map.end() ? size : it->second;
              },
          .check = {}};
}

}  // namespace pcg
