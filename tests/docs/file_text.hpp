#pragma once
// Documents as text.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace test {

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  REQUIRE_MESSAGE(in, file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace test
