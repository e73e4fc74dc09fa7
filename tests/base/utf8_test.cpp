#include "base/diagnostics.hpp"

#include <doctest/doctest.h>

using namespace base;
using std::string_view_literals::operator""sv;

TEST_CASE("the first malformed byte is found") {
  CHECK(first_malformed_utf8("plain") == 5);
  CHECK(first_malformed_utf8("\u00b5s \u20ac \U0001F600") == 12);  // 2+1+1 + 3+1 + 4 bytes
  CHECK(first_malformed_utf8("a\xFF") == 1);
  CHECK(first_malformed_utf8("a\x80") == 1);               // a continuation without a lead
  CHECK(first_malformed_utf8("ab\xC3") == 2);              // cut short
  CHECK(first_malformed_utf8("\xC0\xAF") == 0);            // '/' in two bytes
  CHECK(first_malformed_utf8("\xED\xA0\x80") == 0);        // a surrogate, U+D800
  CHECK(first_malformed_utf8("\xF4\x90\x80\x80"sv) == 0);  // U+110000, past the last
}
