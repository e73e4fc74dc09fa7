#include "reports/calibration/network.hpp"

#include <fmt/core.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "reports/layout/table.hpp"

namespace reports {
namespace {

using fit::NetworkResidual;

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
  [[nodiscard]] std::vector<std::string> behind(std::vector<std::string> cells) const {
    for (const Errors* e : {&all_, &held_out_, &short_}) e->add_to(cells);
    return cells;
  }

 private:
  Errors all_, held_out_, short_;
};

Table empty_table() {
  std::vector<Table::Column> columns = {{"cluster"}, {"nodes", Align::right}, {"GPUs", Align::right}, {"collective"}, {"table"}};
  for (const char* which : {"1 MB on", "kept aside", "below 1 MB"})
    for (const char* what : {"rows", "error", "bias"})
      columns.push_back({what == std::string_view("rows") ? fmt::format("{}: rows", which) : what, Align::right});
  return Table(std::move(columns));
}

}  // namespace

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
    table.row(sums.behind({cluster, std::to_string(nodes), std::to_string(gpus), kind, file}));
  }
  table.row(total.behind({"all", "", "", "", ""}));
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
