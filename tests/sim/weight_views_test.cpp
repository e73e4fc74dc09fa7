// Weights that are joined or cut before they are read are stored so: a plan with two weights and their concat costs what one with the
// whole weight does, and slices of one weight what two weights do.
#include <doctest/doctest.h>

#include "plan_builder.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

constexpr std::int64_t kBatch = 64, kIn = 1024, kFirst = 512, kSecond = 256;

enum class Stored { whole, joined, nested };
// x . w and a loss; w of kFirst + kSecond columns.
pcg::Graph product(Stored how) {
  pcg::GraphBuilder b("product");
  const pcg::GraphTensorRef x = b.input("x", pcg::real({kBatch, kIn})), y = b.input("y", pcg::real({kBatch, kFirst + kSecond}));
  const auto weight = [&](const char* name, std::int64_t columns) { return b.weight(name, pcg::real({kIn, columns})); };
  const auto concat = [&](const char* name, std::vector<pcg::GraphTensorRef> parts) {
    return b.add(name, pcg::Concat{1}, std::move(parts));
  };
  pcg::GraphTensorRef w;
  if (how == Stored::whole) w = weight("w", kFirst + kSecond);
  if (how == Stored::joined) w = concat("w", {weight("a", kFirst), weight("b", kSecond)});
  if (how == Stored::nested) w = concat("w", {weight("a", kFirst), concat("v", {weight("b", kSecond / 2), weight("c", kSecond / 2)})});
  b.add("loss", pcg::SquaredError{}, {b.add("product", pcg::Linear{.out = kFirst + kSecond}, {x}, {w}), y});
  return std::move(b).build();
}

// x . a + y . b and a loss, where a and b are weights, slices of one, or stored as parts of one.
enum class Second { weights, slices, parts };
pcg::Graph sum_of_products(Second how) {
  pcg::GraphBuilder b("sum");
  const pcg::GraphTensorRef x = b.input("x", pcg::real({kBatch, kFirst})), y = b.input("y", pcg::real({kBatch, kSecond}));
  const pcg::GraphTensorRef z = b.input("z", pcg::real({kBatch, kIn}));
  pcg::GraphTensorRef first, second;
  if (how == Second::slices) {
    const pcg::GraphTensorRef w = b.weight("w", pcg::real({kFirst + kSecond, kIn}));
    first = b.add("first", pcg::Slice{.axis = 0, .begin = 0, .length = kFirst}, {w});
    second = b.add("second", pcg::Slice{.axis = 0, .begin = kFirst, .length = kSecond}, {w});
  } else if (how == Second::parts) {
    const auto part = [&](const char* name, std::int64_t begin, std::int64_t rows) {
      return b.add_raw(name, pcg::Weight{{{rows, kIn}}, {{"w", {kFirst + kSecond, kIn}, {begin, 0}, {rows, kIn}}}}, {}).front();
    };
    first = part("first", 0, kFirst);
    second = part("second", kFirst, kSecond);
  } else {
    first = b.weight("first", pcg::real({kFirst, kIn}));
    second = b.weight("second", pcg::real({kSecond, kIn}));
  }
  const pcg::GraphTensorRef a = b.add("a", pcg::Linear{.out = kIn}, {x}, {first}), c = b.add("c", pcg::Linear{.out = kIn}, {y}, {second});
  b.add("loss", pcg::SquaredError{}, {b.add("add", pcg::Binary{}, {a, c}), z});
  return std::move(b).build();
}

sim::SimulationResult on_one_device(const pcg::Graph& g) {
  const pcg::Plan plan = test::plan_of(g, {}, 1);
  REQUIRE(pcg::violations(plan).empty());
  return sim::simulate_plan(plan, test::star(1, 1));
}

void check_equal(const pcg::Graph& a, const pcg::Graph& b) {
  const sim::SimulationResult left = on_one_device(a), right = on_one_device(b);
  CHECK(left.breakdown.compute.value() == test::about(right.breakdown.compute.value(), 1e-12));
  CHECK(left.iteration_time.value() == test::about(right.iteration_time.value(), 1e-12));
  CHECK(left.memory.peak.value() == test::about(right.memory.peak.value(), 1e-12));
}

}  // namespace

TEST_CASE("a weight that is joined of others costs what a whole one does") {
  check_equal(product(Stored::joined), product(Stored::whole));
  check_equal(product(Stored::nested), product(Stored::whole));
}

TEST_CASE("slices of a weight, and weights that are parts of one, cost what weights of their own do") {
  check_equal(sum_of_products(Second::slices), sum_of_products(Second::weights));
  check_equal(sum_of_products(Second::parts), sum_of_products(Second::weights));
}

TEST_CASE("parts of a weight are together what the weight is: in memory, in gradients that are added up, in the optimizer's state") {
  // 768 x 1024 parameters in fp32 are 3 MiB; Adam keeps two numbers besides. Of two replicas each sends 2 (p - 1) / p = 1 times the
  // gradients in a ring.
  constexpr double kWeights = 3 << 20;
  for (const Second how : {Second::weights, Second::parts}) {
    pcg::Plan plan = test::plan_of(sum_of_products(how), {{"*", {{"b", 2}}}}, 2);
    plan.training.optimizer = pcg::Optimizer::adam;
    plan.training.precision = pcg::Precision::fp32;
    REQUIRE(pcg::violations(plan).empty());
    const sim::SimulationResult r = sim::simulate_plan(plan, test::star(2, 1));
    CHECK(r.memory.weights.value() == kWeights);
    CHECK(r.memory.gradients.value() == kWeights);
    CHECK(r.memory.optimizer.value() == 2 * kWeights);
    CHECK(r.bytes.total.value() == 2 * kWeights);
  }
}
