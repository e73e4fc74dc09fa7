#pragma once
// Public tables as measurements: what tools/converters/measurements_from_tables.py makes of them.

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "profiles/measured/measurements.hpp"
#include "tests/shared_data.hpp"

namespace test {

// `table`: a file of the shared data, "operators/gemm_bf16_a100_sxm.csv".
inline measured::Measurements converted(const std::string& table) {
  const std::filesystem::path from = shared_data(table);
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("foreshard-converted-" + std::to_string(::getpid()));
  const std::string command = "python3 -B " SOURCE_DIRECTORY "/tools/converters/measurements_from_tables.py " + folder.string() + " " +
                              from.string() + " >/dev/null";
  REQUIRE(std::system(command.c_str()) == 0);
  std::ifstream in(folder / from.filename());
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove_all(folder);
  return measured::read_measurements(text, from.filename().string());
}

}  // namespace test
