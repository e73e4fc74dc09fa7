// Published figures: those that ship are what their sources say, and a file without a source or a unit is refused.
#include "profiles/published/published.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/diagnostics.hpp"

namespace {

double value_of(const std::string& table, const std::string& figure, const std::string& quantity) {
  const auto* f = profiles::published_table(table).find(figure, quantity);
  REQUIRE_MESSAGE(f != nullptr, table << ": " << figure << ": " << quantity);
  return f->value;
}

// A table of one figure, as written.
std::string table_with(const std::string& figure) {
  return fmt::format("foreshard: 1\npublished:\n  title: T\n  source: S\n  figures:\n    - {{{}}}\n", figure);
}

std::string errors_of(const std::string& text) {
  try {
    (void)profiles::load_published(base::parse_yaml(text, "p.yaml"), "p");
  } catch (const base::InputError& e) {
    std::string all;
    for (const auto& d : e.diagnostics()) all += d.path + ": " + d.message + "\n";
    return all;
  }
  return "none";
}

// The rows of a table of plain cells by column name; empty when the file is not there.
std::vector<std::map<std::string, std::string>> csv_rows(const std::string& name) {
  std::ifstream in(std::filesystem::path(SOURCE_DIRECTORY) / "../shared/data/measured/e2e" / name);
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> header;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    if (header.empty()) {
      header = cells;
      continue;
    }
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < std::min(cells.size(), header.size()); ++i) row[header[i]] = cells[i];
  }
  return rows;
}

// The figures of one quantity, each with a setting.
std::vector<const profiles::PublishedFigure*> figures_of(const std::string& table, const std::string& quantity) {
  std::vector<const profiles::PublishedFigure*> found;
  for (const auto& f : profiles::published_table(table).figures) {
    if (f.quantity == quantity) found.push_back(&f);
  }
  return found;
}

}  // namespace

TEST_CASE("the tables that ship each name their source") {
  CHECK(fmt::format("{}", fmt::join(profiles::published_names(), " ")) ==
        "alpa calculon korthikanti-2022 megatron-sc21 simumax uniap vtrain");
  for (const auto& name : profiles::published_names()) {
    const auto& table = profiles::published_table(name);
    CHECK(table.name == name);
    CHECK(!table.title.empty());
    CHECK(!table.source.empty());
    CHECK(!table.figures.empty());
  }
}

TEST_CASE("values are in the unit of their dimension") {
  CHECK(value_of("megatron-sc21", "310B", "throughput per GPU") == doctest::Approx(155e12));
  CHECK(value_of("megatron-sc21", "310B", "share of peak") == doctest::Approx(0.5));
  CHECK(value_of("korthikanti-2022", "22B full", "iteration time") == doctest::Approx(1.42));
  CHECK(value_of("alpa", "GPT-2.6B", "peak memory") == doctest::Approx(8.745e9));
  CHECK(value_of("uniap", "BERT-Huge with UniAP", "time to find a plan") == doctest::Approx(22.2));  // 0.37 min
  CHECK(value_of("uniap", "Llama-7B with UniAP", "throughput") / value_of("uniap", "Llama-7B with Galvatron", "throughput") ==
        doctest::Approx(3.80).epsilon(0.005));  // the speed-up that the abstract claims
  CHECK(value_of("vtrain", "several nodes", "mean absolute error") == doctest::Approx(0.1473));
  CHECK(profiles::published_table("uniap").find("BERT-Huge with Alpa", "time to find a plan")->at_least);
  CHECK(profiles::published_table("alpa").find("GPT-2.6B", "iteration time")->unit == profiles::PublishedUnit::seconds);
}

TEST_CASE("a throughput is the share of an A100's 312 TFLOP/s that is published beside it") {
  for (const auto* f : figures_of("megatron-sc21", "throughput per GPU"))
    CHECK(f->value / 312e12 == doctest::Approx(value_of("megatron-sc21", f->name, "share of peak")).epsilon(0.02));  // printed as whole %
}

TEST_CASE("degrees of a published plan multiply to its GPUs") {
  for (const auto& name : {"megatron-sc21", "korthikanti-2022", "alpa"}) {
    for (const auto& f : profiles::published_table(name).figures) {
      if (!f.setting_of("tensor")) continue;
      const auto degree = [&](const char* key) { return std::stoi(*f.setting_of(key)); };
      CHECK(degree("tensor") * degree("pipeline") * degree("data") == degree("gpus"));
    }
  }
}

