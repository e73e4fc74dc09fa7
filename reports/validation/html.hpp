#pragma once
// An assessment as one HTML page with scatter plots.

#include <string>

#include "validation/assessment.hpp"

namespace reports {

// Returns a page that needs nothing from outside: predicted over measured on logarithmic axes with the diagonal, a band of +-10 % and the
// intervals as whiskers, each point with its name as a tooltip; tables below. Dark and light screens both serve.
[[nodiscard]] std::string html_report(const validation::Assessment& a);

}  // namespace reports
