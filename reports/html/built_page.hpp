#pragma once
// The page that npm built (cmake/report_page.cmake), with marks where its title, its data and its plain table go. Private to this folder.

#include <string_view>

namespace reports {

// Empty where npm was missing.
[[nodiscard]] std::string_view built_page();

}  // namespace reports
