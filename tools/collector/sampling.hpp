#pragma once
// Sizes drawn evenly and repeatably: a low-discrepancy sequence, sizes uniform in their logarithm, and the arithmetic forms in which
// libraries behave differently: whole tiles, one below and one above a tile, multiples of 8, odd.

#include <cstdint>

namespace collector {

// Element `index` (from 1) of the van der Corput sequence in a prime `base`, in [0, 1): coordinates of a Halton point.
[[nodiscard]] double halton(std::uint64_t index, int base);
// lo * (hi / lo)^u, rounded; in [lo, hi]. Requires: 1 <= lo <= hi, 0 <= u < 1.
[[nodiscard]] std::int64_t log_uniform(double u, std::int64_t lo, std::int64_t hi);

enum class Form { whole_tile, eighth, below_tile, above_tile, odd };
// 35 % whole tiles, 20 % multiples of 8, 15 % one below a tile, 15 % one above, 15 % odd. Requires: 0 <= u < 1.
[[nodiscard]] Form form_of(double u);
// The nearest size of that form, at least 1. Tiles are 64 below 512, else 128: what matmul kernels are cut into.
[[nodiscard]] std::int64_t in_form(std::int64_t size, Form form);
[[nodiscard]] std::int64_t multiple_of(std::int64_t size, std::int64_t step);  // the nearest, at least `step`

}  // namespace collector
