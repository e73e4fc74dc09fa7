#include <nlohmann/json.hpp>

#include "reports/compare/compare.hpp"
#include "reports/json_numbers.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

// A list of what `json_of` makes of each.
template <class Rows, class JsonOf>
Json list_of(const Rows& rows, JsonOf json_of) {
  Json list = Json::array();
  for (const auto& row : rows) list.push_back(json_of(row));
  return list;
}

Json part_json(const comparison::PartRow& p) {
  Json j = {{"pass", p.key.pass}, {"share", to_text(p.key.share)}, {"kind", p.key.kind}};
  for (const auto& [key, seconds] : {std::pair("measured_s", p.measured.seconds), std::pair("predicted_s", p.predicted.seconds),
                                     std::pair("measured_busy_s", p.measured.busy_s), std::pair("predicted_busy_s", p.predicted.busy_s)})
    j[key] = seconds;
  j["kernels_measured"] = count(p.measured.count);
  j["kernels_predicted"] = count(p.predicted.count);
  return j;
}

Json operator_json(const comparison::OperatorRow& o) {
  return {{"operator", o.operation}, {"pass", o.pass}, {"measured_s", o.measured_s}, {"predicted_s", o.predicted_s}};
}

Json unaligned_row_json(const comparison::UnalignedRow& u) {
  Json j = {{"name", u.name}, {"pass", u.pass}, {"kind", u.kind}, {"why", u.why}, {"measured_s", u.seconds}, {"share", u.share}};
  j["kernels"] = count(u.count);
  return j;
}

Json device_json(const comparison::MeasuredDevice& d) {
  Json j = {{"file", d.file}, {"gpu", d.rank}, {"iteration", d.iteration}, {"iterations", d.iterations}};
  j["measured_s"] = d.timeline.seconds();
  return j;
}

}  // namespace

std::string compare_json(const comparison::Comparison& c) {
  Json j = {{"foreshard", 2}, {"scenario", c.scenario}, {"plan", c.plan}, {"summary", c.summary}};
  j["measured_s"] = c.measured_s;
  j["predicted_s"] = c.predicted_s;
  j["interval_s"] = {c.low_s, c.high_s};
  j["aligned_share"] = c.aligned_share;
  j["parts"] = list_of(c.parts, part_json);
  j["transfers"] = list_of(c.transfers, part_json);
  j["operators"] = list_of(c.operators, operator_json);
  j["unaligned"] = list_of(c.unaligned, unaligned_row_json);
  j["devices"] = list_of(c.devices, device_json);
  if (c.memory) j["peak_memory_bytes"] = {{"measured", count(c.memory->measured)}, {"predicted", count(c.memory->predicted)}};
  if (c.calibrated) {
    j["calibrated"] = {{"predicted_s", c.calibrated->predicted_s}, {"interval_s", {c.calibrated->low_s, c.calibrated->high_s}}};
    if (const auto& h = c.calibrated->held_out)
      for (const auto& [key, value] : {std::pair("measured_s", h->measured_s), std::pair("error_before", h->before),
                                       std::pair("error_after", h->after), std::pair("spread", h->spread)})
        j["calibrated"][std::string("held_out_") + key] = value;
  }
  j["notes"] = c.notes;
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace reports
