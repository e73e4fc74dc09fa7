#pragma once
// Forecasts of the kernels of whole steps beside measured ones, kind by kind: whether a step's time is right for the right reasons.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiles/measured/points.hpp"
#include "profiles/measured/steps.hpp"
#include "scenarios/confidence/assessment.hpp"

namespace confidence {

// Returns the kind under which a step's kernels are compared. The names of kernels do not tell all kinds apart: a cast is a copy to
// PyTorch, and the softmax of a loss is as any other. So copies and all that works element by element are one kind, "pointwise", and so are
// "softmax and loss". Products and convolutions of one step are compared together, under the kind that takes longer in the forecast.
[[nodiscard]] std::string_view kind_in_steps(pcg::KernelKind kind);

// Returns an item per step and kind (Subject::step_kernel: group kind, id point), and after each step's an item of the whole
// (Subject::step: group that of its point). The forecast is that of the first GPU's kernels, one after another. Kernels whose names say no
// kind count for the whole alone. Collectives are left out of both, since theirs is time of waiting, too. `notes` gets the kernels of no
// known kind, with their shares.
// Throws: base::InputError where no point has the id that a step names.
// Cost: a planning and a simulation per step.
[[nodiscard]] std::vector<Item> items_of(const measured::StepTable& table, std::span<const measured::Point> points,
                                         std::vector<std::string>& notes);

}  // namespace confidence
