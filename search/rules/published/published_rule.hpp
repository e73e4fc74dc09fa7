#pragma once
// A rule of the files of TASO and FlexFlow, as the file says it. Tensors are [replica, rows, columns] with a degree for each dim; one
// replica dim stands for copies, for partial sums, or for a stack of unlike slices (published_interpretation.hpp).

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "search/rules/language/kind.hpp"

namespace rules {

enum class PublishedKind : std::uint8_t { partition, combine, replicate, reduce, linear, relu, add, multiply, concat, split };
struct PublishedRef {
  int op = 0;  // of the same side; negative: a variable, -1 -2 -3 activations, -4 -5 -6 weights
  int output = 0;
  auto operator<=>(const PublishedRef&) const = default;
};
struct PublishedOp {
  PublishedKind kind = PublishedKind::relu;
  int dim = 0;                         // of concat, split and the parallel ones
  Function function = Function::none;  // of linear
  std::vector<PublishedRef> inputs;
};
using PublishedSide = std::vector<PublishedOp>;
struct PublishedRule {
  std::string name;
  PublishedSide source, target;
  std::vector<std::pair<PublishedRef, PublishedRef>> outputs;  // of the source, of the target
};

}  // namespace rules
