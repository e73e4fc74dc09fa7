// What changed between two results.
#include "reports/diff/diff.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/diagnostics.hpp"

namespace {

using Json = nlohmann::ordered_json;

Json result(int nodes, double seconds, const std::string& status = "ok") {
  return {{"scenario", "s"},
          {"question", {{"cluster", {{"preset", "dgx-h100"}, {"nodes", nodes}}}}},
          {"runs",
           {{{"plan", "a"},
             {"variant", "base"},
             {"replanned", true},
             {"status", status},
             {"iteration_time_s", seconds},
             {"plan_summary", "data 8"}}}}};
}

}  // namespace

TEST_CASE("a key of the question that changed is named, and times are compared") {
  const auto d = reports::diff_of(result(2, 1.0), result(4, 0.5)).at(0);
  REQUIRE(d.question.size() == 1);
  CHECK(d.question[0].path == "cluster.nodes");
  CHECK(d.question[0].before == "2");
  CHECK(d.question[0].after == "4");
  CHECK(reports::diff_text(d, 100).find("-50.0 %") != std::string::npos);
  CHECK(d.is_beyond(0.49));
  CHECK_FALSE(d.is_beyond(0.5));
}

TEST_CASE("nothing is beyond a limit where nothing changed; another status, and a run that is missing, are beyond any") {
  CHECK_FALSE(reports::diff_of(result(2, 1.0), result(2, 1.0)).at(0).is_beyond(0));
  CHECK(reports::diff_of(result(2, 1.0), result(2, 1.0, "out_of_memory")).at(0).is_beyond(1));
  Json without = result(2, 1.0);
  without["runs"] = Json::array();
  CHECK(reports::diff_of(result(2, 1.0), without).at(0).is_beyond(1));
  CHECK(reports::diff_of(without, result(2, 1.0)).at(0).is_beyond(1));
}

TEST_CASE("what is no result is told, and lists of different lengths are refused") {
  CHECK(reports::is_result(result(2, 1)));
  CHECK(reports::is_result(Json::array({result(2, 1)})));
  for (const Json& other : {Json::object(), Json(3), Json::array({result(2, 1), Json::object()})}) CHECK_FALSE(reports::is_result(other));
  CHECK_THROWS_AS((void)reports::diff_of(Json::array({result(2, 1)}), Json::array()), base::InputError);
}
