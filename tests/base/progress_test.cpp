#include "base/progress.hpp"

#include <doctest/doctest.h>

using namespace base;

TEST_CASE("a line goes back to its start, is cut below the width and wipes what stood there") {
  CHECK(rewritten_line("simulating 3/4", 80) == "\rsimulating 3/4\x1b[K");
  CHECK(rewritten_line("simulating", 5) == "\rsimu\x1b[K");
  CHECK(rewritten_line("\u00e9\u00e9\u00e9\u00e9", 3) == "\r\u00e9\u00e9\x1b[K");
  CHECK(rewritten_line("one\ntwo", 80) == "\rone\x1b[K");
}

TEST_CASE("a file that is no terminal sees nothing") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  {
    ProgressLine line(Verbosity::usual, file);
    line.show("working");
  }
  CHECK(std::ftell(file) == 0);
  std::fclose(file);
}
