#pragma once
// Saved plans belong to the model that they were made for.

#include <optional>
#include <string>

#include "pcg/plan/plan.hpp"
#include "scenarios/question/variant.hpp"

namespace scenarios {

// Returns a sentence that says so where a plan was made for another model than the variant's: another graph. Dropout may differ, because
// frameworks have their own defaults. nullopt: the same model, or one that cannot be read any more, as its file has gone.
// Cost: reads the plan's model.
[[nodiscard]] std::optional<std::string> of_another_model(const pcg::Plan& plan, const Variant& variant);

}  // namespace scenarios