TEST_CASE("figures agree with the public tables, row by row, and none is added") {
  const auto sc21 = csv_rows("megatron_sc21_table1.csv"), seqsel = csv_rows("megatron_seqsel_table5_iteration_time.csv");
  if (sc21.empty() || seqsel.empty()) {
    MESSAGE("skipped: no public tables beside the project");
    return;
  }
  const auto figures = figures_of("megatron-sc21", "throughput per GPU"), times = figures_of("korthikanti-2022", "iteration time");
  REQUIRE(figures.size() == sc21.size());
  REQUIRE(times.size() == seqsel.size());
  for (std::size_t i = 0; i < sc21.size(); ++i) {
    auto row = sc21[i];
    CHECK(figures[i]->name == row["case"]);
    CHECK(figures[i]->value == doctest::Approx(std::stod(row["tflops_per_gpu"]) * 1e12));
    for (const auto& [key, column] : std::map<std::string, std::string>{{"gpus", "n_gpus"},
                                                                        {"tensor", "tp"},
                                                                        {"pipeline", "pp"},
                                                                        {"data", "dp"},
                                                                        {"micro_batch", "micro_batch"},
                                                                        {"global_batch", "global_batch"},
                                                                        {"layers", "layers"},
                                                                        {"hidden", "hidden"},
                                                                        {"heads", "heads"}})
      CHECK(figures[i]->setting_of(key) == row[column]);
  }
  for (std::size_t i = 0; i < seqsel.size(); ++i) {
    auto row = seqsel[i];
    CHECK(times[i]->value == doctest::Approx(std::stod(row["iter_time_s"])));
    for (const auto& [key, column] : std::map<std::string, std::string>{{"gpus", "n_gpus"},
                                                                        {"tensor", "tp"},
                                                                        {"pipeline", "pp"},
                                                                        {"chunks", "pp_interleave_chunks"},
                                                                        {"micro_batch", "micro_batch"},
                                                                        {"global_batch", "global_batch"},
                                                                        {"layers", "layers"},
                                                                        {"hidden", "hidden"}})
      CHECK(times[i]->setting_of(key) == row[column]);
  }
}

TEST_CASE("a file without a source, a unit or a figure is refused, with all of it at once") {
  CHECK(errors_of(table_with("name: a, quantity: q, value: 1 s")) == "none");
  CHECK(errors_of("foreshard: 1\npublished: {title: T, figures: []}\n") ==
        "published: missing key \"source\"\npublished.figures: expected a list of at least one figure\n");
  CHECK(errors_of("foreshard: 1\npublished: {title: T, source: \"\", figures: [{name: a, quantity: q, value: 1 s}]}\n") ==
        "published.source: cannot be empty\n");
  CHECK(errors_of("foreshard: 2\npublished: {}\n").find("format 2 is not known") != std::string::npos);
  CHECK(errors_of(table_with("name: a, quantity: q, value: 142")) == "published.figures[0].value: \"142\" is no number with a unit\n");
  CHECK(errors_of(table_with("name: a, quantity: q, value: -1 s")) == "published.figures[0].value: a published figure is above 0\n");
  CHECK(errors_of(table_with("name: a, quantity: q, value: 142 apples")) ==
        "published.figures[0].value: \"142 apples\" is no number with a unit\n");
  CHECK(errors_of(table_with("name: a, quantity: q")).find("either \"value\" or \"at_least\"") != std::string::npos);
  CHECK(errors_of(table_with("name: a, quantity: q, value: 1 s, at_least: 1 s")).find("either \"value\" or \"at_least\"") !=
        std::string::npos);
  CHECK(errors_of(table_with("name: a, quantity: q, value: 1 s, setting: {bandwidth: 2.5}")) ==
        "published.figures[0].setting.bandwidth: \"2.5\" has no unit\n");
  CHECK(errors_of(table_with("name: a, quantity: q, value: 1 s, sauce: x")).find("sauce") != std::string::npos);
  CHECK(errors_of(table_with("name: a, quantity: q, value: 1 s}\n    - {name: a, quantity: q, value: 2 s"))
            .find("has two figures for \"q\"") != std::string::npos);
  CHECK_THROWS_AS((void)profiles::published_table("megatron-sc22"), base::InputError);
}
