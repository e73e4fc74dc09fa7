#pragma once
// The contents of every shard of every tensor of a small graph, at one size: the meaning that axioms are held against. It shares nothing
// with the typing and the whole values of term.hpp: operators are typed and numbered by pcg/sharding/parallel_shape.hpp, as in real graphs,
// and each works on the shards at its own points.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pcg/sharding/parallel_shape.hpp"
#include "substitutions/language/term.hpp"

namespace substitutions {

// A term with numbers in the place of symbols.
struct SmallNode {
  Kind kind = Kind::variable;
  Function function = Function::none;
  int axis = 0;
  int degree = 1;                    // of layout operators
  std::int64_t at = 0;               // of splits
  std::vector<std::int64_t> like;    // of constants: their sizes
  std::vector<std::uint8_t> inputs;  // earlier nodes
  int variable = 0;
};
struct SmallTerm {
  std::vector<SmallNode> nodes;
  std::vector<std::uint8_t> outputs;
};

// Returns the shapes of all nodes, as pcg types them; nullopt if a node is ill typed there.
[[nodiscard]] std::optional<std::vector<pcg::ParallelShape>> shapes_of(const SmallTerm& t, std::span<const pcg::ParallelShape> variables);

// The numbers that shards hold: terms of a logic or elements of a field, as the caller wants them.
using Element = std::uint32_t;
class Algebra {
 public:
  virtual ~Algebra() = default;
  virtual Element constant(int numerator, int denominator) = 0;
  virtual Element variable(const std::string& name) = 0;
  virtual Element add(Element a, Element b) = 0;
  virtual Element multiply(Element a, Element b) = 0;
  // Returns the result of an unknown function: equal arguments give equal results, nothing else is known.
  virtual Element apply(const std::string& function, std::span<const Element> arguments) = 0;
};

struct Shard {
  std::vector<std::int64_t> sizes;
  std::vector<Element> elements;  // row-major
};
using Shards = std::vector<Shard>;  // of one tensor, by pcg::shard_number

// Returns the shards of all nodes. The elements of variables are algebra variables "x.s1[0,2]": copies share them, summands do not.
// Requires: well typed.
[[nodiscard]] std::vector<Shards> shards_of(const SmallTerm& t, std::span<const std::string> names,
                                            std::span<const pcg::ParallelShape> shapes, Algebra& algebra);

}  // namespace substitutions
