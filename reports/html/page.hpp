#pragma once
// The HTML report: one file that needs no network. Its page (reports/html/page, TypeScript) is built by npm where the program is built;
// here it gets its data.

#include <span>
#include <string>

#include "reports/html/page_data.hpp"
#include "scenarios/confidence/assessment.hpp"

namespace reports {

// Whether this build has the page: it has none where npm was missing (cmake/report_page.cmake).
[[nodiscard]] bool has_report_page();
// Returns the message for a report that is asked of a build without the page.
[[nodiscard]] std::string no_report_page_text();

// Return the page with its data. It holds a plain table, too, for readers that run no script. Size: below kMostPageBytes for scenarios;
// about 300 bytes a point for a validation. Requires: has_report_page().
[[nodiscard]] std::string scenario_page(std::span<const ReportedScenario> scenarios);
[[nodiscard]] std::string validation_page(const confidence::Assessment& assessment);

// Return the data alone, as JSON that may stand in a <script>: no "<" is left in it.
[[nodiscard]] std::string scenario_page_data(std::span<const ReportedScenario> scenarios);
[[nodiscard]] std::string validation_page_data(const confidence::Assessment& assessment);

}  // namespace reports
