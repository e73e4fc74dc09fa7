// Bytes that the kinds of context parallelism move per layer, of A = s b h in half precision: a block of keys and values is 2 A / c.
#include <doctest/doctest.h>

#include "planning.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

const double kActivation = static_cast<double>(test::kShape.sequence * test::kShape.batch * test::kShape.hidden) * 2;

// What two more layers add, halved.
double bytes_of_layer(const search::GridConfig& config, const std::string& kind) {
  const auto cluster = test::dgx_a100(1, 4);
  const auto traffic = [&](std::int64_t layers) {
    test::Shape s;
    s.layers = layers;
    auto bytes = sim::simulate_plan(test::megatron(s, config, cluster), cluster, {}).bytes.by_collective;
    return bytes[kind].value();
  };
  return (traffic(4) - traffic(2)) / 2;
}

}  // namespace

TEST_CASE("ring: each of c devices sends c - 1 blocks forward, and twice as many backward") {
  CHECK(bytes_of_layer({.context = 4}, "send") == test::about(3 * 3 * 2 * kActivation));
}

TEST_CASE("all-to-alls of heads: queries, keys, values and what comes out, forward and backward, of which (c - 1) / c leaves") {
  CHECK(bytes_of_layer({.context = 4, .context_kind = search::ContextKind::ulysses}, "all_to_all") ==
        test::about(2 * 4 * kActivation * 3 / 4));
}

TEST_CASE("a ring over all-to-alls: pairs exchange heads, and rings of two pass on the blocks of half of the heads") {
  const search::GridConfig c{.context = 4, .context_all_to_all = 2};
  CHECK(bytes_of_layer(c, "all_to_all") == test::about(2 * 4 * kActivation / 2));
  CHECK(bytes_of_layer(c, "send") == test::about(3 * 2 * kActivation));
}

TEST_CASE("tensor parallelism cuts heads first, all-to-alls what is left of them") {
  const search::GridConfig c{.tensor = 2, .context = 2, .context_kind = search::ContextKind::ulysses};
  CHECK(bytes_of_layer(c, "all_to_all") == test::about(2 * 4 * kActivation / 2));
}
