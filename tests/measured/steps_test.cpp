#include "profiles/measured/steps.hpp"

#include <doctest/doctest.h>

using namespace measured;

namespace {

constexpr const char* kTable =
    "# Kernels of two steps\n# points: a.csv ../b.csv\npoint,kernel,count,seconds\n"
    "big,gemm,4,0.5\nsmall,\"copy<a, b>\",2.5,1e-3\nbig,adam,1,0.25\n";

std::string problems_of(const std::string& text) {
  try {
    (void)read_steps(text, "s.csv");
  } catch (const base::InputError& e) {
    std::string all;
    for (const base::Diagnostic& d : e.diagnostics()) all += base::render(d);
    return all;
  }
  return "";
}

}  // namespace

TEST_CASE("a step table is known by its header, below comments") {
  CHECK(is_step_table(kTable));
  CHECK(is_step_table("point,kernel,count,seconds\n"));
  CHECK_FALSE(is_step_table("# point,kernel,count,seconds\n"));
  CHECK_FALSE(is_step_table("#"));
  CHECK_FALSE(is_step_table("device,kernel,count,seconds\n"));
}

TEST_CASE("rows of a point are one step, wherever they stand") {
  const StepTable t = read_steps(kTable, "s.csv");
  CHECK(t.point_tables == std::vector<std::string>{"a.csv", "../b.csv"});
  REQUIRE(t.steps.size() == 2);
  CHECK(t.steps[0].point == "big");
  CHECK(t.steps[0].mark.line == 4);
  REQUIRE(t.steps[0].kernels.size() == 2);
  CHECK(t.steps[0].kernels[1].name == "adam");
  CHECK(t.steps[0].kernels[1].time == base::Seconds(0.25));
  CHECK(t.steps[1].kernels.at(0).name == "copy<a, b>");
  CHECK(t.steps[1].kernels.at(0).count == 2.5);
}

TEST_CASE("every cell that is not what its column holds is named by its place") {
  CHECK(problems_of("point,kernel,seconds,count\na,b,1,1\n").find("s.csv:1:1: the columns are not those of a step table") == 0);
  const std::string all = problems_of("point,kernel,count,seconds\n,b,1,1\na,b,0,nan\n");
  CHECK(all.find("s.csv:2:1: point: the cell is empty") != std::string::npos);
  CHECK(all.find("s.csv:3:1: count: \"0\" is no number above 0") != std::string::npos);
  CHECK(all.find("s.csv:3:1: seconds: \"nan\" is no number above 0") != std::string::npos);
}
