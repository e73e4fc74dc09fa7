#include "reports/html/page.hpp"

#include <fmt/core.h>

#include <boost/algorithm/string/replace.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.hpp"
#include "base/embedded/embedded_files.hpp"
#include "reports/validation/assessment.hpp"

namespace reports {

base::EmbeddedFiles page_files();  // written by CMake from html/built_page.html

namespace {

using Json = nlohmann::ordered_json;

std::string escaped(std::string text) {
  constexpr std::pair<const char*, const char*> kEntities[] = {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}};
  for (const auto& [mark, entity] : kEntities) boost::replace_all(text, mark, entity);  // "&" first: the others have one
  return text;
}

// "</script>" or "<!--" in a name would end the element, or change how it is read (HTML standard, 4.12.1.3); in JSON "<" is in texts alone.
std::string for_script(const Json& data) {
  return boost::replace_all_copy(data.dump(-1, ' ', false, Json::error_handler_t::replace), "<", "\\u003c");
}

// Puts a text in the place of a mark, which the page has once.
void put(std::string& page, std::string_view mark, const std::string& text) {
  const std::size_t at = page.find(mark);
  BASE_CHECK(at != std::string::npos, "the report's page has no {}", mark);
  page.replace(at, mark.size(), text);
}

std::string page(const std::string& title, const std::string& table, const std::string& data) {
  std::string text(page_files().text("built_page"));
  // From the front to the back, so that a name that looks like a mark is never in the way.
  put(text, "@FORESHARD_DATA@", data);
  put(text, "@FORESHARD_TABLE@", table);
  put(text, "@FORESHARD_TITLE@", title);
  return text;
}

std::string title_of(std::span<const ReportedScenario> scenarios) {
  std::string title;
  for (const ReportedScenario& s : scenarios) title += (title.empty() ? "" : "; ") + s.result->scenario;
  return escaped(title) + " - Foreshard";
}

constexpr std::size_t kMostRows = 500;  // of the table for readers without scripts

std::string plain_table(std::span<const ReportedScenario> scenarios) {
  std::string out = "<p>This page draws its charts with a script; without one it shows this table.</p>";
  std::size_t rows = 0;
  for (const ReportedScenario& s : scenarios) {
    out += fmt::format("<h1>{}</h1><table><tr><th>variant</th><th>plan</th><th>status</th><th>time of an iteration</th></tr>",
                       escaped(s.result->scenario));
    for (const scenarios::Run& r : s.result->runs) {
      if (++rows > kMostRows) break;
      out += fmt::format("<tr><td>{}</td><td>{}{}</td><td>{}</td><td>{}</td></tr>", escaped(r.variant), escaped(r.plan),
                         r.is_of_base() ? ""
                         : r.replanned  ? ", re-planned"
                                        : ", same plan",
                         to_text(r.status), r.simulation ? base::to_text(r.simulation->iteration_time) : "");
    }
    out += "</table>";
  }
  return rows > kMostRows ? out + fmt::format("<p>The first {} runs.</p>", kMostRows) : out;
}

}  // namespace

std::string scenario_page_data(std::span<const ReportedScenario> scenarios) { return for_script(page_data(scenarios)); }
std::string validation_page_data(const confidence::Assessment& a) { return for_script({{"validation", Json::parse(json_report(a))}}); }

std::string scenario_page(std::span<const ReportedScenario> scenarios) {
  return page(title_of(scenarios), plain_table(scenarios), scenario_page_data(scenarios));
}

std::string validation_page(const confidence::Assessment& a) {
  return page("Predicted against measured - Foreshard", "<p>This page draws with a script. validate prints its tables as text.</p>",
              validation_page_data(a));
}

}  // namespace reports
