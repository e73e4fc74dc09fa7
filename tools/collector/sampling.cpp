#include "tools/collector/sampling.hpp"

#include <algorithm>
#include <cmath>

namespace collector {

double halton(std::uint64_t index, int base) {
  double result = 0, digit = 1;
  for (const auto b = static_cast<std::uint64_t>(base); index > 0; index /= b) {
    digit /= base;
    result += digit * static_cast<double>(index % b);
  }
  return result;
}

std::int64_t log_uniform(double u, std::int64_t lo, std::int64_t hi) {
  const double size = static_cast<double>(lo) * std::pow(static_cast<double>(hi) / static_cast<double>(lo), u);
  return std::clamp(static_cast<std::int64_t>(std::llround(size)), lo, hi);
}

Form form_of(double u) {
  if (u < 0.35) return Form::whole_tile;
  if (u < 0.55) return Form::eighth;
  if (u < 0.70) return Form::below_tile;
  if (u < 0.85) return Form::above_tile;
  return Form::odd;
}

std::int64_t multiple_of(std::int64_t size, std::int64_t step) { return std::max<std::int64_t>(1, (size + step / 2) / step) * step; }

std::int64_t in_form(std::int64_t size, Form form) {
  const std::int64_t tile = size < 512 ? 64 : 128;
  switch (form) {
    case Form::whole_tile: return multiple_of(size, tile);
    case Form::eighth: return multiple_of(size, 8);
    case Form::below_tile: return multiple_of(size, tile) - 1;
    case Form::above_tile: return multiple_of(size, tile) + 1;
    case Form::odd: return size % 2 == 1 ? size : size + 1;
  }
  return size;
}

}  // namespace collector
