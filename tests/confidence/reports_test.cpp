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

TEST_CASE("pairs of left-out sources have their table and their JSON") {
  Assessment a = made();
  a.left_out_pairs = {{.kind = scenarios::Change::machine, .pairs = 40, .publications = 3, .inside = 0.905, .width = 0.22},
                      {.kind = scenarios::Change::precision, .pairs = 2, .publications = 1}};
  const std::string table =
      "pairs that differ in  pairs  sources  inside  width\n"
      "machine                  40        3  90.5 %   22 %\n"
      "precision                 2        1       -      -\n";
  CHECK(text_report(a).find("\ncomparisons, of sources that did not make them\n" + table) != std::string::npos);
  const auto j = nlohmann::json::parse(json_report(a))["left_out_pairs"];
  CHECK(j[0].dump() == R"({"inside":0.905,"kind":"machine","pairs":40,"sources":3,"width":0.22})");
  CHECK(j[1].dump() == R"({"kind":"precision","pairs":2,"sources":1})");
  CHECK_FALSE(nlohmann::json::parse(json_report(made())).contains("left_out_pairs"));
}

TEST_CASE("a collective has its machine and its bytes") {
  Item collective = named_item("all_reduce", 1, 1.5);
  collective.subject = Subject::collective;
  collective.machine = "two";
  collective.bytes = base::Bytes(8);
  const auto first = nlohmann::json::parse(json_report(assess({collective}, std::nullopt, {})))["points"][0];
  CHECK(first["machine"] == "two");
  CHECK(first["bytes"] == 8);
}

TEST_CASE("steps have their error beside the differences of their kinds") {
  const auto step = [](const std::string& id, double predicted_s, double apart_s) {
    Item i = named_item(id, 2, predicted_s);
    i.subject = Subject::step;
    i.interval.reset();
    i.step = StepDifferences{base::Seconds(apart_s), base::Seconds(1.9)};
    return i;
  };
  Item kind = named_item("a", 1, 1.25);
  kind.subject = Subject::step_kernel;
  kind.group = "matmul";
  kind.interval.reset();
  const Assessment a = assess({kind, step("a", 2.1, 0.5), step("b", 1.9, 0.1)}, std::nullopt, {});
  const std::string text = text_report(a);
  CHECK(text.find("step kernels, predicted against measured\n"
                  "group   points  mean error  median     bias\n"
                  "matmul       1      25.0 %  25.0 %  +25.0 %\n") != std::string::npos);
  CHECK(text.find("steps, predicted against measured\n"
                  "step  measured  forecast   error  kinds apart  kinds known\n"
                  "a          2 s     2.1 s  +5.0 %       25.0 %       95.0 %\n"
                  "b          2 s     1.9 s  -5.0 %        5.0 %       95.0 %\n") != std::string::npos);
  const auto j = nlohmann::json::parse(json_report(a));
  CHECK(j["groups"][0]["subject"] == "step kernel");
  CHECK(j["groups"][0]["mean_error"].get<double>() == test::about(0.25));
  CHECK(j["groups"][1]["subject"] == "step");
  CHECK(j["points"][1]["differences_by_kind_s"].get<double>() == test::about(0.5));
  CHECK(j["points"][1]["known_kinds_s"].get<double>() == test::about(1.9));
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
