#pragma once
// What a library has to say of its answer: a code, and the numbers and names that belong to it. It holds no sentence: that of each code is
// in scenarios/answer/sentences.yaml.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace base {

struct Fact {
  using Times = std::vector<std::pair<std::string, double>>;  // seconds by name
  using Value = std::variant<std::int64_t, double, std::string, std::vector<std::string>, Times>;

  std::string code;           // of one sentence: "folded-devices"
  std::vector<Value> values;  // numbers in SI units, shares of 1, flags as 1 or 0, names; finite, as workers hand them back in JSON

  Fact() = default;
  template <class... T>
  explicit Fact(std::string c, const T&... v) : code(std::move(c)), values{value_of(v)...} {}

  bool operator==(const Fact&) const = default;

 private:
  static Value value_of(std::integral auto n) { return static_cast<std::int64_t>(n); }
  static Value value_of(double x) { return x; }
  static Value value_of(std::string_view name) { return std::string(name); }
  static Value value_of(const std::vector<std::string>& names) { return names; }
  static Value value_of(const Times& times) { return times; }
};

}  // namespace base
