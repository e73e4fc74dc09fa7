#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/diagnostics.hpp"
#include "reports/layout/table.hpp"
#include "reports/show/show.hpp"
#include "search/planners.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;
using search::Option;
using search::Planner;

// Descriptions are written for docs/formats/plans.md, where backticks set words apart.
std::string plain(std::string markdown) {
  std::erase(markdown, '`');
  return markdown;
}

std::vector<const Planner*> planners_of(const std::string& kind) {
  std::vector<const Planner*> found;
  for (const Planner& p : search::planners())
    if (kind.empty() || p.kind == kind) found.push_back(&p);
  if (found.empty()) base::refuse("", fmt::format("\"{}\" is no planner", kind), base::suggest(kind, search::planner_kinds()));
  return found;
}

std::string options_text(const Planner& p, std::size_t width) {
  if (p.options.empty()) return "  no options\n";
  Table table({left("  option"), left("type"), left("default"), left("means")});
  for (const Option& o : p.options) table.row({"  " + o.key, plain(search::type_text(o)), plain(search::default_text(o)), plain(o.help)});
  return table.text(2, width);
}

Json option_json(const Option& o) {
  return {{"option", o.key}, {"type", plain(search::type_text(o))}, {"default", plain(search::default_text(o))}, {"means", plain(o.help)}};
}

}  // namespace

std::string planners_text(const std::string& kind, std::size_t width) {
  std::string out;
  for (const Planner* p : planners_of(kind))
    out += fmt::format("{}{}\n{}{}", out.empty() ? "" : "\n", p->name(), hanging("  " + p->about, width), options_text(*p, width));
  return out;
}

std::string planners_json(const std::string& kind) {
  Json j = Json::array();
  for (const Planner* p : planners_of(kind)) {
    Json options = Json::array();
    for (const Option& o : p->options) options.push_back(option_json(o));
    j.push_back({{"planner", p->name()}, {"means", p->about}, {"searches", p->searches}, {"options", std::move(options)}});
  }
  return j.dump(1) + "\n";
}

}  // namespace reports
