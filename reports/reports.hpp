#pragma once
// A ScenarioResult as text for people, JSON (format 1), CSV, and a Chrome trace that opens in Perfetto.

#include <string>

#include "pcg/graph/graph.hpp"
#include "scenarios/result.hpp"
#include "topology/cluster.hpp"

namespace reports {

// One line per run, aligned; what-ifs below the base; then where the best plan's time goes, its memory, and all notes once.
[[nodiscard]] std::string text_table(const scenarios::ScenarioResult& r, bool colour);
[[nodiscard]] std::string json(const scenarios::ScenarioResult& r);
[[nodiscard]] std::string csv(const scenarios::ScenarioResult& r);
// One process per device, one thread per stream, memory as a counter; of the first run that has spans, or of the named plan.
[[nodiscard]] std::string chrome_trace(const scenarios::ScenarioResult& r);

// `show`: text or JSON of what was understood.
[[nodiscard]] std::string model_text(const pcg::Graph& g);
[[nodiscard]] std::string model_json(const pcg::Graph& g);  // {"name","operators","parameters","forward_flops_per_sample","layers":[..]}
[[nodiscard]] std::string cluster_text(const topology::Cluster& c);
[[nodiscard]] std::string cluster_json(const topology::Cluster& c);
[[nodiscard]] std::string plan_text(const pcg::Plan& p);
[[nodiscard]] std::string plan_json(const pcg::Plan& p);
// Planners of a kind ("megatron": its forms), or all for an empty one, with what their options mean.
// Throws: base::InputError for a kind that there is not.
[[nodiscard]] std::string planners_text(const std::string& kind);
[[nodiscard]] std::string planners_json(const std::string& kind);

}  // namespace reports
