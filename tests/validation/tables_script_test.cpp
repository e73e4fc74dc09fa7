// validation/points_from_tables.py on a made-up table: what it writes can be read.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "measurements/points.hpp"

namespace fs = std::filesystem;

TEST_CASE("a public table becomes points") {
  if (std::system("python3 -c '' >/dev/null 2>&1") != 0) {
    MESSAGE("skipped: no python3");
    return;
  }
  const fs::path folder = fs::temp_directory_path() / ("foreshard-tables-" + std::to_string(::getpid()));
  fs::create_directories(folder / "e2e");
  std::ofstream(folder / "e2e" / "vtrain_a100_single_node.csv")
      << "n_gpus,global_batch,micro_batch,hidden,heads,layers,seq_len,tp,dp,pp,iter_time_ms,vocab_cfg,source\n"
      << "4,8,2,64,2,4,16,2,1,2,12.5,100,made up\n";
  const std::string command = "python3 " SOURCE_DIRECTORY "/validation/points_from_tables.py " + folder.string() + " " +
                              (folder / "points").string() + " >/dev/null";
  CHECK(std::system(command.c_str()) == 0);
  std::ifstream in(folder / "points" / "vtrain-single-node.csv");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto points = measurements::read_points(text, "vtrain-single-node.csv");
  REQUIRE(points.size() == 1);
  CHECK(points[0].measured.value() == doctest::Approx(0.0125));
  CHECK(points[0].tensor == 2);
  CHECK(points[0].framework == "deepspeed");
  fs::remove_all(folder);
}
