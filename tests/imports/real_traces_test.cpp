// Real traces, where the public data lie beside the project. They are not part of it, so these tests are skipped without them.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "profiles/imports/import.hpp"
#include "tests/shared_data.hpp"

using namespace imports;
using namespace measured;
using namespace profiles;

namespace {

constexpr const char* kTraces = "traces/hta";

const CollectiveTotal& total(const TraceSummary& s, const std::string& kind, const std::string& element) {
  for (const CollectiveTotal& c : s.collectives)
    if (c.kind == kind && c.element == element) return c;
  FAIL("no " << kind);
  return s.collectives.front();
}

}  // namespace

TEST_CASE("every trace of the collection is read (needs shared data)" * test::needs(kTraces)) {
  for (const auto& file : std::filesystem::directory_iterator(test::shared_data(kTraces))) {
    const ImportedTrace t = import_trace(file.path());
    CHECK_MESSAGE(!t.kernels.empty(), file.path().filename().string());
    CHECK(t.span.value() > 0);
  }
}

TEST_CASE("data parallelism on two A100: each step reduces ResNet-50's 25.6 million gradients (needs shared data)" * test::needs(kTraces)) {
  const ImportedTrace t = import_trace(test::shared_data(kTraces) / "nccl_parser_config_nccl_data.json.gz");
  CHECK(t.iterations.size() == 3);
  CHECK(t.collectives.size() == 21);
  CHECK(*t.world_size == 2);
  const TraceSummary s = summarise(t);
  // torchvision's ResNet-50 has 25,557,032 parameters (its documentation), 4 B each, in 5 buckets a step.
  CHECK(total(s, "all_reduce", "fp32").count == 15);
  CHECK(total(s, "all_reduce", "fp32").bytes.value() == 3 * 4.0 * 25557032);
  CHECK(total(s, "broadcast", "fp32").bytes.value() == 3 * 4.0 * 53120);  // running means and variances: 2 x 26560 channels
}

TEST_CASE("a recommender on 8 A100: sizes come from annotations, and matrix products from shapes run below the peak (needs shared data)" *
          test::needs(kTraces)) {
  const ImportedTrace t = import_trace(test::shared_data(kTraces) / "trace_diff_control_control.json.gz");
  CHECK(total(summarise(t), "all_to_all", "fp32").sized == 18);
  const Measurements m = to_measurements(t, {.device = "a100-sxm-40gb", .cluster = ""});
  std::map<pcg::Precision, double> fastest;  // FLOP/s
  for (const KernelMeasurement& k : m.kernels)
    if (k.kernel.kind == pcg::KernelKind::matmul)
      fastest[k.precision] = std::max(fastest[k.precision], k.kernel.flops.value() / k.time.value());
  // Peaks from NVIDIA's data sheet of the A100: 156 TFLOP/s in TF32, 19.5 in FP32.
  CHECK(fastest[pcg::Precision::tf32] > 50e12);
  CHECK(fastest[pcg::Precision::tf32] < 156e12);
  CHECK(fastest[pcg::Precision::fp32] > 5e12);
  CHECK(fastest[pcg::Precision::fp32] < 19.5e12);
}
