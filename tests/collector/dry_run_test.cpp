#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "tools/collector/options.hpp"

namespace collector {
namespace {

std::string dry_run(const std::vector<std::string>& arguments, const Device& d = {}) {
  std::string problem;
  const std::optional<Options> options = parse_options(arguments, problem);
  REQUIRE_MESSAGE(options, problem);
  std::ostringstream out;
  print_dry_run(*options, d, out);
  return out.str();
}

TEST_CASE("a dry run says what would be measured and that it keeps to the budget") {
  const std::string text = dry_run({"--dry-run", "--budget", "100"});
  CHECK(text.find("dry run for NVIDIA H200: nothing is measured\n") == 0);
  CHECK(text.find("linear bf16") != std::string::npos);
  CHECK(text.find("convolution tf32") != std::string::npos);
  CHECK(text.find("predicted duration: 100 s\n") != std::string::npos);
}

TEST_CASE("more time than there are cases is not used up") {
  const std::string text = dry_run({"--dry-run", "--budget", "80000"});
  const double duration = std::stod(text.substr(text.find("predicted duration: ") + 20));
  CHECK(duration < 80000 * 0.3);  // launches, copies and overlap take 16 %, all cases about 1000 s
}

TEST_CASE("--list has a line for each case") {
  const std::string with = dry_run({"--list", "--budget", "20"}), without = dry_run({"--dry-run", "--budget", "20"});
  CHECK(std::count(with.begin(), with.end(), '\n') > std::count(without.begin(), without.end(), '\n') + 300);
}

TEST_CASE("options are understood, and what is not is named") {
  std::string problem;
  const std::optional<Options> o =
      parse_options({"--out", "x.json", "--budget", "12.5", "--seed", "7", "--cache", "warm", "--device", "1"}, problem);
  REQUIRE(o);
  CHECK(o->out == "x.json");
  CHECK(o->budget_s == 12.5);
  CHECK(o->seed == 7);
  CHECK_FALSE(o->cold);
  CHECK(o->device == 1);
  CHECK_FALSE(parse_options({"--budget"}, problem));
  CHECK(problem == "--budget needs a value; --help says which");
  CHECK_FALSE(parse_options({"--budget", "soon"}, problem));
  CHECK(problem == "--budget cannot be \"soon\"; --help says what it can be");
  CHECK_FALSE(parse_options({"--budget", "nan"}, problem));
  CHECK_FALSE(parse_options({"--seed", "1.5"}, problem));
  CHECK_FALSE(parse_options({"--cache", "tepid"}, problem));
  CHECK_FALSE(parse_options({"--speed"}, problem));
  CHECK(problem == "unknown option --speed; --help lists them");
}

}  // namespace
}  // namespace collector
