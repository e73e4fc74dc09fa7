// The collector's own file.
#include <doctest/doctest.h>

#include "base/diagnostics.hpp"
#include "made_files.hpp"
#include "profiles/imports/import.hpp"

using namespace imports;
using namespace profiles;

namespace {

std::string with_kernel(const std::string& kernel) {
  return R"({"foreshard_collect": 1, "device": {"name": "NVIDIA H200", "memory_bytes": 150754820096}, "kernels": [)" + kernel + "]}";
}

}  // namespace

TEST_CASE("kernels with their work, copies, collectives and iterations") {
  const ImportedTrace t = made::import_text(
      R"({"foreshard_collect": 1, "device": {"name": "NVIDIA H200"},
          "kernels": [{"kind": "matmul", "operation": "linear.forward", "precision": "bf16", "batch": 1, "m": 64, "n": 32, "k": 16, "flops": 65536,
                       "bytes": 7168, "seconds": 2e-6, "spread": 1e-8, "repeats": 9},
                      {"kind": "norm", "precision": "fp32", "batch": 1, "m": 0, "n": 0, "k": 0, "flops": 10, "bytes": 80, "seconds": null}],
          "copies": [{"direction": "h2d", "memory": "pinned", "bytes": 1024, "seconds": 1e-6}],
          "collectives": [{"collective": "all_gather", "gpus": 2, "bytes": 1000, "seconds": 1e-5}],
          "iterations": [{"model": "bert-large", "batch": 8, "precision": "bf16", "seconds": 0.125, "trace": "bert.json.gz"}],
          "left_out": ["fp8 convolution: no such kernel"]})");
  CHECK(t.format == TraceFormat::collector);
  REQUIRE(t.kernels.size() == 2);
  CHECK(t.names[t.kernels[0].name] == "linear.forward");
  CHECK(t.operations[t.kernels[0].operation].work->flops.value() == 65536);
  CHECK(t.kernels[1].moved.value() == 1024);
  CHECK(t.collectives[0].bytes->value() == 1000);
  CHECK(t.collectives[0].sent->value() == 500);
  CHECK(t.iterations[0].name == "bert-large, batch 8, bf16");
  CHECK(t.devices[0].profile == "h200-sxm-141gb");
  CHECK(t.notes[0] == "1 results have no time and are left out");
  CHECK(t.notes[1].find("fp8 convolution") != std::string::npos);
}

TEST_CASE("of PyTorch's operations those that are one kernel of their own, and all iterations") {
  const ImportedTrace t = made::import_text(
      R"({"foreshard_collect": 1, "device": {"name": "NVIDIA H200"},
          "operations": [{"kind": "attention_gradient", "operation": "attention", "how": "cudnn", "precision": "bf16", "batch": 8, "m": 64, "n": 64, "k": 16,
                          "flops": 2621440, "bytes": 131072, "seconds": 3e-6},
                         {"kind": "norm", "operation": "rms_norm", "how": "eager", "precision": "bf16", "batch": 1, "m": 0, "n": 0, "k": 0, "flops": 10,
                          "bytes": 80, "seconds": 1e-5},
                         {"kind": "norm", "operation": "rms_norm", "how": "fused", "precision": "bf16", "batch": 1, "m": 0, "n": 0, "k": 0, "flops": 10,
                          "bytes": 80, "seconds": 2e-6}],
          "decoders": [{"model": "llama3-8b", "batch": 1, "precision": "bf16", "seconds": 0.25}]})");
  REQUIRE(t.operations.size() == 2);
  CHECK(t.operations[0].work->kind == pcg::KernelKind::attention_gradient);
  CHECK(t.operations[1].work->kind == pcg::KernelKind::norm);
  CHECK(t.kernels[1].duration.value() == 2e-6);
  CHECK(t.iterations[0].name == "llama3-8b, batch 1, bf16");
}

TEST_CASE("the example of the collector's documentation is read") {
  const ImportedTrace t = import_trace(SOURCE_DIRECTORY "/tests/collector/fixtures/collect.json");
  CHECK(t.kernels.size() > 1);
  CHECK(!t.iterations.empty());
}

TEST_CASE("every problem is named with its place") {
  CHECK(
      made::refusal(
          with_kernel(
              R"({"kind": "matmul", "precision": "bf16", "batch": 1, "m": 64, "n": 32, "k": 16, "flops": 99, "bytes": 7168, "seconds": 1})"))
          .find("f: kernels[0].flops: 99 contradicts 2 batch m n k = 65536") == 0);
  CHECK(made::refusal(with_kernel(R"({"kind": "magic", "precision": "bf16"})")).find("f: kernels[0].kind: unknown kind \"magic\"") == 0);
  CHECK(made::refusal(R"({"foreshard_collect": 2})") == "f: is a collector's file of version 2; this program reads version 1");
  CHECK(
      made::refusal(
          R"({"foreshard_collect": 1, "device": {"name": "x"}, "collectives": [{"collective": "all_reduce", "gpus": 0, "bytes": 1, "seconds": 1}]})") ==
      "f: collectives[0].gpus: 0 GPUs");
  CHECK(made::refusal(R"({"foreshard_collect": 1, "device": {"name": "x"}, "copies": [3]})") == "f: copies[0]: expected an object");
  CHECK(
      made::refusal(R"({"foreshard_collect": 1, "device": {"name": "x"}, "copies": [{"direction": "h2d", "bytes": -1, "seconds": 1}]})") ==
      "f: copies[0].bytes: expected a number that is not negative, found -1");
}
