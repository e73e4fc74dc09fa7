// Exports of Nsight Systems: tables and columns that may be absent, databases that are none.
#include <doctest/doctest.h>

#include "made_files.hpp"
#include "tests/about.hpp"

using namespace imports;
using namespace profiles;

namespace {

std::string database(const std::vector<std::string>& statements) {
  const made::Folder folder;
  made::run_sql(folder / "made.sqlite", statements);
  return made::bytes_of(folder / "made.sqlite");
}

const std::string kKernels =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, shortName INTEGER)";

}  // namespace

TEST_CASE("kernels, collectives, copies, iterations and devices") {
  const ImportedTrace t = made::import_text(made::nsys());
  REQUIRE(t.kernels.size() == 2);
  CHECK(t.kernels[0].kind == pcg::KernelKind::matmul);
  CHECK(t.kernels[0].precision == pcg::Precision::bf16);
  CHECK(t.kernels[0].stream == 7);
  CHECK(t.kernels[0].start->value() == test::about(1e-6));  // the iteration began at 1000 ns
  CHECK(t.kernels[0].duration.value() == test::about(3e-6));
  CHECK(t.names[t.kernels[1].name] == "Memcpy DtoD");
  CHECK(t.kernels[1].moved.value() == 4096);
  REQUIRE(t.collectives.size() == 1);
  CHECK(t.collectives[0].kind == CollectiveKind::reduce_scatter);
  CHECK(!t.collectives[0].bytes);
  REQUIRE(t.iterations.size() == 1);
  CHECK(t.iterations[0].name == "iteration 5");
  CHECK(t.iterations[0].duration.value() == test::about(11e-6));
  CHECK(t.iterations[0].busy->value() == test::about(8e-6));  // 2 .. 9 and 10 .. 11 us
  REQUIRE(t.devices.size() == 1);
  CHECK(t.devices[0].id == 1);
  CHECK(t.devices[0].profile == "h100-sxm-80gb");
}

TEST_CASE("tables and columns that are not there are done without") {
  const ImportedTrace t = made::import_text(database({kKernels, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 1, 77)"}));
  REQUIRE(t.kernels.size() == 1);
  CHECK(!t.kernels[0].kind);  // its name is a number of a string that is not there
  CHECK(t.devices[0].name.empty());
  const ImportedTrace host = made::import_text(
      database({"CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT)", "INSERT INTO NVTX_EVENTS VALUES (1, 2, 'load')"}));
  CHECK(host.notes[0].starts_with("no device events"));
}

TEST_CASE("a database of something else, an event that ends before it starts, a time that is none") {
  CHECK(made::refusal(database({"CREATE TABLE users (id INTEGER)"})).find("none that Nsight Systems exported") != std::string::npos);
  CHECK(made::refusal(database({kKernels, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (20, 10, 0, 1, 1)"})) ==
        "f: CUPTI_ACTIVITY_KIND_KERNEL: an event ends at 10 ns, before it starts at 20 ns");
  CHECK(made::refusal(database({kKernels, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('a', 10, 0, 1, 1)"}))
            .find("has no start and end") != std::string::npos);
  CHECK(made::refusal(database({kKernels, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (-9223372036854775808, 10, 0, 1, 1)"}))
            .find("has no start and end") != std::string::npos);
}

TEST_CASE("nothing of a file's own making runs: a view under a table's name is not read") {
  CHECK(made::refusal(database({"CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start, 2 AS end"}))
            .find("none that Nsight Systems exported") != std::string::npos);
}

TEST_CASE("where only short names are there, a kernel has its short name") {
  const ImportedTrace t = made::import_text(
      database({kKernels, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 1, 77)",
                "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)", "INSERT INTO StringIds VALUES (77, 'sgemm')"}));
  REQUIRE(t.kernels.size() == 1);
  CHECK(t.names[t.kernels[0].name] == "sgemm");
}

TEST_CASE("a kernel was launched by the call of its process with its correlation, and may have its mangled name alone") {
  const std::string process = std::to_string(std::int64_t{0x1000000} * 7);
  const ImportedTrace t = made::import_text(database(
      {"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, "
       "globalPid INTEGER, mangledName INTEGER)",
       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5000, 6000, 0, 1, 3, " + process + ", 77), (7000, 8000, 0, 1, 4, " + process +
           ", 77)",
       "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER)",
       "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (4000, 4100, " + process + " + 12, 3), (1000, 1100, 12, 4)",
       "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)", "INSERT INTO StringIds VALUES (77, '_Z5sgemmv')"}));
  REQUIRE(t.kernels.size() == 2);
  CHECK(t.names[t.kernels[0].name] == "_Z5sgemmv");
  CHECK(t.kernels[0].launched->value() == test::about(-1e-6));  // after the first event, which is the kernel's begin
  CHECK(!t.kernels[1].launched);                                // the call is another process's
}

TEST_CASE("starts count from the earliest event, whichever is read first") {
  const ImportedTrace t =
      made::import_text(database({kKernels, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5000, 6000, 0, 1, 1), (2000, 3000, 0, 1, 1)"}));
  REQUIRE(t.kernels.size() == 2);
  CHECK(t.kernels[0].start->value() == 0);
  CHECK(t.kernels[1].start->value() == test::about(3e-6));
}
