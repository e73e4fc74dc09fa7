#pragma once
// The basis of a figure: where a kernel's time comes from.

#include <array>
#include <string_view>

#include "base/by_enum.hpp"

namespace profiles {

// How a number came about; later ones are worse. Extrapolated: by a fit, but beyond the measurements that it was made to, or to another
// chip's.
enum class Basis { measured, fitted, extrapolated, defaults };
inline constexpr std::array kBases = {Basis::measured, Basis::fitted, Basis::extrapolated, Basis::defaults};
[[nodiscard]] std::string_view to_text(Basis b);

template <class T>
using ByBasis = base::ByEnum<Basis, Basis::defaults, T>;

}  // namespace profiles
