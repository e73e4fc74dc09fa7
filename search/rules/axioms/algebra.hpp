#pragma once
// The numbers that shards hold: terms of a logic or elements of a field, as the caller wants them.

#include <cstdint>
#include <span>
#include <string>

namespace rules {

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

}  // namespace rules
