#pragma once
// Public measurements that lie beside the project where it is developed, and are no part of it. The name of a test that needs them ends in
// "(needs shared data)", and `* test::needs("collectives")` has doctest skip it where there are none: the closing line of `make test`
// counts it.

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace test {

// A file or folder of the measurements.
inline std::filesystem::path shared_data(const std::string& name) {
  return std::filesystem::path(SOURCE_DIRECTORY) / ".." / "shared" / "data" / "measured" / name;
}

inline doctest::skip needs(const std::string& name) { return doctest::skip(!std::filesystem::exists(shared_data(name))); }

}  // namespace test
