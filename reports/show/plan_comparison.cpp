#include "reports/show/show.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <ranges>

#include "reports/json_numbers.hpp"
#include "reports/layout/table.hpp"
#include "search/explanation/explanation.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

// Groups of operators that fit on a page; JSON has all.
constexpr std::size_t kMostRows = 30;

std::string placed_text(const std::optional<search::PlacedCut>& p) {
  return p ? fmt::format("{} on {}", p->cut, pcg::to_text(p->devices)) : "not there";
}

Json placed_json(const std::optional<search::PlacedCut>& p) {
  return p ? Json{{"cut", p->cut}, {"devices", ids(p->devices)}} : Json(nullptr);
}

Json setting_json(const std::optional<std::string>& value) { return value ? Json(*value) : Json(nullptr); }

}  // namespace

std::string plan_comparison_text(const pcg::Plan& first, const pcg::Plan& second, std::size_t width) {
  const search::PlanComparison c = search::compare_plans(first, second);
  std::string out = hanging(fmt::format("first   {}: {}", first.name, first.summary), width) +
                    hanging(fmt::format("second  {}: {}", second.name, second.summary), width);
  if (!c.settings.empty()) {
    Table table({left("setting"), left("first"), left("second")});
    for (const search::SettingDifference& s : c.settings) table.row({s.key, s.first.value_or("default"), s.second.value_or("default")});
    out += "\n" + table.text(2, width);
  }
  out += fmt::format("\n{} of {} operators run alike\n", c.alike, c.operators);
  if (c.others.empty()) return out;
  Table table({right("  operators"), left("kind"), left("first"), left("second"), left("named")});
  for (const search::OperatorDifference& o : c.others | std::views::take(kMostRows))
    table.row({fmt::format("{}", o.count), o.kind, placed_text(o.first),
               placed_text(o.second) + (o.is_reordered ? ", in another order" : ""), o.count > 1 ? o.name + ", ..." : o.name});
  out += table.text(2, width);
  if (c.others.size() > kMostRows) out += fmt::format("  and {} groups more, which --json lists\n", c.others.size() - kMostRows);
  return out;
}

std::string plan_comparison_json(const pcg::Plan& first, const pcg::Plan& second) {
  const search::PlanComparison c = search::compare_plans(first, second);
  Json j;
  j["first"] = {{"name", first.name}, {"summary", first.summary}};
  j["second"] = {{"name", second.name}, {"summary", second.summary}};
  j["settings"] = Json::array();
  for (const search::SettingDifference& s : c.settings)
    j["settings"].push_back({{"key", s.key}, {"first", setting_json(s.first)}, {"second", setting_json(s.second)}});
  j["operators"] = c.operators;
  j["alike"] = c.alike;
  j["others"] = Json::array();
  for (const search::OperatorDifference& o : c.others)
    j["others"].push_back({{"count", o.count},
                           {"kind", o.kind},
                           {"named", o.name},
                           {"reordered", o.is_reordered},
                           {"first", placed_json(o.first)},
                           {"second", placed_json(o.second)}});
  return j.dump(1) + "\n";
}

}  // namespace reports
