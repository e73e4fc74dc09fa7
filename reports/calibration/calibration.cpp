#include "reports/calibration/calibration.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "reports/layout/table.hpp"

namespace reports {
namespace {

using fit::NetworkResidual;

std::string precision_of(const fit::KernelFit& f) { return f.product ? std::string(pcg::to_text(f.precision)) : "all"; }

void add_fit(Table& table, const fit::KernelFit& f) {
  const profiles::Provenance& p = f.provenance;
  const std::string kind(pcg::to_text(f.kind)), rows = std::to_string(p.rows), left_out = std::to_string(f.left_out);
  if (!f.refusal.empty()) return table.heading(fmt::format("{}  {}  not fitted: {}", kind, precision_of(f), f.refusal));
  table.row({kind, precision_of(f), rows, left_out, percent(p.error), std::to_string(p.held_out_rows), percent(p.held_out_error),
             fmt::format("{:+.1f} %", 100 * f.held_out_bias), percent(p.held_out_p90)});
  for (const fit::RowError& w : f.worst)  // over the whole width: the shape of a kernel is too long for a column
    table.heading(fmt::format("    {:<44} measured {:>9}, predicted {:>9}  {}", w.what, base::to_text(base::Seconds(w.measured_s)),
                              base::to_text(base::Seconds(w.predicted_s)), w.source));
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
  for (const fit::RowError& w : f.worst)
    j["worst"].push_back({{"what", w.what}, {"source", w.source}, {"measured_s", w.measured_s}, {"predicted_s", w.predicted_s}});
  return j;
}

// The mean of |predicted / measured - 1|, and without its sign, of rows that are wanted.
template <class Wanted>
nlohmann::ordered_json errors_of(std::span<const NetworkResidual> residuals, Wanted wanted) {
  double absolute = 0, sum = 0;
  int rows = 0;
  for (const NetworkResidual& r : residuals) {
    if (!wanted(r)) continue;
    absolute += std::abs(r.error());
    sum += r.error();
    ++rows;
  }
  return {{"rows", rows}, {"error", rows > 0 ? absolute / rows : 0}, {"bias", rows > 0 ? sum / rows : 0}};
}

}  // namespace

std::string fits_text(std::span<const fit::KernelFit> fits) {
  Table table({left("kind"), left("precision"), right("rows"), right("left out"), right("error"), right("held out"), right("error"),
               right("bias"), right("9 in 10")});
  for (const fit::KernelFit& f : fits) add_fit(table, f);
  return table.text();
}

nlohmann::ordered_json fits_json(std::span<const fit::KernelFit> fits) {
  auto list = nlohmann::ordered_json::array();
  for (const fit::KernelFit& f : fits) list.push_back(to_json(f));
  return list;
}

std::string framework_fit_text(const std::string& framework, const confidence::FrameworkFit& fit) {
  std::string text = fmt::format(
      "{}: {} points; mean error {:.1f} % before, {:.1f} % fitted, {:.1f} % when each half is forecast by constants of the other\n",
      framework, fit.points, 100 * fit.error_before, 100 * fit.error, 100 * fit.cross_validated);
  for (const confidence::FittedConstant& c : fit.constants) {
    // A constant that the points do not identify has no value of theirs to show.
    if (!c.identifiable)
      text += fmt::format("  {:<24} left as it is: a tenth more or less changes the mean error by less than 0.01 %\n", c.name);
    else
      text += fmt::format("  {:<24} {:<10} a tenth less: {:.1f} %, more: {:.1f} %\n", c.name, confidence::constant_text(c.name, c.value),
                          100 * c.error_less, 100 * c.error_more);
  }
  return text;
}

std::string framework_fit_json(const std::string& framework, const confidence::FrameworkFit& fit) {
  nlohmann::ordered_json j = {{"foreshard", 1},
                              {"framework", framework},
                              {"points", fit.points},
                              {"error_before", fit.error_before},
                              {"error", fit.error},
                              {"cross_validated", fit.cross_validated},
                              {"constants", nlohmann::ordered_json::object()},
                              {"not_identifiable", nlohmann::ordered_json::array()},
                              {"groups", nlohmann::ordered_json::array()}};
  for (const confidence::FittedConstant& c : fit.constants) {
    if (c.identifiable) j["constants"][c.name] = c.value;
    else j["not_identifiable"].push_back(c.name);
  }
  for (const confidence::GroupError& g : fit.groups) j["groups"].push_back({{"group", g.group}, {"points", g.points}, {"error", g.error}});
  return j.dump(2) + "\n";
}

nlohmann::ordered_json network_fit_json(const std::string& network, std::span<const NetworkResidual> residuals) {
  const auto is_short = [](const NetworkResidual& r) { return r.row->bytes < fit::kShortMessage; };
  return {{"foreshard", 1},
          {"network", network},
          {"from_1_mb", errors_of(residuals, [&](const auto& r) { return !is_short(r); })},
          {"held_out", errors_of(residuals, [&](const auto& r) { return !is_short(r) && r.held_out; })},
          {"below_1_mb", errors_of(residuals, is_short)}};
}

std::string network_fit_text(const nlohmann::ordered_json& fit) {
  Table table({left("rows"), right("number"), right("error"), right("bias")});
  for (const auto& [what, name] :
       {std::pair("from_1_mb", "from 1 MB on"), std::pair("held_out", "of these not fitted"), std::pair("below_1_mb", "below 1 MB")})
    table.row({name, std::to_string(fit[what]["rows"].get<int>()), percent(fit[what]["error"].get<double>()),
               fmt::format("{:+.1f} %", 100 * fit[what]["bias"].get<double>())});
  return table.text();
}

}  // namespace reports
