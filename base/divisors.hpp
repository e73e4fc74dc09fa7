#pragma once
// Divisors of whole numbers.

#include <cstdint>
#include <vector>

namespace base {

// Both are ascending.
// Requires: n >= 1.
// Cost: O(sqrt(n)).
[[nodiscard]] std::vector<std::int64_t> divisors(std::int64_t n);
// Each as often as it divides n.
[[nodiscard]] std::vector<std::int64_t> prime_factors(std::int64_t n);

}  // namespace base
