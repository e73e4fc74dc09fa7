#include "base/processes/child_process.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>

namespace {

// All that it has sent when it has ended.
std::string received(base::ChildProcess& child) {
  while (child.receive()) {}
  return child.received();
}

}  // namespace

TEST_CASE("a child hands bytes back, and ends") {
  const std::string much(1 << 20, 'x');
  base::ChildProcess child([&](const base::ChildProcess::Send& send) {
    send("first");
    send(much);
  });
  CHECK(received(child) == "first" + much);
  CHECK(child.wait().is_clean());
}

TEST_CASE("a child that crashes says how it ended, and what it had sent is here") {
  base::ChildProcess child([](const base::ChildProcess::Send& send) {
    send("before");
    std::abort();
  });
  CHECK(received(child) == "before");
  CHECK(child.wait().text() == "Aborted");
}

TEST_CASE("a child that would never end is ended") {
  const auto forever = [](const base::ChildProcess::Send& send) {
    send("alive");
    while (true) ::pause();
  };
  base::ChildProcess child(forever);
  REQUIRE(child.receive());
  CHECK(child.received() == "alive");
  child = base::ChildProcess([](const base::ChildProcess::Send& send) { send("another"); });  // ends the first
  CHECK(received(child) == "another");
}
