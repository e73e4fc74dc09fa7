#include "base/processes/worker_pool.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/diagnostics.hpp"

TEST_CASE("answers come in order, whatever the number of processes, and each is told of once") {
  for (const int jobs : {1, 3}) {
    std::size_t told = 0;
    const auto square = [](std::size_t i) -> nlohmann::json { return i * i; };
    const auto answers = base::run_workers(7, jobs, square, [&](std::size_t i) { told += i; });
    REQUIRE(answers.size() == 7);
    for (std::size_t i = 0; i < answers.size(); ++i) CHECK(answers[i] == i * i);
    CHECK(told == 0 + 1 + 2 + 3 + 4 + 5 + 6);
  }
}

TEST_CASE("bad input stays bad input on its way between processes, and a bug a bug") {
  const auto refused = [](std::size_t) -> nlohmann::json { throw base::InputError({{{}, "model", "is too small", "make it larger"}}); };
  const auto failed = [](std::size_t) -> nlohmann::json { throw std::runtime_error("a bug"); };
  for (const int jobs : {1, 2}) {
    std::string said;
    try {
      (void)base::run_workers(1, jobs, refused, [](std::size_t) {});
    } catch (const base::InputError& e) { said = e.what(); }
    CHECK(said.find("model: is too small") != std::string::npos);
    CHECK(said.find("make it larger") != std::string::npos);
    CHECK_THROWS_WITH(base::run_workers(1, jobs, failed, [](std::size_t) {}), "a bug");
  }
}
