// What a plan overlaps: gradients beside the backward pass, updated weights beside the next forward pass, collectives of tensor
// parallelism beside products. In each closed form s is how many times as long a kernel takes beside a collective.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "plan_builder.hpp"
#include "profiles/device_profile.hpp"
#include "sim/simulation.hpp"
#include "test_clusters.hpp"
#include "tests/about.hpp"

namespace {

using pcg::Overlap;

constexpr int kOverlapLayers = 5;
constexpr std::int64_t kOverlapWidth = 4096;

test::About near(double value) { return test::about(value, 0.005); }

double slowdown() { return profiles::device_profile("v100-sxm2-16gb").overlap_slowdown; }

sim::SimulationConfig traced(profiles::FrameworkProfile framework) {
  sim::SimulationConfig config;
  config.trace = true;
  config.framework = std::move(framework);
  return config;
}

// Every layer is a bucket: a gradient is kOverlapWidth x kOverlapWidth x 4 bytes.
profiles::FrameworkProfile bucket_per_layer() {
  profiles::FrameworkProfile f = profiles::framework_profile(pcg::Framework::generic);
  f.gradient_bucket = base::Bytes(kOverlapWidth * kOverlapWidth * 4.0);
  return f;
}

struct OverlapTimes {
  double start = 0, end = 0;
  [[nodiscard]] double seconds() const { return end - start; }
};

// From the first span of that name to the last, on one device.
OverlapTimes whole(const sim::SimulationResult& r, const std::string& name) {
  OverlapTimes t{1e300, 0};
  for (const sim::Span& s : r.spans)
    if (s.name == name) t = {std::min(t.start, s.start.value()), std::max(t.end, (s.start + s.duration).value())};
  REQUIRE_MESSAGE(t.end > 0, name);
  return t;
}
std::size_t count(const sim::SimulationResult& r, const std::string& name) {
  std::size_t n = 0;
  for (const sim::Span& s : r.spans) n += s.name == name;
  return n;
}

sim::SimulationResult data_parallel(std::int64_t batch, int zero, const Overlap& overlap) {
  pcg::Plan plan = test::plan_of(test::mlp(kOverlapLayers, kOverlapWidth, batch), {{"*", {{"b", 2}}}}, 2);
  plan.zero = zero;
  plan.overlap = overlap;
  return sim::simulate_plan(plan, test::star(1, 2, "10 GB/s", "0 us"), traced(bucket_per_layer()));
}

// norm (rows cut) -> up (columns cut) -> down (inner dim cut) -> norm (rows cut): what sequence parallelism makes of a layer's second half.
pcg::Plan half_layer(std::int64_t rows, int devices, bool gated) {
  pcg::GraphBuilder b("half layer");
  b.begin_weightless_block("input");
  pcg::GraphTensorRef x = b.input("x", {{rows, kOverlapWidth}, pcg::Element::real});
  const pcg::GraphTensorRef y = b.input("target", {{rows, kOverlapWidth}, pcg::Element::real});
  b.begin_block("layer");
  // Without a product in front, nobody would need the gradient of the first norm.
  x = b.add("before", pcg::Linear{.out = kOverlapWidth}, {x});
  x = b.add("norm", pcg::LayerNorm{}, {x});
  pcg::GraphTensorRef h = b.add("up", pcg::Linear{.out = kOverlapWidth}, {x});
  if (gated)
    h = b.add("product", pcg::Binary{.kind = pcg::Binary::Kind::multiply}, {h, b.add("gate", pcg::Linear{.out = kOverlapWidth}, {x})});
  x = b.add("down", pcg::Linear{.out = kOverlapWidth}, {h});
  x = b.add("after", pcg::LayerNorm{}, {x});
  b.begin_weightless_block("loss");
  b.add("loss", pcg::SquaredError{}, {x, y});
  test::Cuts cuts;
  for (const char* name : {"x", "target", "before", "norm", "after", "loss"}) cuts[name] = {{"b", devices}};
  for (const char* name : {"up", "gate"}) cuts[name] = {{"n", devices}};
  cuts["product"] = {{"1", devices}};
  cuts["down"] = {{"k", devices}};
  return test::plan_of(std::move(b).build(), cuts, devices);
}

sim::SimulationResult in_pieces(std::int64_t rows, int devices, bool pieces, bool gated = false, const std::string& bandwidth = "10 GB/s") {
  pcg::Plan plan = half_layer(rows, devices, gated);
  plan.overlap.tensor = pieces;
  sim::SimulationConfig config = traced(profiles::framework_profile(pcg::Framework::generic));
  config.collectives.algorithm = sim::Algorithm::ring;
  return sim::simulate_plan(plan, test::star(1, devices, bandwidth, "0 us"), config);
}

// A collective of c seconds and the product of p seconds behind it or in front of it, in n pieces. While the collective runs, the
// product's first n - 1 pieces (its last, in front of a reduction) go on at 1 / s of their pace, and so does what the stream computes
// before them, of w seconds.
double together(double c, double p, double n, double w = 0) {
  const double s = slowdown(), many = w + p * (n - 1) / n, one = p / n;
  return many * s <= c ? c + one : many + c * (1 - 1 / s) + one;
}

}  // namespace

