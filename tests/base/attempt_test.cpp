#include "base/attempt.hpp"

#include <doctest/doctest.h>

#include <memory>

namespace base {
namespace {

Attempt<int> half(int n) {
  if (n % 2 != 0) return Refusal{fmt::format("{} is odd", n)};
  return n / 2;
}

enum class Cause { first, second };
struct Reason {
  Cause cause;
  std::string why;
};

}  // namespace

TEST_CASE("an attempt holds a value or the reason why there is none") {
  REQUIRE(half(6));
  CHECK(*half(6) == 3);
  REQUIRE_FALSE(half(7));
  CHECK(half(7).refusal().why == "7 is odd");
}

TEST_CASE("a value that is not there is a failed check, whose message is the refusal") {
  CHECK_THROWS_WITH_AS((void)half(7).value(), doctest::Contains("no value: 7 is odd"), InternalError);
  CHECK_THROWS_AS((void)*half(7), InternalError);
}

TEST_CASE("a value can be moved out, and a reason can carry facts beside its sentence") {
  Attempt<std::unique_ptr<int>, Reason> made(std::make_unique<int>(4));
  CHECK(**made == 4);
  **made = 5;
  const std::unique_ptr<int> taken = *std::move(made);
  CHECK(*taken == 5);
  const Attempt<std::unique_ptr<int>, Reason> refused(Reason{Cause::second, "no room"});
  CHECK(refused.refusal().cause == Cause::second);
}

}  // namespace base
