#include "reports/calibration/device.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "reports/layout/table.hpp"

namespace reports {
namespace {

std::string precision_of(const fit::KernelFit& f) { return f.product ? std::string(pcg::to_text(f.precision)) : "all"; }

// A line over the whole width below its row: the shape of a kernel is too long for a column.
std::string worst_text(const fit::RowError& w) {
  return fmt::format("    {:<44} measured {:>9}, predicted {:>9}  {}", w.what, base::to_text(base::Seconds(w.measured_s)),
                     base::to_text(base::Seconds(w.predicted_s)), w.source);
}

void add_fit(Table& table, const fit::KernelFit& f) {
  const profiles::Provenance& p = f.provenance;
  const std::string kind(pcg::to_text(f.kind)), rows = std::to_string(p.rows), left_out = std::to_string(f.left_out);
  if (!f.refusal.empty()) return table.heading(fmt::format("{}  {}  not fitted: {}", kind, precision_of(f), f.refusal));
  table.row({kind, precision_of(f), rows, left_out, percent(p.error), std::to_string(p.held_out_rows), percent(p.held_out_error),
             fmt::format("{:+.1f} %", 100 * f.held_out_bias), percent(p.held_out_p90)});
  for (const fit::RowError& w : f.worst) table.heading(worst_text(w));
}

nlohmann::ordered_json to_json(const fit::RowError& w) {
  return {{"what", w.what}, {"source", w.source}, {"measured_s", w.measured_s}, {"predicted_s", w.predicted_s}};
}

nlohmann::ordered_json to_json(const fit::KernelFit& f) {
  const profiles::Provenance& p = f.provenance;
  nlohmann::ordered_json j = {{"kind", pcg::to_text(f.kind)},
                              {"precision", precision_of(f)},
                              {"source", p.source},
                              {"measured_on", p.device},
                              {"rows", p.rows},
                              {"left_out", f.left_out},
                              {"error", p.error},
                              {"held_out_rows", p.held_out_rows},
                              {"held_out_error", p.held_out_error},
                              {"held_out_p90", p.held_out_p90},
                              {"held_out_bias", f.held_out_bias},
                              {"refusal", f.refusal},
                              {"worst", nlohmann::ordered_json::array()}};
  for (const fit::RowError& w : f.worst) j["worst"].push_back(to_json(w));
  return j;
}

}  // namespace

std::string fits_text(std::span<const fit::KernelFit> fits) {
  Table table({{"kind"},
               {"precision"},
               {"rows", Align::right},
               {"left out", Align::right},
               {"error", Align::right},
               {"held out", Align::right},
               {"error", Align::right},
               {"bias", Align::right},
               {"9 in 10", Align::right}});
  for (const fit::KernelFit& f : fits) add_fit(table, f);
  return table.text();
}

nlohmann::ordered_json fits_json(std::span<const fit::KernelFit> fits) {
  auto list = nlohmann::ordered_json::array();
  for (const fit::KernelFit& f : fits) list.push_back(to_json(f));
  return list;
}

}  // namespace reports
