#pragma once
// The HTML report: one file that needs no network. Its page is built_page.html, which `make page` builds of reports/html/page (TypeScript);
// here it gets its data.

#include <span>
#include <string>

#include "reports/html/page_data.hpp"
#include "scenarios/confidence/assessment.hpp"

namespace reports {

// Return the page with its data. It holds a plain table, too, for readers that run no script. Size: below kMostPageBytes for scenarios;
// about 300 bytes a point for a validation.
[[nodiscard]] std::string scenario_page(std::span<const ReportedScenario> scenarios);
[[nodiscard]] std::string validation_page(const confidence::Assessment& assessment);

// Return the data alone, as JSON that may be in a <script>: no "<" is left in it.
[[nodiscard]] std::string scenario_page_data(std::span<const ReportedScenario> scenarios);
[[nodiscard]] std::string validation_page_data(const confidence::Assessment& assessment);

}  // namespace reports
