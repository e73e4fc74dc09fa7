#include "reports/calibration/calibration.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <tuple>

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

// "nccl.csv" of "data/nccl.csv:12".
std::string table_of(const std::string& source) {
  const std::string file = source.substr(0, source.rfind(':'));
  return file.substr(file.rfind('/') + 1);
}

class Errors {
 public:
  void see(double e) {
    absolute_ += std::abs(e);
    sum_ += e;
    ++rows_;
  }
  void add_to(std::vector<std::string>& cells) const {
    if (rows_ == 0) return (void)cells.insert(cells.end(), 3, "-");
    cells.push_back(std::to_string(rows_));
    cells.push_back(fmt::format("{:.1f} %", 100 * absolute_ / rows_));
    cells.push_back(fmt::format("{:+.1f} %", 100 * sum_ / rows_));
  }

 private:
  double absolute_ = 0, sum_ = 0;
  int rows_ = 0;
};

// Short messages apart: they show latencies, the others bandwidths.
class Sums {
 public:
  void see(const NetworkResidual& r) {
    if (r.row->bytes < fit::kShortMessage) return short_.see(r.error());
    all_.see(r.error());
    if (r.held_out) held_out_.see(r.error());
  }
  [[nodiscard]] std::vector<std::string> after(std::vector<std::string> cells) const {
    for (const Errors* e : {&all_, &held_out_, &short_}) e->add_to(cells);
    return cells;
  }

 private:
  Errors all_, held_out_, short_;
};

Table empty_table() {
  std::vector<Table::Column> columns = {left("cluster"), right("nodes"), right("GPUs"), left("collective"), left("table")};
  for (const char* which : {"1 MB on", "kept aside", "below 1 MB"})
    for (const char* what : {"rows", "error", "bias"})
      columns.push_back(right(what == std::string_view("rows") ? fmt::format("{}: rows", which) : what));
  return Table(std::move(columns));
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

std::string residuals_text(std::span<const NetworkResidual> residuals) {
  std::map<std::tuple<std::string, int, int, std::string, std::string>, Sums> lines;
  Sums total;
  for (const NetworkResidual& r : residuals) {
    lines[{r.row->cluster, r.row->nodes, r.row->gpus, std::string(to_text(r.row->kind)), table_of(r.row->source)}].see(r);
    total.see(r);
  }
  Table table = empty_table();
  for (const auto& [key, sums] : lines) {
    const auto& [cluster, nodes, gpus, kind, file] = key;
    table.row(sums.after({cluster, std::to_string(nodes), std::to_string(gpus), kind, file}));
  }
  table.row(total.after({"all", "", "", "", ""}));
  return table.text();
}

std::string residuals_json(const std::string& network, std::span<const NetworkResidual> residuals) {
  nlohmann::ordered_json j = {{"foreshard", 1}, {"network", network}, {"residuals", nlohmann::ordered_json::array()}};
  for (const NetworkResidual& r : residuals)
    j["residuals"].push_back({{"cluster", r.row->cluster},
                              {"nodes", r.row->nodes},
                              {"gpus", r.row->gpus},
                              {"kind", to_text(r.row->kind)},
                              {"bytes", r.row->bytes.value()},
                              {"measured_s", r.row->time.value()},
                              {"predicted_s", r.predicted.value()},
                              {"algorithm", to_text(r.algorithm)},
                              {"protocol", to_text(r.protocol)},
                              {"held_out", r.held_out},
                              {"source", r.row->source}});
  return j.dump(2) + "\n";
}

}  // namespace reports
