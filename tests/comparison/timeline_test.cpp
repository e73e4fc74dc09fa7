// The parts of a device's iteration, worked out by hand.
#include <doctest/doctest.h>

#include "scenarios/comparison/alignment.hpp"
#include "tests/about.hpp"

using namespace comparison;
using sim::SpanPass;

namespace {

Activity kernel(double start_s, double duration_s, std::string_view kind = "matmul", SpanPass pass = SpanPass::forward) {
  Activity a{.pass = pass, .kind = kind};
  a.start_s = start_s;
  a.duration_s = duration_s;
  return a;
}

Activity transfer(double start_s, double duration_s, std::string_view kind = "all_reduce") {
  Activity a = kernel(start_s, duration_s, kind, SpanPass::backward);
  a.work = Work::transfer;
  return a;
}

DeviceTimeline device(std::vector<Activity> activities, double end_s) {
  std::ranges::stable_sort(activities, {}, &Activity::start_s);
  return {.end_s = end_s, .activities = std::move(activities)};
}

double total(const Parts& parts) {
  double sum = 0;
  for (const auto& [key, part] : parts) sum += part.seconds;
  return sum;
}

}  // namespace

TEST_CASE("a moment belongs to the kernel that runs, else to the transfer, else to what the next kernel waits for") {
  // kernel 0-4; transfer 2-7, of which 4-7 is exposed; nothing 7-8; kernel 8-9; nothing 9-10.
  const Parts parts = parts_of(device({kernel(0, 4), transfer(2, 5), kernel(8, 1, "norm", SpanPass::backward)}, 10), false);
  CHECK(parts.at({Share::kernel, "forward", "matmul"}).seconds == 4);
  CHECK(parts.at({Share::kernel, "backward", "norm"}).seconds == 1);
  CHECK(parts.at({Share::exposed, "backward", "all_reduce"}).seconds == 3);
  CHECK(parts.at({Share::exposed, "backward", "all_reduce"}).busy_s == 5);
  CHECK(parts.at({Share::gap, "backward", "waiting"}).seconds == 1);
  CHECK(parts.at({Share::gap, "update", "waiting"}).seconds == 1);  // after the last kernel
  CHECK(total(parts) == 10);
}

TEST_CASE("of kernels and of transfers at once the first counts") {
  // kernels 0-3 and 1-5: 3 + 2. transfers 5-8 and 6-9: 3 + 1.
  const Parts parts = parts_of(device({kernel(0, 3), kernel(1, 4, "norm"), transfer(5, 3), transfer(6, 3, "all_gather")}, 9), false);
  CHECK(parts.at({Share::kernel, "forward", "matmul"}).seconds == 3);
  CHECK(parts.at({Share::kernel, "forward", "norm"}).seconds == 2);
  CHECK(parts.at({Share::exposed, "backward", "all_reduce"}).seconds == 3);
  CHECK(parts.at({Share::exposed, "backward", "all_gather"}).seconds == 1);
}

TEST_CASE("a gap is a late launch, or a bubble of a pipeline; messages that are sent expose nothing") {
  Activity late = kernel(3, 1), sent = transfer(4, 2, "send");
  late.late_launch = true;
  sent.exposes = false;
  const Parts parts = parts_of(device({kernel(0, 1), late, sent, kernel(6, 1, "loss")}, 7), true);
  CHECK(parts.at({Share::gap, "forward", "launch"}).seconds == 2);
  CHECK(parts.at({Share::gap, "forward", "bubble"}).seconds == 2);
  CHECK(parts.at({Share::exposed, "backward", "send"}).seconds == 0);
  CHECK(total(parts) == 7);
}

TEST_CASE("products are aligned by their sizes, in any order; what the forecast has not is not aligned") {
  const auto product = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    Activity a = kernel(0, 1);
    a.sizes = {1, m, n, k};
    return a;
  };
  const DeviceTimeline forecast = device({product(64, 32, 16), product(64, 32, 16), product(8, 8, 8), kernel(0, 1, "elementwise")}, 4);
  const DeviceTimeline trace =
      device({product(16, 64, 32), product(64, 16, 32), product(8, 8, 9), kernel(0, 1, "copy"), kernel(0, 1, "norm"), kernel(0, 1, "")}, 6);
  const Alignment a = align(trace, forecast);
  CHECK(a.counterpart[0] == 0);  // the first of equal sizes is the first
  CHECK(a.counterpart[1] == 1);
  CHECK(a.why[2] == "the forecast has none of these sizes in the pass");
  CHECK(a.counterpart[3] == 3);  // reads and writes, as elementwise does
  CHECK(a.why[4] == "the forecast has none in the pass");
  CHECK(a.why[5] == "neither its name nor its operation says what it does");
}

TEST_CASE("of one size no more products are aligned than the forecast has; others are in proportion") {
  const auto product = [](double start_s) {
    Activity a = kernel(start_s, 1);
    a.sizes = {1, 64, 32, 16};
    return a;
  };
  const DeviceTimeline forecast = device({product(0), product(1), kernel(2, 1, "norm"), kernel(3, 1, "norm")}, 4);
  const DeviceTimeline trace = device(
      {product(0), product(1), product(2), kernel(3, 1, "norm"), kernel(4, 1, "norm"), kernel(5, 1, "norm"), kernel(6, 1, "norm")}, 7);
  const Alignment a = align(trace, forecast);
  CHECK(a.counterpart[1] == 1);
  CHECK(a.why[2] == "more of these sizes than the forecast has");
  CHECK(std::vector(a.counterpart.begin() + 3, a.counterpart.end()) == std::vector<std::uint32_t>{2, 2, 3, 3});
}

TEST_CASE("a product that is several of the forecast's side by side is these, fused") {
  const auto product = [](std::int64_t n) {
    Activity a = kernel(0, 1);
    a.sizes = {1, 1000, n, 100};
    return a;
  };
  // Queries of 512, keys and values of 128 each: 512 + 2 x 128.
  const DeviceTimeline forecast = device({product(512), product(128), product(128)}, 3);
  CHECK(align(device({product(768)}, 1), forecast).counterpart[0] != Alignment::kNone);
  CHECK(align(device({product(640)}, 1), forecast).counterpart[0] != Alignment::kNone);  // 512 + 128
  CHECK(align(device({product(700)}, 1), forecast).counterpart[0] == Alignment::kNone);
}
