#include "reports/html/page.hpp"
#include "reports/validation/assessment.hpp"
#include "tests/about.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace reports;
using namespace confidence;

namespace {

Item named_item(const std::string& id, double measured_s, double predicted_s) {
  Item i;
  i.group = "g<1>";
  i.id = id;
  i.where = "p.csv:2";
  i.measured = base::Seconds(measured_s);
  i.predicted = base::Seconds(predicted_s);
  i.interval = std::pair(base::Seconds(0.9 * predicted_s), base::Seconds(1.1 * predicted_s));
  return i;
}

Assessment made() {
  Item bad = named_item("bad", 1, 1);
  bad.interval.reset();
  bad.failure = "3 & 4 do not divide";
  return assess({named_item("slow", 2, 3), named_item("right", 1, 1), bad}, std::nullopt, {"2 rows were left out"});
}

}  // namespace

TEST_CASE("text: one line per group, worst cases with their places, columns that nobody fills left out") {
  CHECK(text_report(made()) ==
        "iterations, predicted against measured\n"
        "group        points  mean error  median     bias    tau  inside  width\n"
        "g<1>   3 (1 failed)      25.0 %  25.0 %  +22.5 %  1.000    33 %   20 %\n"
        "\nWorst cases\n"
        "  g<1>\n"
        "    bad (p.csv:2): no forecast: 3 & 4 do not divide\n"
        "    slow (p.csv:2): measured 2 s, predicted 3 s (+50.0 %)\n"
        "    right (p.csv:2): measured 1 s, predicted 1 s (+0.0 %)\n"
        "note: 2 rows were left out\n");
}

TEST_CASE("JSON holds every point, with its reason where there is no forecast") {
  const auto j = nlohmann::json::parse(json_report(made()));
  CHECK(j["groups"][0]["failed"] == 1);
  CHECK(j["groups"][0]["time"]["mean_error"].get<double>() == test::about(0.25));
  CHECK(j["points"].size() == 3);
  CHECK(j["points"][0]["error"].get<double>() == test::about(0.5));
  CHECK(j["points"][2]["failure"] == "3 & 4 do not divide");
  CHECK_FALSE(j["points"][2].contains("predicted_s"));
}

TEST_CASE("HTML: the data hold every point, and no name can end the element that holds them") {
  const std::string data = validation_page_data(made());
  CHECK(data.find('<') == std::string::npos);
  CHECK(nlohmann::json::parse(data)["validation"] == nlohmann::json::parse(json_report(made())));
  const std::string html = validation_page(made());
  CHECK(html.find(data) != std::string::npos);
  CHECK(html.find("g<1>") == std::string::npos);
  CHECK(html.find("@FORESHARD_") == std::string::npos);
}

TEST_CASE("a report in which nothing has a forecast still stands") {
  Item bad = named_item("bad", 1, 1);
  bad.interval.reset();
  bad.failure = "no";
  const Assessment a = assess({bad}, std::nullopt, {});
  CHECK(validation_page_data(a).find("nan") == std::string::npos);
  CHECK(text_report(a).find("1 (1 failed)") != std::string::npos);
}

TEST_CASE("tables go between the markers and nowhere else") {
  const std::string document = "before\n<!-- accuracy: begin -->\nold\n<!-- accuracy: end -->\nafter\n";
  CHECK(with_tables(document, "new\n", "d.md") == "before\n<!-- accuracy: begin -->\nnew\n<!-- accuracy: end -->\nafter\n");
  CHECK_THROWS_AS((void)with_tables("nothing", "new\n", "d.md"), base::InputError);
  CHECK_THROWS_AS((void)with_tables(document + document, "new\n", "d.md"), base::InputError);
  CHECK(markdown_tables(made()).find("| g<1> | 3 (1 failed) | 25.0 % |") != std::string::npos);
}