TEST_CASE("gradients that are not overlapped are all synchronised after the backward pass") {
  // n buckets of g seconds. Overlapped: all but the last bucket begin beside the backward pass; the first layer's weight gradient is the
  // last.
  const auto after = data_parallel(512, 0, {.gradients = false}), beside = data_parallel(512, 0, {.gradients = true});
  const double backward_end = whole(after, "layer0 weight gradient").end, g = whole(after, "all_reduce gradients of layer0").seconds();
  CHECK(whole(after, "all_reduce gradients of layer4").start == near(backward_end));
  CHECK(whole(after, "all_reduce gradients of layer0").end == near(backward_end + kOverlapLayers * g));
  CHECK(whole(beside, "all_reduce gradients of layer4").start == near(whole(beside, "layer4 weight gradient").end));
  CHECK(data_parallel(512, 0, {}).iteration_time == beside.iteration_time);  // as the framework does
}

TEST_CASE("updated weights that are gathered beside the forward pass hide as much as there is to hide behind") {
  for (const int zero : {1, 2}) {
    // n layers whose forward kernels take c and whose gathers take g. After the update: n c + n g. Beside the forward pass, gathers one
    // after another, each layer behind its own: g > s c: n g + c. The hidden part is (n - 1) c.
    const auto narrow = data_parallel(512, zero, {}), narrow_beside = data_parallel(512, zero, {.parameters = true});
    const double g = whole(narrow, "all_gather updated weights of layer4.weight").seconds() / kOverlapLayers,
                 c = whole(narrow, "layer1 forward").seconds();
    REQUIRE(g > 1.5 * c);
    CHECK(narrow.iteration_time.value() - narrow_beside.iteration_time.value() == near((kOverlapLayers - 1) * c));
    CHECK(whole(narrow_beside, "layer4 forward").start == near(kOverlapLayers * g));
    // c > s g: the first layer waits for its gather, the others' gathers run beside kernels, which lose 1 - 1/s of those seconds.
    const auto wide = data_parallel(16384, zero, {}), wide_beside = data_parallel(16384, zero, {.parameters = true});
    REQUIRE(whole(wide, "layer1 forward").seconds() > 1.5 * g);
    CHECK(wide.iteration_time.value() - wide_beside.iteration_time.value() == near((kOverlapLayers - 1) * g / slowdown()));
    CHECK(wide.bytes.total == wide_beside.bytes.total);
  }
}

TEST_CASE("only the first micro-batch waits for the weights, and a stage's gathers begin with the iteration") {
  // Two stages of two replicas each would do; one stage and two micro-batches show it.
  pcg::Plan plan = test::plan_of(test::mlp(kOverlapLayers, kOverlapWidth, 512), {{"*", {{"b", 2}}}}, 2);
  plan.zero = 1;
  plan.micro_batches = 2;
  plan.training.global_batch = 1024;
  const auto cluster = test::star(1, 2, "10 GB/s", "0 us");
  const auto after = sim::simulate_plan(plan, cluster, traced(bucket_per_layer()));
  plan.overlap.parameters = true;
  const auto beside = sim::simulate_plan(plan, cluster, traced(bucket_per_layer()));
  CHECK(count(beside, "all_gather updated weights of layer0.weight, micro-batch 0") == 1);  // a micro-batch more would be one more
  const double c = whole(data_parallel(512, 1, {}), "layer1 forward").seconds();
  CHECK(after.iteration_time.value() - beside.iteration_time.value() == near((kOverlapLayers - 1) * c));  // as with one micro-batch
}

TEST_CASE("a gather and the product behind it: the product begins with the piece at hand") {
  for (const int n : {2, 4})
    for (const std::int64_t rows : {512, 8192}) {
      const std::string bandwidth = rows == 512 ? "10 GB/s" : "100 GB/s";
      const auto apart = in_pieces(rows, n, false, false, bandwidth), pieces = in_pieces(rows, n, true, false, bandwidth);
      const OverlapTimes gather = whole(pieces, "all_gather tensor of norm");
      const double c = whole(apart, "all_gather tensor of norm").seconds(), p = whole(apart, "up forward").seconds();
      CHECK(gather.seconds() == near(c));
      CHECK(whole(pieces, "up forward").end - gather.start == near(together(c, p, n)));
      CHECK(count(pieces, "up forward") == 2 * count(apart, "up forward"));
      // Backward: the gradient of `after` is gathered for `down`, beside the gradient of the weight of `after`.
      const OverlapTimes back = whole(pieces, "all_gather gradient of down");
      const double cb = whole(apart, "all_gather gradient of down").seconds(), pb = whole(apart, "down input gradient").seconds();
      const double w = whole(apart, "after weight gradient").seconds();
      CHECK(whole(pieces, "down input gradient").end - back.start == near(together(cb, pb, n, w)));
    }
}

