// Tables of kernels: our own CSV round-trips, public ones are known by their header, damaged ones are refused with their line.
#include <doctest/doctest.h>

#include "base/diagnostics.hpp"
#include "profiles/measured/tables.hpp"
#include "tests/about.hpp"

using measured::read_measurements;
using pcg::KernelKind;
using pcg::Precision;

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

TEST_CASE("a table of matmuls: the source names the system; sizes of 0 and unknown systems are left out with a note") {
  const auto m = read_measurements(
      "m,n,k,latency_ms,tflops,source\n"
      "8,64,32,0.002,0.1,\"x@1 systems/data/h100_sxm/gemm/y\"\n"
      "0,64,32,0.002,0.1,x systems/data/h100_sxm/gemm/y\n"
      "8,64,32,0.002,0.1,x systems/data/gaudi/gemm/y\n",
      "t.csv");
  REQUIRE(m.kernels.size() == 1);
  CHECK(m.kernels[0].device == "h100-sxm-80gb");
  CHECK(m.kernels[0].precision == Precision::bf16);
  CHECK(m.kernels[0].time.value() == test::about(2e-6));
  CHECK(m.notes.size() == 2);
}

TEST_CASE("DeepBench: fields are JSON in a cell; a convolution is three products of 56 x 56 x 2 positions, 128 channels, 64 x 9") {
  const auto m = read_measurements(
      "device,precision_sheet,section,fields_json,source\n"
      "V100,Results - FP16 ip,Convolution,\"{\"\"W\"\":56,\"\"H\"\":56,\"\"C\"\":64,\"\"N\"\":2,\"\"K\"\":128,\"\"S (Filter width)\"\":3,"
      "\"\"R (Filter height)\"\":3,\"\"P\"\":56,\"\"Q\"\":56,\"\"Forward (msec)\"\":0.1,\"\"wrt Inputs (msec)\"\":0.2,"
      "\"\"wrt Parameters (msec)\"\":0.3}\",s\n",
      "t.csv");
  REQUIRE(m.kernels.size() == 3);
  CHECK(m.kernels[0].precision == Precision::fp16);
  CHECK(m.kernels[0].kernel.m == 2 * 56 * 56);
  CHECK(m.kernels[0].kernel.n == 128);
  CHECK(m.kernels[0].kernel.k == 64 * 9);
  CHECK(m.kernels[2].time.value() == test::about(3e-4));
  CHECK(m.kernels[2].kernel.k == 2 * 56 * 56);
  for (const auto& k : m.kernels) CHECK(k.kernel.flops.value() == 2.0 * 2 * 56 * 56 * 128 * 64 * 9);
}

// Causal, 2 samples of 64 heads of 128 with 8 of keys: 2 x 128 x 4096 x 4096 x 1/2 x 256 FLOP forward, 640 backward; a window of 128 keys
// is met whole but for its beginning, 1 - 128 / 8192.
TEST_CASE("cuDNN's attention: a pass a row; other libraries, fixed orders and failures are left out with a note") {
  const std::string header =
      "backend,data_type,attn_mask,batch_size,q_seqlen,kv_seqlen,num_q_heads,num_kv_heads,head_dim_qk,head_dim_vo,profile_pass,"
      "deterministic_bwd,time_ms,sliding_window_size,success,gpu_name\n";
  const auto m = read_measurements(header +
                                       "cudnn,bfloat16,top_left,2,4096,4096,64,8,128,128,fwd,False,0.391,,True,NVIDIA GB200\n"
                                       "cudnn,mxfp8,top_left,2,4096,4096,64,8,128,128,bwd,False,1.305,,True,NVIDIA GB200\n"
                                       "cudnn,bfloat16,top_left,2,4096,4096,128,128,64,64,fwd,False,0.21,128,True,NVIDIA GB200\n"
                                       "cudnn,bfloat16,no_mask,2,4096,4096,128,128,192,128,bwd,False,6.085,,True,NVIDIA GB200\n"
                                       "cudnn,bfloat16,top_left,2,4096,4096,64,8,128,128,bwd,True,1.352,,True,NVIDIA GB200\n"
                                       "flash_attention_4,bfloat16,top_left,2,4096,4096,64,8,128,128,fwd,False,0.3,,True,NVIDIA GB200\n"
                                       "cudnn,fp8,top_left,2,4096,4096,64,8,128,128,fwd,False,inf,,False,NVIDIA GB200\n"
                                       "cudnn,bfloat16,top_left,2,4096,4096,64,8,128,128,fwd,False,0.3,,True,NVIDIA RTX PRO 6000\n",
                                   "attention.csv");
  REQUIRE(m.kernels.size() == 4);
  const auto& forward = m.kernels[0];
  CHECK(forward.device == "gb200-186gb");
  CHECK(forward.kernel.kind == KernelKind::attention);
  CHECK(forward.kernel.flops.value() == test::about(2.0 * 128 * 4096 * 4096 / 2 * 256));
  CHECK(forward.kernel.bytes.value() == test::about(2.0 * 2 * (64 + 8) * 4096 * 256));
  CHECK(m.kernels[1].precision == Precision::mxfp8);
  CHECK(m.kernels[1].kernel.kind == KernelKind::attention_gradient);
  CHECK(m.kernels[1].kernel.flops.value() == test::about(2.0 * 128 * 4096 * 4096 / 2 * 640));
  CHECK(m.kernels[2].kernel.n == 128);
  CHECK(m.kernels[2].kernel.flops.value() == test::about(2.0 * 256 * 4096 * 128 * (1 - 128.0 / 8192) * 128));
  CHECK(m.kernels[3].kernel.k == 160);
  CHECK(m.kernels[3].kernel.flops.value() == test::about(2.0 * 256 * 4096 * 4096 * (3 * 192 + 2 * 128)));
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
