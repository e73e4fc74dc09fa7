#include "base/numbers.hpp"

#include <doctest/doctest.h>

TEST_CASE("a number is all of the text, and finite") {
  CHECK(base::parse_number("-1.5e3") == -1500.0);
  CHECK(base::parse_integer("42") == 42);
  for (const char* text : {"", " 1", "1 ", "1x", "0x10", "inf", "nan", "1e999"}) {
    CAPTURE(text);
    CHECK_FALSE(base::parse_number(text).has_value());
  }
  for (const char* text : {"", "1.0", "1e3", "9223372036854775808"}) {  // 2^63 is one too many
    CAPTURE(text);
    CHECK_FALSE(base::parse_integer(text).has_value());
  }
}
