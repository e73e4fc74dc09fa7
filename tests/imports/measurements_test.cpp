// Imported traces as measurements and as totals.
#include <doctest/doctest.h>

#include "made_files.hpp"
#include "profiles/imports/import.hpp"
#include "tests/about.hpp"

using namespace imports;
using namespace measured;
using namespace profiles;

namespace {

// Three products of one shape, 10, 12 and 20 us, the last with a second kernel of 4 us; and one over the bus.
std::string products() {
  std::string events;
  const auto add = [&](const std::string& event) { events += (events.empty() ? "" : ",\n") + event; };
  const auto number = [](int n) { return std::to_string(n); };
  int correlation = 0;
  const auto launch = [&](int at, const std::string& kernel, int us, const std::string& category) {
    ++correlation;
    add(R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": )" + number(at) +
        R"(, "dur": 1, "pid": 1, "tid": 1, "args": {"correlation": )" + number(correlation) + "}}");
    add(R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + kernel + R"(", "ts": )" + number(1000 + at) + R"(, "dur": )" +
        number(us) + R"(, "pid": 0, "tid": 7, "args": {"correlation": )" + number(correlation) + "}}");
  };
  for (int i = 0; i < 3; ++i) {
    add(R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": )" + number(100 * i) +
        R"(, "dur": 50, "pid": 1, "tid": 1, "args": {"Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]}})");
    launch(100 * i + 10, "cutlass_80_tensorop_s1688gemm_64x64", i == 0 ? 10 : i == 1 ? 12 : 20, "kernel");
    if (i == 2) launch(100 * i + 20, "cublasLt::splitKreduce_kernel<float>", 4, "kernel");
  }
  add(R"({"ph": "X", "cat": "cpu_op", "name": "aten::copy_", "ts": 500, "dur": 50, "pid": 1, "tid": 1,
         "args": {"Input Dims": [[64], [64]], "Input type": ["float", "float"]}})");
  launch(510, "Memcpy HtoD (Pageable -> Device)", 3, "gpu_memcpy");
  return R"({"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": [)" + events + "]}";
}

}  // namespace

TEST_CASE("operations of one shape are one row, the median of their kernels' summed times, in the precision of the product") {
  const Measurements m = to_measurements(made::import_text(products()), {});
  REQUIRE(m.kernels.size() == 1);  // the copy crosses the bus: no measurement of the device's memory
  CHECK(m.kernels[0].device == "a100-sxm-80gb");
  CHECK(m.kernels[0].precision == pcg::Precision::tf32);  // not fp32, which is the type of the inputs and of the second kernel
  CHECK(m.kernels[0].kernel.m == 64);
  CHECK(m.kernels[0].time.value() == test::about(12e-6));  // of 10, 12 and 24
  CHECK(m.kernels[0].source.ends_with("f (median of 3)"));
  CHECK(m.notes[0].find("1 of 4 operations") == 0);
}

TEST_CASE("rows of nccl-tests become measurements of the named cluster") {
  const Measurements m = to_measurements(made::import_text(made::nccl_tests()), {.device = "", .cluster = "dgx-a100-40gb"});
  REQUIRE(m.collectives.size() == 2);
  const CollectiveMeasurement& c = m.collectives[0];
  CHECK(c.cluster == "dgx-a100-40gb");
  CHECK(c.nodes == 2);
  CHECK(c.gpus == 4);
  CHECK(c.kind == CollectiveKind::all_reduce);
  CHECK(c.bytes.value() == 1048576);
  CHECK(c.time.value() == test::about(49.5e-6));  // of 50 and 49
  CHECK(m.notes.empty());
}

TEST_CASE("totals by kind, stream and collective") {
  const TraceSummary s = summarise(made::import_text(made::kineto()));
  REQUIRE(s.kinds.size() == 2);
  CHECK(s.kinds[0].kind == "matmul");
  CHECK(s.kinds[0].shaped == 1);
  CHECK(s.kinds[0].time.value() == test::about(20.002e-6));
  REQUIRE(s.streams.size() == 2);
  CHECK(s.streams[1].stream == 20);
  CHECK(s.streams[1].collectives == 2);
  CHECK(s.streams[1].time.value() == test::about(70e-6));
  REQUIRE(s.collectives.size() == 2);
  CHECK(s.collectives[0].kind == "all_gather");
  // 16000 B in 40 us is 400 MB/s; on 8 ranks 7/8 of it crosses the bus.
  CHECK(s.collectives[0].algbw.value() == test::about(4e8));
  CHECK(s.collectives[0].busbw.value() == test::about(3.5e8));
  CHECK(s.collectives[1].busbw.value() == 0);  // the group is not known
}

TEST_CASE("copies to the host and from it are no measurements of the device's memory, those within it are") {
  for (const auto& [direction, rows] : {std::pair("HtoD", 0U), std::pair("DtoH", 0U), std::pair("DtoD", 1U)}) {
    const std::string text = R"x({"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": [
      {"ph": "X", "cat": "cpu_op", "name": "aten::copy_", "ts": 0, "dur": 50, "pid": 1, "tid": 1,
       "args": {"Input Dims": [[64], [64]], "Input type": ["float", "float"]}},
      {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "ts": 1, "dur": 1, "pid": 1, "tid": 1, "args": {"correlation": 1}},
      {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy )x" +
                             std::string(direction) + R"x( (x)", "ts": 9, "dur": 3, "pid": 0, "tid": 7, "args": {"correlation": 1}}]})x";
    CHECK(to_measurements(made::import_text(text), {}).kernels.size() == rows);
  }
}
