// Kineto traces: links from kernels to operations, sizes of collectives, time stamps, damaged events.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include "made_files.hpp"
#include "profiles/imports/formats/kineto_events.hpp"
#include "tests/about.hpp"

using namespace imports;
using namespace profiles;

namespace {

std::string with_events(const std::string& events) { return R"({"traceEvents": [)" + events + "]}"; }

std::string kernel(const std::string& fields) {
  return with_events(R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, )" + fields + "}");
}

const ImportedCollective& of_kind(const ImportedTrace& t, CollectiveKind kind) {
  for (const ImportedCollective& c : t.collectives)
    if (c.kind == kind) return c;
  FAIL("no such collective");
  return t.collectives.front();
}

}  // namespace

TEST_CASE("a kernel has the kind of its name and the shape of the operation that launched it") {
  const ImportedTrace t = made::import_text(made::kineto());
  CHECK(t.format == TraceFormat::kineto);
  REQUIRE(t.kernels.size() == 2);
  const ImportedKernel& k = t.kernels[0];
  CHECK(t.names[k.name].starts_with("ampere_bf16"));
  CHECK(k.kind == pcg::KernelKind::matmul);
  CHECK(k.precision == pcg::Precision::bf16);
  CHECK(k.device == 0);
  CHECK(k.stream == 7);
  // 100.001 us after the step's begin, to the nanosecond although the stamps are of 1.7e15 us.
  CHECK(k.start->value() == test::about(100.001e-6, 1e-12));
  CHECK(k.duration.value() == test::about(20.002e-6, 1e-12));
  REQUIRE(k.operation != kNoOperation);
  const ImportedOperation& o = t.operations[k.operation];
  CHECK(o.name == "aten::addmm");  // not aten::linear around it
  REQUIRE(o.work);
  CHECK(o.work->m == 64);
  CHECK(o.work->k == 128);
  CHECK(o.work->n == 256);
  CHECK(o.work->flops.value() == 2.0 * 64 * 128 * 256);
  CHECK(o.work->bytes.value() == 2.0 * (64 * 128 + 128 * 256 + 64 * 256));  // bf16: 2 B
  CHECK(t.kernels[1].kind == pcg::KernelKind::copy);
  CHECK(t.kernels[1].moved.value() == 4096);
}

