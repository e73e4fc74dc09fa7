// Inputs that fuzzing or people once found to crash, to hang or to be taken for a bug of ours: each is read or refused, by every reader.
// A file cases/TARGET/NAME was found with TARGET; its name says the fault that it showed.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/targets.hpp"

namespace {

struct FuzzCase {
  std::string name, bytes;
};

std::vector<FuzzCase> fuzz_cases() {
  std::vector<FuzzCase> cases;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SOURCE_DIRECTORY "/tests/fuzz/cases")) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    cases.push_back({entry.path().string(), {std::istreambuf_iterator<char>(in), {}}});
  }
  return cases;
}

}  // namespace

TEST_CASE("what was once found is read or refused by every reader") {
  const std::vector<FuzzCase> cases = fuzz_cases();
  REQUIRE(!cases.empty());
  for (const FuzzCase& c : cases)
    for (const fuzz::Target& target : fuzz::kTargets) {
      CAPTURE(c.name);
      CAPTURE(target.name);
      CHECK_NOTHROW(target.read(c.bytes));
    }
}
