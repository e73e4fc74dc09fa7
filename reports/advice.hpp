#pragma once
// What a plan waits for, and what would help. Private to reports.

#include <span>
#include <string>

#include "scenarios/answer/result.hpp"

namespace reports {

// Returns a sentence for each part of the time that is worth one (exposed communication, bubble, waiting for the host), the largest first,
// with the most that could be gained; of communication also what twice the bandwidth of its links would bring, where that was asked. Empty
// where the GPUs hardly wait. Requires: a run with a simulation.
[[nodiscard]] std::string advice_text(const scenarios::Run& run, std::span<const scenarios::Sensitivity> sensitivities);

}  // namespace reports
