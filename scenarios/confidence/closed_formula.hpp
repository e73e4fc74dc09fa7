#pragma once
// What a closed formula answers, fitted to the same rows: iteration time = model FLOPs / (GPUs x peak x u). Its one constant u, the share
// of peak that is reached, is fitted to the rows that remain when a part is left out whole: the median over their groups of each group's
// median, of rows of the same GPU generation and precision; where none remains, or this median is less than 2 % of the peak (small runs,
// which wait for their hosts), of the same precision; else of all. A simulator that such a formula beats has something to learn.

#include <optional>
#include <vector>

#include "scenarios/confidence/assessment.hpp"

namespace confidence {

enum class LeftOut { group, machine, family };

// Returns |T / measured - 1| of the formula's time T per item, fitted without the item's group, machine or family; nullopt for items
// without facts and where no row remains. Cost: O(items x parts that are left out).
[[nodiscard]] std::vector<std::optional<double>> formula_errors(const std::vector<Item>& items, LeftOut left_out);

}  // namespace confidence
