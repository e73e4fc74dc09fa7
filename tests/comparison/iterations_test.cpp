// Which part of a trace is an iteration, and which one is steady.
#include <doctest/doctest.h>

#include "base/diagnostics.hpp"
#include "scenarios/comparison/comparison.hpp"
#include "scenarios/comparison/measured.hpp"
#include "tests/about.hpp"

using namespace comparison;
using base::Seconds;

namespace {

// Kernels of these names, a second each, one after another.
imports::ImportedTrace trace(const std::vector<std::string>& names) {
  imports::ImportedTrace t;
  t.file = "t.json";
  double at = 0;
  for (const std::string& name : names) t.kernels.push_back({.name = t.names.id(name), .start = Seconds(at++), .duration = Seconds(1)});
  return t;
}

}  // namespace

TEST_CASE("marked iterations hold what was launched in them, up to the first kernel of the next") {
  imports::ImportedTrace t = trace({"a", "b", "a", "b", "a", "b"});
  // The host marks 0 to 1, 1 to 2 and 2 to 3 s and launches two kernels in each; the device runs them at 0, 2 and 4 s.
  for (std::size_t i = 0; i < t.kernels.size(); ++i) t.kernels[i].launched = Seconds(0.25 + 0.5 * static_cast<double>(i));
  for (int i = 0; i < 3; ++i) t.iterations.push_back({"ProfilerStep#" + std::to_string(i + 5), Seconds(i), Seconds(1)});
  const Iterations found = iterations_of(t, 0);
  CHECK(found.by == FoundBy::marks);
  REQUIRE(found.all.size() == 3);
  CHECK(found.all[1].name == "ProfilerStep#6");
  CHECK(found.all[1].begin_s == 2);
  CHECK(found.all[1].end_s == 4);
  CHECK(found.all[2].end_s == 6);  // of the last: its last kernel
  CHECK(found.settled == 1);
}

TEST_CASE("without marks iterations are found by what repeats, else the whole counts") {
  const Iterations found = iterations_of(trace({"x", "y", "z", "y", "x", "y", "z", "y", "x", "y", "z", "y"}), 0);
  CHECK(found.by == FoundBy::period);
  REQUIRE(found.all.size() == 2);  // the end of the third is not known
  CHECK(found.all[0].begin_s == 0);
  CHECK(found.all[0].end_s == 4);
  const Iterations whole = iterations_of(trace({"a", "b", "c"}), 0);
  CHECK(whole.by == FoundBy::whole);
  CHECK(whole.all[0].end_s == 3);
}

TEST_CASE("the steady iteration is the one of median time of every other one, without the first") {
  Iterations i;
  i.all = {{"0", 0, 100}, {"1", 100, 103}, {"2", 103, 110}, {"3", 110, 115}, {"4", 115, 116}, {"5", 116, 120}};
  i.settled = 1;
  CHECK(i.steady() == 5);  // of 3, 5 and 4 s; those of 7 and 1 s are for judging a calibration
}

TEST_CASE("of settled iterations every other one from the chosen one is held out") {
  imports::ImportedTrace t = trace({"a", "b", "a", "b", "a", "b", "a", "b", "a", "b", "a", "b"});
  for (std::size_t i = 0; i < t.kernels.size(); ++i) t.kernels[i].launched = Seconds(0.25 + 0.5 * static_cast<double>(i));
  for (int i = 0; i < 6; ++i) t.iterations.push_back({"step " + std::to_string(i), Seconds(i), Seconds(1)});
  imports::Names names;
  const auto held_out = [&](std::optional<std::size_t> chosen) { return devices_of({Trace{"t.json", t}}, chosen, names).at(0).held_out_s; };
  // Settled: 1 to 5, of 2 s each. Of 1, 3 and 5 one is chosen; 2 and 4 are held out.
  CHECK(held_out(std::nullopt) == std::vector<double>{2, 2});
  CHECK(held_out(4) == std::vector<double>{2, 2, 2});
  t.kernels.resize(2);
  t.iterations.resize(1);
  CHECK(held_out(std::nullopt).empty());
}

TEST_CASE("a device without starts has no timeline") {
  imports::ImportedTrace t = trace({"a"});
  t.kernels[0].start.reset();
  CHECK_THROWS_AS(iterations_of(t, 0), base::InputError);
}

TEST_CASE("without host operations passes are those of the names of kernels") {
  imports::ImportedTrace t = trace({"embedding", "gemm", "flash_fwd", "cross_entropy", "gemm", "flash_fwd", "flash_bwd", "gemm", "adam"});
  using enum pcg::KernelKind;
  const std::vector<pcg::KernelKind> kinds{embedding, matmul, attention, loss, matmul, attention, attention, matmul, optimizer};
  for (std::size_t i = 0; i < kinds.size(); ++i) t.kernels[i].kind = kinds[i];
  const DeviceTimeline d = measured_timeline(t, 0, {"all", 0, 9});
  using enum sim::SpanPass;
  const std::vector<sim::SpanPass> passes{forward, forward, forward, forward, backward, recompute, backward, backward, update};
  REQUIRE(d.activities.size() == passes.size());
  for (std::size_t i = 0; i < passes.size(); ++i) CHECK(d.activities[i].pass == passes[i]);
  CHECK(d.activities[5].kind == "attention");  // the forward kernel, run again
  CHECK(d.activities[6].kind == "attention_gradient");
}