TEST_CASE("an all-gather's bytes are its whole output, an all-reduce's what goes in") {
  const ImportedTrace t = made::import_text(made::kineto());
  REQUIRE(t.collectives.size() == 2);
  const ImportedCollective& gather = of_kind(t, CollectiveKind::all_gather);
  CHECK(gather.sent->value() == 2000);    // 1000 numbers of 2 B
  CHECK(gather.bytes->value() == 16000);  // from 8 ranks
  CHECK(gather.element == "bf16");
  CHECK(gather.group_size == 8);
  CHECK(gather.ranks == std::vector{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(gather.start->value() == test::about(110e-6));  // its stamp is text in the file
  // From the annotation that was open when it was launched: 300 x 10 numbers of 4 B. Its External id is only the correlation again.
  const ImportedCollective& reduce = of_kind(t, CollectiveKind::all_reduce);
  CHECK(reduce.bytes->value() == 12000);
  CHECK(reduce.element == "fp32");
  CHECK(reduce.group_size == 0);
}

TEST_CASE("a step knows how long its device was busy; devices are those that did something") {
  const ImportedTrace t = made::import_text(made::kineto());
  REQUIRE(t.iterations.size() == 1);
  CHECK(t.iterations[0].name == "ProfilerStep#7");
  CHECK(t.iterations[0].duration.value() == test::about(1e-3));
  // 100.001 .. 120.003, 110 .. 150, 130 .. 140 and 160 .. 190 us: 49.999 + 30.
  CHECK(t.iterations[0].busy->value() == test::about(79.999e-6));
  CHECK(t.span.value() == test::about(89.999e-6));
  REQUIRE(t.devices.size() == 1);
  CHECK(t.devices[0].name == "NVIDIA A100-SXM4-80GB");
  CHECK(t.devices[0].profile == "a100-sxm-80gb");
  CHECK(t.devices[0].memory.value() == 85031714816);
  CHECK(*t.rank == 3);
  CHECK(*t.world_size == 8);
}

TEST_CASE("gzip changes nothing, several streams one after another either") {
  const std::string text = made::kineto();
  CHECK(made::import_text(made::gzipped(text)).kernels.size() == 2);
  CHECK(made::import_text(made::gzipped(text.substr(0, 700)) + made::gzipped(text.substr(700))).kernels.size() == 2);
}

TEST_CASE("a bare list of events is a trace, a bare list of anything else is not") {
  CHECK(made::import_text(R"([{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2, "pid": 0, "tid": 0}])").kernels.size() == 1);
  CHECK(made::refusal("[1, 2, 3]").find("no traceEvents") != std::string::npos);
}

TEST_CASE("a trace without device events is read, and says so") {
  const ImportedTrace t =
      made::import_text(with_events(R"({"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 1, "dur": 2, "pid": 1, "tid": 1})"));
  CHECK(t.kernels.empty());
  REQUIRE(!t.notes.empty());
  CHECK(t.notes[0].starts_with("no device events"));
}

TEST_CASE("kernels of a CUDA graph do not take the operation that launched the graph") {
  const ImportedTrace t = made::import_text(with_events(
      R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 9, "pid": 1, "tid": 1, "args": {"Input Dims": [[2, 2], [2, 2]], "Input type": ["float", "float"]}},
         {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "ts": 1, "dur": 2, "pid": 1, "tid": 1, "args": {"correlation": 5}},
         {"ph": "X", "cat": "kernel", "name": "k", "ts": 5, "dur": 2, "pid": 0, "tid": 7, "args": {"correlation": 5}})"));
  REQUIRE(t.kernels.size() == 1);
  CHECK(t.kernels[0].operation == kNoOperation);
}

TEST_CASE("what contradicts itself is refused with the event") {
  CHECK(made::refusal(kernel(R"("ts": 5, "dur": -2)")) == "f: traceEvents[0] (\"k\"): dur is negative: -2");
  CHECK(made::refusal(kernel(R"("ts": 5)")) == "f: traceEvents[0] (\"k\"): has no dur");
  CHECK(made::refusal(kernel(R"("ts": "x", "dur": 1)")) == "f: traceEvents[0] (\"k\"): ts is \"x\", which is no time in microseconds");
  CHECK(made::refusal(kernel(R"("ts": 1e300, "dur": 1)")).find("no time in microseconds") != std::string::npos);
  CHECK(made::refusal(kernel(R"("ts": 1, "dur": 1, "args": {"In msg nelems": -4})")).find("\"In msg nelems\" is negative: -4") !=
        std::string::npos);
}

TEST_CASE("an all-gather that gives out another size than its group makes is noted") {
  const ImportedTrace t = made::import_text(with_events(
      R"({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL", "ts": 5, "dur": 2, "pid": 0, "tid": 7,
          "args": {"Collective name": "all_gather", "In msg nelems": 10, "Out msg nelems": 30, "dtype": "Float", "Group size": 4}})"));
  CHECK(t.collectives[0].bytes->value() == 120);
  CHECK(t.notes[0].find("another size") != std::string::npos);
}

TEST_CASE("time stamps are exact to the nanosecond") {
  using kineto::nanoseconds_of;
  CHECK(*nanoseconds_of("1712195495519689.125") == 1712195495519689125);
  CHECK(*nanoseconds_of("12") == 12000);
  CHECK(*nanoseconds_of("-1.5") == -1500);
  CHECK(*nanoseconds_of("-0.25") == -250);
  CHECK(*nanoseconds_of("0.0019") == 1);
  CHECK(*nanoseconds_of("1.5e3") == 1500000);
  for (const char* wrong : {"", "x", "1x", "1.2.3", "nan", "inf", "1e300", "99999999999999999"})
    CHECK_MESSAGE(!nanoseconds_of(wrong), wrong);
}

TEST_CASE("of two operations that start together the shorter one, which is inside, has the kernels") {
  const auto operation = [](const char* name, int us) {
    return fmt::format(R"({{"ph": "X", "cat": "cpu_op", "name": "{}", "ts": 0, "dur": {}, "pid": 1, "tid": 1}})", name, us);
  };
  const std::string rest =
      R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1, "dur": 1, "pid": 1, "tid": 1, "args": {"correlation": 5}},
         {"ph": "X", "cat": "kernel", "name": "k", "ts": 20, "dur": 2, "pid": 0, "tid": 7, "args": {"correlation": 5}})";
  const std::string around = operation("aten::linear", 9), inside = operation("aten::mm", 4);
  for (const std::string& both : {around + ", " + inside, inside + ", " + around}) {
    const ImportedTrace t = made::import_text(with_events(both + ", " + rest));
    REQUIRE(t.kernels.size() == 1);
    REQUIRE(t.kernels[0].operation != kNoOperation);
    CHECK(t.operations[t.kernels[0].operation].name == "aten::mm");
  }
}

TEST_CASE("without a recorded launch the external id says which operation it was, unless it is the correlation again") {
  const auto named = [](int external, int correlation) {
    const ImportedTrace t = made::import_text(with_events(fmt::format(
        R"({{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 9, "pid": 1, "tid": 1, "args": {{"External id": 5}}}},
           {{"ph": "X", "cat": "kernel", "name": "k", "ts": 20, "dur": 2, "pid": 0, "tid": 7,
             "args": {{"External id": {}, "correlation": {}}}}})",
        external, correlation)));
    return t.kernels.at(0).operation != kNoOperation;
  };
  CHECK(named(5, 4));
  CHECK_FALSE(named(6, 4));
  CHECK_FALSE(named(5, 5));
}
