// Occurrences: what is found, what is not.
#include <doctest/doctest.h>

#include "rules.hpp"

namespace substitutions::rewriting {
namespace {

TEST_CASE("placeholder") { CHECK(!catalogue().empty()); }

}  // namespace
}  // namespace substitutions::rewriting
