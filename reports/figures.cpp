#include "reports/figures.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <string_view>

#include "reports/json_numbers.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;
using scenarios::Run;

constexpr std::array kFigures = {
    Figure{"iteration_time_s", "iteration_time_s", [](const Run& r) { return Json(r.simulation->iteration_time.value()); }},
    Figure{"interval_low_s", "", [](const Run& r) { return Json(r.interval_low.value()); }},
    Figure{"interval_high_s", "", [](const Run& r) { return Json(r.interval_high.value()); }},
    Figure{"throughput_samples_per_s", "throughput_samples_per_s", [](const Run& r) { return Json(r.samples_per_s); }},
    Figure{"tokens_per_s", "tokens_per_s", [](const Run& r) { return Json(r.tokens_per_s); }},
    Figure{"speedup", "", [](const Run& r) { return r.against_base ? Json(r.against_base->ratio) : Json(nullptr); }},
    Figure{"speedup_low", "", [](const Run& r) { return r.against_base ? Json(r.against_base->low) : Json(nullptr); }},
    Figure{"speedup_high", "", [](const Run& r) { return r.against_base ? Json(r.against_base->high) : Json(nullptr); }},
    Figure{"mfu", "mfu", [](const Run& r) { return Json(r.mfu); }},
    Figure{"mfu_causal", "mfu_causal", [](const Run& r) { return Json(r.mfu_causal); }},
    Figure{"compute_s", "breakdown_s.compute", [](const Run& r) { return Json(r.simulation->breakdown.compute.value()); }},
    Figure{"exposed_communication_s", "breakdown_s.exposed_communication",
           [](const Run& r) { return Json(r.simulation->breakdown.exposed_communication.value()); }},
    Figure{"bubble_s", "breakdown_s.bubble", [](const Run& r) { return Json(r.simulation->breakdown.bubble.value()); }},
    Figure{"imbalance_s", "breakdown_s.imbalance", [](const Run& r) { return Json(r.simulation->breakdown.imbalance.value()); }},
    Figure{"idle_s", "breakdown_s.idle", [](const Run& r) { return Json(r.simulation->breakdown.idle.value()); }},
    Figure{"communication_bytes", "communication_bytes.total", [](const Run& r) { return count(r.simulation->bytes.total); }},
    Figure{"peak_memory_bytes", "memory_bytes.peak", [](const Run& r) { return count(r.simulation->memory.peak); }},
    Figure{"memory_capacity_bytes", "memory_bytes.capacity", [](const Run& r) { return count(r.simulation->memory.capacity); }},
};

}  // namespace

std::span<const Figure> figures() { return kFigures; }

void add_figures(Json& run, const Run& r) {
  for (const Figure& f : kFigures) {
    const std::string_view path = f.json;
    const std::size_t dot = path.find('.');
    if (path.empty()) continue;
    if (dot == std::string_view::npos) run[std::string(path)] = r.simulation ? f.of(r) : Json(nullptr);
    else if (r.simulation) run[std::string(path.substr(0, dot))][std::string(path.substr(dot + 1))] = f.of(r);
  }
}

}  // namespace reports
