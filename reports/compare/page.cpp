#include <boost/algorithm/string/replace.hpp>
#include <nlohmann/json.hpp>

#include "base/embedded/embedded_files.hpp"
#include "reports/compare/compare.hpp"

namespace reports {

base::EmbeddedFiles compare_page_files();  // written by CMake from compare/page.html

std::string compare_page(const comparison::Comparison& c) {
  std::string page(compare_page_files().text("page"));
  // "</script>" in a name would end the element (HTML standard, 4.12.1.3); in JSON "<" is in texts alone.
  const auto put = [&](const char* mark, const std::string& json) {
    boost::replace_first(page, mark, boost::replace_all_copy(json, "<", "\\u003c"));
  };
  put("@TIMELINES@", compare_trace(c));
  put("@COMPARISON@", compare_json(c));
  return page;
}

}  // namespace reports