TEST_CASE("a product and the reduce-scatter behind it: the reduction begins after the first piece") {
  for (const int n : {2, 4})
    for (const std::int64_t rows : {512, 8192}) {
      const std::string bandwidth = rows == 512 ? "10 GB/s" : "100 GB/s";
      const auto apart = in_pieces(rows, n, false, false, bandwidth), pieces = in_pieces(rows, n, true, false, bandwidth);
      const double c = whole(apart, "reduce_scatter tensor of down").seconds(), p = whole(apart, "down forward").seconds();
      const OverlapTimes product = whole(pieces, "down forward"), reduction = whole(pieces, "reduce_scatter tensor of down");
      CHECK(reduction.start - product.start == near(p / n));
      CHECK(std::max(reduction.end, product.end) - product.start == near(together(c, p, n)));
    }
}

TEST_CASE("products that read one gather count as one") {
  const auto apart = in_pieces(8192, 2, false, true, "40 GB/s"), pieces = in_pieces(8192, 2, true, true, "40 GB/s");
  const OverlapTimes gather = whole(pieces, "all_gather tensor of norm");
  const double c = whole(apart, "all_gather tensor of norm").seconds();
  const double p = whole(apart, "up forward").seconds() + whole(apart, "gate forward").seconds();
  // Two pieces of two equal products: the first runs beside the gather, the second behind it.
  CHECK(whole(pieces, "gate forward").end - gather.start == near(together(c, p, 2)));
}

TEST_CASE("an overlap that finds nothing to overlap is told") {
  pcg::Plan plan = test::plan_of(test::mlp(2, 64, 4), {{"*", {{"b", 2}}}}, 2);
  plan.overlap.tensor = true;
  const auto r = sim::simulate_plan(plan, test::star(1, 2), {});
  CHECK(std::ranges::count(r.notes, base::Fact("overlap-unused")) == 1);
}

TEST_CASE("Megatron's buckets: 40 million parameters of the first stage, or a million for each replica") {
  // Layers of 4096 x 4096 = 16.8 million parameters, two replicas: three of them fill a bucket of 40 million. Five are two buckets.
  pcg::Plan plan = test::plan_of(test::mlp(kOverlapLayers, kOverlapWidth, 512), {{"*", {{"b", 2}}}}, 2);
  plan.overlap.gradients = true;
  const auto buckets = [&](double per_replica) {
    sim::SimulationConfig config = traced(profiles::framework_profile(pcg::Framework::megatron));
    config.framework->overlapped_bucket.per_replica = per_replica;
    const auto r = sim::simulate_plan(plan, test::star(1, 2), config);
    std::size_t n = 0;
    for (const sim::Span& s : r.spans) n += s.name.starts_with("all_reduce gradients of");
    return n;
  };
  CHECK(buckets(1e6) == 2);
  CHECK(buckets(30e6) == 2);   // 60 million: four layers, and one
  CHECK(buckets(100e6) == 1);  // 200 million: all
}

TEST_CASE("a weight gradient runs beside the collective of the input gradient, or waits for it, as the framework has it") {
  for (const bool beside : {true, false}) {
    sim::SimulationConfig config = traced(profiles::framework_profile(pcg::Framework::generic));
    config.framework->overlap_input_gradient = beside;
    const auto r = sim::simulate_plan(half_layer(8192, 2, false), test::star(1, 2, "10 GB/s", "0 us"), config);
    const OverlapTimes product = whole(r, "up weight gradient"), sum = whole(r, "reduce_scatter gradient of norm");
    CHECK((product.start < sum.end) == beside);
    CHECK((product.start >= sum.end) == !beside);
  }
}

TEST_CASE("Megatron's buckets: stages behind the first have one each") {
  // Two layers a stage on two replicas each; buckets of one parameter, so that the first stage has one for each weight.
  pcg::Plan plan = test::two_stages_of(test::mlp(4, 64, 8), 2, 3, 2);
  plan.overlap.gradients = true;
  sim::SimulationConfig config = traced(profiles::framework_profile(pcg::Framework::megatron));
  config.framework->overlapped_bucket = {.parameters = 1, .per_replica = 0};
  const auto r = sim::simulate_plan(plan, test::star(1, 4), config);
  std::set<std::string> buckets;
  for (const sim::Span& s : r.spans)
    if (s.name.starts_with("all_reduce gradients of ")) buckets.insert(s.name.substr(24, 6));
  CHECK(buckets == std::set<std::string>{"layer0", "layer1", "layer3"});  // each named after its first, in backward order
}
