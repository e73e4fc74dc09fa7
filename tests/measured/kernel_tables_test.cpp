// Tables of kernels: our CSV round-trips, damaged ones are refused with their line.
#include <doctest/doctest.h>

#include "base/diagnostics.hpp"
#include "profiles/measured/tables.hpp"

using measured::read_measurements;
using pcg::KernelKind;

namespace {

std::string error_of(const std::string& text) {
  try {
    (void)read_measurements(text, "t.csv");
  } catch (const base::InputError& e) { return e.diagnostics()[0].message; }
  return "none";
}

const std::string kOwn = "device,precision,kind,batch,m,n,k,flops,bytes,seconds\n";

}  // namespace

TEST_CASE("our own CSV: empty FLOPs and bytes of a matmul are its operands' and result's") {
  const auto m =
      read_measurements(kOwn + "a100-sxm-80gb,bf16,matmul,1,128,256,512,,,1e-5\na100-sxm-80gb,fp32,norm,0,0,0,0,0,4e6,3e-6\n", "t.csv");
  REQUIRE(m.kernels.size() == 2);
  CHECK(m.kernels[0].kernel.flops.value() == 2.0 * 128 * 256 * 512);
  CHECK(m.kernels[0].kernel.bytes.value() == 2.0 * (128 * 512 + 512 * 256 + 128 * 256));
  CHECK(m.kernels[0].source == "t.csv:2");
  CHECK(m.kernels[1].kernel.kind == KernelKind::norm);
  const auto again = read_measurements(measured::to_csv(m.kernels), "again.csv");
  REQUIRE(again.kernels.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(again.kernels[i].kernel == m.kernels[i].kernel);
    CHECK(again.kernels[i].time == m.kernels[i].time);
  }
}

TEST_CASE("columns may stand in any order, among others; a product without a size is left out with a note") {
  const auto m = read_measurements(
      "seconds,k,n,m,batch,bytes,flops,kind,precision,device,source\n"
      "2e-6,32,64,8,1,,,matmul,bf16,h100-sxm-80gb,someone\n2e-6,32,64,0,1,,,matmul,bf16,h100-sxm-80gb,someone\n"
      ",32,64,8,1,,,matmul,bf16,h100-sxm-80gb,someone\n",
      "t.csv");
  REQUIRE(m.kernels.size() == 1);
  CHECK(m.kernels[0].kernel.m == 8);
  CHECK(m.kernels[0].time.value() == 2e-6);
  CHECK(m.notes == std::vector<std::string>{"t.csv: 1 rows left out: a size is 0", "t.csv: 1 rows left out: no time"});
}

TEST_CASE("what is no table, cut off, or holds words for numbers is refused with the line") {
  try {
    (void)read_measurements(kOwn + "\nd,fp32,matmul,1,2\n", "t.csv");
    FAIL("not refused");
  } catch (const base::InputError& e) { CHECK(std::string(e.what()).starts_with("t.csv:3:1: 5 cells, but the header has 10 columns")); }
  CHECK(error_of("") == "the file is empty");
  CHECK(error_of("a,b\n1,2\n") == "t.csv:1: no table of measurements has the columns a, b");
  CHECK(error_of(kOwn + "d,fp32,matmul,1,2\n") == "5 cells, but the header has 10 columns");
  CHECK(error_of(kOwn + "d,fp32,matmul,1,2,3,x,,,1\n") == "t.csv:2: k: \"x\" is no number");
  CHECK(error_of(kOwn + "d,fp32,matmul,1,2,3,1.5,,,1\n") == "t.csv:2: k: \"1.5\" is no size");
  CHECK(error_of(kOwn + "d,fp99,matmul,1,2,3,1,,,1\n") ==
        "t.csv:2: precision: \"fp99\" is none of fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4");
  CHECK(error_of(kOwn + "d,fp32,matmul,1,2,3,1,,,nan\n") == "t.csv:2: seconds: \"nan\" is no number");
  CHECK(error_of(kOwn + "\"d,fp32\n") == "a quote in this row is never closed");
}
