#pragma once
// The plans of a scenario side by side: what each is behind the quickest by, where its time goes, and what it sends.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "scenarios/answer/result.hpp"

namespace reports {

// The time by which a run is longer than the quickest plan that fits on the same variant, as a difference of breakdowns: each term may be
// below 0, and they add up to `time`, which is below 0 only for a plan that does not fit.
struct Behind {
  const scenarios::Run* quickest = nullptr;
  base::Seconds time;
  sim::Breakdown terms;
  base::Bytes shortage;  // of memory; 0 where it fits
};

// Returns nullopt for the quickest itself, for a run that is its plan once more, for one without a simulation, and where nothing fits.
[[nodiscard]] std::optional<Behind> behind(const scenarios::ScenarioResult& result, const scenarios::Run& run);

// "120 ms behind unity: 100 ms more exposed communication (90 ms more all_reduce, 10 ms more send; 100 ms more over pcie), 20 ms more
// bubble". Terms below a hundredth of the largest are left out.
[[nodiscard]] std::string behind_text(const Behind& b);
// Adds `exposed_communication_s`, where there is any.
void add_exposed(nlohmann::ordered_json& j, const sim::Breakdown& b);
// Adds `behind`, where there is something to say.
void add_behind(nlohmann::ordered_json& j, const scenarios::ScenarioResult& result, const scenarios::Run& run);

// Tables of all runs that were simulated: where the time goes, how long searches took, what they minimised and proved; bytes by collective
// and by type of link; and a line for each plan but the quickest. Empty where no two plans can be compared. `width`: of the screen.
[[nodiscard]] std::string comparison_text(const scenarios::ScenarioResult& result, std::size_t width);

// Planning anew gave the plan of the base again: `r` says what `same` says.
[[nodiscard]] bool is_repeated(const scenarios::Run& r, const scenarios::Run& same);

}  // namespace reports
