// The scenarios that ship are sound, what-ifs included.
#include <doctest/doctest.h>

#include <filesystem>

#include "scenarios/check.hpp"

TEST_CASE("every example scenario loads") {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SOURCE_DIRECTORY "/scenarios")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().string());
    CHECK(scenarios::check_file(entry.path(), 1).summary.starts_with("scenario "));
    ++found;
  }
  CHECK(found >= 3);
}
