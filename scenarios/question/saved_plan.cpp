#include "scenarios/question/saved_plan.hpp"

#include <fmt/core.h>

#include "base/diagnostics.hpp"
#include "base/yaml/emit.hpp"
#include "pcg/models/load.hpp"

namespace scenarios {
namespace {

base::Yaml without_dropout(base::Yaml model) {
  model.erase("dropout");
  if (base::Yaml* transformer = model.find("transformer"); transformer != nullptr && transformer->is_map()) transformer->erase("dropout");
  return model;
}

pcg::Graph graph_of(const base::Yaml& model) { return pcg::models::load_model(model, "model", {}, 1); }

}  // namespace

std::optional<std::string> of_another_model(const pcg::Plan& plan, const Variant& variant) {
  const base::Yaml of_plan = without_dropout(plan.model), here = without_dropout(*variant.document.find("model"));
  if (base::emit_yaml(of_plan) == base::emit_yaml(here)) return std::nullopt;
  try {
    const pcg::Graph a = graph_of(of_plan), b = graph_of(here);
    if (a == b) return std::nullopt;
    return fmt::format("the saved plan \"{}\" is of another model: {}, here {}", plan.name, a.name(), b.name());
  } catch (const base::InputError&) { return std::nullopt; }
}

}  // namespace scenarios
