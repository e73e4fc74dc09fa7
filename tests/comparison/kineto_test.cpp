// A Kineto trace beside a forecast: passes by the operations around launches, sizes by shapes, what has no counterpart.
#include <doctest/doctest.h>

#include <fmt/core.h>

#include "compared.hpp"
#include "profiles/device_profile.hpp"
#include "tests/about.hpp"

using namespace comparison;

namespace {

// Events of one thread and one GPU; times in microseconds.
class Kineto {
 public:
  void step(int number, double at, double duration) {
    add(fmt::format(R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":1,"tid":1,"ts":{},"dur":{}}})", number, at,
                    duration));
  }
  void operation(const std::string& name, double at, double duration, const std::string& args = "{}") {
    add(fmt::format(R"({{"ph":"X","cat":"cpu_op","name":"{}","pid":1,"tid":1,"ts":{},"dur":{},"args":{}}})", name, at, duration, args));
  }
  // Launched at `launched`, runs at `at`.
  void kernel(const std::string& name, double launched, double at, double duration) {
    ++correlation_;
    add(fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},"dur":1,"args":{{"correlation":{}}}}})",
        launched, correlation_));
    add(fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":7,"ts":{},"dur":{},"args":{{"device":0,"stream":7,"correlation":{}}}}})",
        name, at, duration, correlation_));
  }
  // What the allocator has given out, on GPU 0 or on the host.
  void memory(double at, long allocated, bool on_gpu = true) {
    add(fmt::format(
        R"({{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":{},"args":{{"Total Reserved":9000,"Total Allocated":{},"Bytes":8,"Device Id":{},"Device Type":{}}}}})",
        at, allocated, on_gpu ? 0 : -1, on_gpu ? 1 : 0));
  }
  [[nodiscard]] std::string text() const { return R"({"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[)" + events_ + "]}"; }

 private:
  void add(const std::string& event) { events_ += (events_.empty() ? "" : ",\n") + event; }
  std::string events_;
  int correlation_ = 0;
};

constexpr const char* kShapes = R"({"Input Dims":[[4096,512],[512,1536]],"Input type":["c10::BFloat16","c10::BFloat16"]})";

std::string one_step() {
  Kineto k;
  k.step(1, 0, 200);
  k.operation("aten::mm", 10, 5, kShapes);
  k.kernel("ampere_bf16_s16816gemm_bf16_128x128", 11, 20, 30);
  k.operation("autograd::engine::evaluate_function: MmBackward0", 60, 40);
  k.operation("aten::mm", 70, 5, kShapes);
  k.kernel("ampere_bf16_s16816gemm_bf16_128x64", 71, 80, 40);
  k.operation("aten::linear", 80, 10);
  k.kernel("void at::native::vectorized_elementwise_kernel<4>", 81, 120, 5);
  k.operation("Optimizer.step#AdamW.step", 110, 30);
  k.kernel("multi_tensor_apply_kernel_adam", 115, 130, 10);
  k.operation("custom::magic", 150, 10);
  k.kernel("magic_thing", 151, 152, 8);
  return k.text();
}

const std::string kOneGpu = test::scenario("data-parallel: {}", ", node.gpus.count: 1");

const MeasuredDevice& device(const Comparison& c) { return c.devices.at(0); }

}  // namespace

TEST_CASE("passes are those of the operations around launches") {
  const Comparison c = test::beside(kOneGpu, one_step());
  const std::vector<Activity>& a = device(c).timeline.activities;
  REQUIRE(a.size() == 5);
  CHECK(a[0].pass == sim::SpanPass::forward);
  CHECK(a[1].pass == sim::SpanPass::backward);
  CHECK(a[2].pass == sim::SpanPass::recompute);  // an operation of models inside autograd's engine
  CHECK(a[3].pass == sim::SpanPass::update);
  CHECK(a[0].sizes == std::array<std::int64_t, 4>{1, 4096, 1536, 512});
  CHECK(device(c).iteration == "ProfilerStep#1");
  // From the first kernel, at 20 us, to the end of the last, at 160 us.
  CHECK(c.measured_s == test::about(140e-6, 1e-9));
}

TEST_CASE("times of a trace are parted as they are measured") {
  const Comparison c = test::beside(kOneGpu, one_step());
  CHECK(test::part(c, Share::kernel, "forward", "matmul")->measured.seconds == test::about(30e-6, 1e-6));
  CHECK(test::part(c, Share::kernel, "backward", "matmul")->measured.seconds == test::about(40e-6, 1e-6));
  // 50 to 80 us: the second product was launched at 71 us, when the device was free.
  CHECK(test::part(c, Share::gap, "backward", "launch")->measured.seconds == test::about(30e-6, 1e-6));
  // 125 to 130 us: launched at 115 us, before the device was free.
  CHECK(test::part(c, Share::gap, "update", "waiting")->measured.seconds == test::about(5e-6, 1e-6));
  double sum = 0;
  for (const PartRow& row : c.parts) sum += row.measured.seconds;
  CHECK(sum == test::about(c.measured_s, 1e-9));
}

TEST_CASE("what the forecast does not have is listed with its share, and spread over nothing") {
  const Comparison c = test::beside(kOneGpu, one_step());
  // Aligned: both products, and the optimizer. 30 + 40 + 10 of 93 us of kernels.
  CHECK(c.aligned_share == test::about(80.0 / 93, 1e-6));
  REQUIRE(c.unaligned.size() == 2);
  CHECK(c.unaligned[0].name == "magic_thing");
  CHECK(c.unaligned[0].share == test::about(8.0 / 93, 1e-6));
  CHECK(c.unaligned[1].pass == "recompute");
}

TEST_CASE("what the allocator gave out in the iteration stands beside the forecast without the GPU's context") {
  Kineto k;
  k.step(1, 0, 100);
  k.memory(5, 1000);
  k.memory(8, 2000);  // before the first kernel, at 20 us: there when it begins
  k.kernel("ampere_bf16_s16816gemm_bf16_128x128", 11, 20, 30);
  k.memory(30, 5000);
  k.memory(35, 70'000'000'000, false);
  k.memory(40, 3000);
  k.memory(60, 8000);  // after the last kernel, at 50 us
  const Comparison c = test::beside(kOneGpu, k.text());
  const std::vector<sim::MemorySample>& m = device(c).timeline.memory;
  REQUIRE(m.size() == 3);
  CHECK(m[0].time.value() == 0);
  CHECK(m[0].used.value() == 2000);
  CHECK(m[1].time.value() == test::about(10e-6, 1e-9));
  CHECK(m[1].used.value() == 5000);
  CHECK(m[2].used.value() == 3000);
  REQUIRE(c.memory);
  CHECK(c.memory->measured.value() == 5000);
  const scenarios::ScenarioResult alone = test::answered(kOneGpu);
  const base::Bytes context = profiles::device_profile("h100-sxm-80gb").reserved;
  CHECK(context.value() > 0);
  CHECK(c.memory->predicted.value() == test::about((alone.runs.at(0).simulation->memory.peak - context).value(), 1e-6));
}

TEST_CASE("a rank that the plan does not have is refused") {
  std::string trace = one_step();
  trace.replace(trace.find("\"rank\":0"), 8, "\"rank\":5");
  CHECK_THROWS_AS(test::beside(kOneGpu, trace), base::InputError);
}
