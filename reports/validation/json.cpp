#include "reports/validation/assessment.hpp"

#include <nlohmann/json.hpp>

#include "reports/json_numbers.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

Json error_json(const confidence::ErrorStatistics& e) {
  return {{"points", e.n}, {"mean_error", e.mean}, {"median_error", e.median}, {"bias", e.bias}, {"kendall_tau", e.tau}};
}

Json bytes_json(const confidence::Pair& p) {
  return {{"measured", reports::count(base::Bytes(p.measured))}, {"predicted", reports::count(base::Bytes(p.predicted))}};
}

Json parts_json(const sim::MemoryUse& m) {
  return {{"peak", reports::count(m.peak)},           {"capacity", reports::count(m.capacity)},
          {"weights", reports::count(m.weights)},     {"gradients", reports::count(m.gradients)},
          {"optimizer", reports::count(m.optimizer)}, {"activations", reports::count(m.activations)},
          {"workspace", reports::count(m.workspace)}};
}

Json item_json(const confidence::Item& i) {
  const bool is_timed = i.subject != confidence::Subject::memory;
  Json j{{"subject", confidence::to_text(i.subject)}, {"group", i.group}, {"id", i.id}, {"where", i.where}};
  if (is_timed) j["measured_s"] = i.measured.value();
  if (!i.failure.empty()) {
    j["failure"] = i.failure;
    return j;
  }
  if (is_timed) j["predicted_s"] = i.predicted.value();
  if (is_timed) j["error"] = i.predicted / i.measured - 1;
  if (i.interval) j["interval_s"] = {i.interval->first.value(), i.interval->second.value()};
  if (i.peak_bytes) j["peak_bytes"] = bytes_json(*i.peak_bytes);
  if (i.reserved_bytes) j["reserved_bytes"] = bytes_json(*i.reserved_bytes);
  if (i.memory && (i.peak_bytes || i.reserved_bytes || i.out_of_memory)) j["memory_bytes"] = parts_json(*i.memory);
  if (i.out_of_memory) j["out_of_memory"] = true;
  if (i.subject == confidence::Subject::collective) {
    j["machine"] = i.machine;
    j["bytes"] = reports::count(i.bytes);
  }
  if (i.step) {
    j["differences_by_kind_s"] = i.step->by_kind.value();
    j["known_kinds_s"] = i.step->known.value();
  }
  return j;
}

Json group_json(const confidence::Assessment& a, const confidence::GroupAssessment& g) {
  Json j{{"subject", confidence::to_text(g.subject)},
         {"group", g.name},
         {"points", g.points},
         {"failed", g.failed},
         {"out_of_memory", g.out_of_memory}};
  if (g.time.n > 0) {
    j["mean_error"] = g.time.mean;
    j["time"] = error_json(g.time);
  }
  if (g.peak) j["peak_memory"] = error_json(*g.peak);
  if (g.reserved) j["reserved_memory"] = error_json(*g.reserved);
  if (g.formula_error) j["formula"]["group_left_out"] = *g.formula_error;
  if (g.choices) {
    j["choices"] = {{"questions", g.choices->questions}, {"kendall_tau", g.choices->tau}, {"regret", g.choices->regret}};
    if (g.choices->tau_apart) j["choices"]["kendall_tau_apart"] = *g.choices->tau_apart;
  }
  if (g.repeats) j["repeats"] = {{"runs", g.repeats->runs}, {"scatter", g.repeats->scatter}};
  if (g.coverage) j["coverage"] = *g.coverage;
  if (g.leave_one_group_out) j["coverage_unseen_group"] = *g.leave_one_group_out;
  if (g.interval_width) j["interval_width"] = *g.interval_width;
  j["worst"] = Json::array();
  for (const std::size_t i : g.worst) j["worst"].push_back(a.items[i].id);
  return j;
}

void add_unseen(Json& j, const confidence::UnseenCoverage& unseen) {
  for (const confidence::LeftOutFigures& l : unseen.left_out)
    j["left_out"].push_back({{"by", l.by},
                             {"name", l.name},
                             {"points", l.points},
                             {"mean_error", l.mean_error},
                             {"inside", l.inside},
                             {"width", l.width},
                             {"interval_score", l.score}});
}

Json left_out_pairs_json(const confidence::LeftOutPairs& p) {
  Json j{{"kind", scenarios::kChangeNames[static_cast<std::size_t>(p.kind)]}, {"pairs", p.pairs}, {"sources", p.publications}};
  if (p.inside) j["inside"] = *p.inside;
  if (p.width) j["width"] = *p.width;
  return j;
}

}  // namespace

std::string json_report(const confidence::Assessment& a) {
  Json j{{"foreshard", 1}, {"groups", Json::array()}, {"points", Json::array()}, {"notes", a.notes}};
  for (const confidence::GroupAssessment& g : a.groups) j["groups"].push_back(group_json(a, g));
  for (const confidence::Item& i : a.items) j["points"].push_back(item_json(i));
  if (a.unseen) add_unseen(j, *a.unseen);
  for (const confidence::LeftOutPairs& p : a.left_out_pairs) j["left_out_pairs"].push_back(left_out_pairs_json(p));
  return j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace reports
