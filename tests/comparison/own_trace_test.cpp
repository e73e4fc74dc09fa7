// Synthetic truth: a trace that the program writes compares equal with its scenario to the last digit; with a changed one it shows exactly
// the change.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <set>

#include "base/diagnostics.hpp"
#include "compared.hpp"
#include "reports/compare/compare.hpp"
#include "tests/about.hpp"

using namespace comparison;

namespace {

std::string megatron(int tensor, int pipeline, int micro_batch, const std::string& more = "") {
  return "megatron: {tensor: " + std::to_string(tensor) + ", pipeline: " + std::to_string(pipeline) +
         ", micro_batch: " + std::to_string(micro_batch) + more + "}";
}

double sum(const Comparison& c, PartTime PartRow::*side) {
  double total = 0;
  for (const PartRow& row : c.parts) total += (row.*side).seconds;
  return total;
}

// Kinds of kernels whose time or number differs, by more than the rounding of ends less begins.
std::set<std::string> changed_kernels(const Comparison& c) {
  std::set<std::string> changed;
  for (const PartRow& row : c.parts)
    if (row.key.share == Share::kernel &&
        (std::abs(row.difference()) > 1e-9 * row.predicted.seconds || row.measured.count != row.predicted.count))
      changed.insert(std::string(row.key.pass) + " " + std::string(row.key.kind));
  return changed;
}

}  // namespace

TEST_CASE("a trace of its own scenario compares equal to the last digit") {
  CHECK(rc::check("equal", [] {
    const int tensor = *rc::gen::element(1, 2, 4), pipeline = *rc::gen::element(1, 2), zero = *rc::gen::element(0, 1);
    const std::string recompute = *rc::gen::element<std::string>("none", "selective", "full");
    const std::string text = test::scenario(megatron(tensor, pipeline, 1, ", zero: " + std::to_string(zero) + ", recompute: " + recompute));
    const Comparison c = test::beside(text, test::trace_of(text));
    RC_ASSERT(c.measured_s == c.predicted_s);
    RC_ASSERT(c.aligned_share == 1);
    RC_ASSERT(c.unaligned.empty());
    for (const PartRow& row : c.parts) {
      RC_ASSERT(row.measured.seconds == row.predicted.seconds);
      RC_ASSERT(row.measured.busy_s == row.predicted.busy_s);
      RC_ASSERT(row.measured.count == row.predicted.count);
    }
    for (const OperatorRow& row : c.operators) RC_ASSERT(row.measured_s == row.predicted_s);
    RC_ASSERT(c.memory->measured == c.memory->predicted);
  }));
}

TEST_CASE("a forecast's trace has one iteration") {
  const test::File file(test::trace_of(test::scenario(megatron(1, 1, 1))));
  imports::Names names;
  CHECK(!devices_of({read_trace(file.path())}, 0, names).empty());
  CHECK_THROWS_AS((void)devices_of({read_trace(file.path())}, 1, names), base::InputError);
}

TEST_CASE("the parts add up to both iterations") {
  const Comparison c =
      test::beside(test::scenario(megatron(2, 2, 1)), test::trace_of(test::scenario(megatron(2, 2, 1, ", recompute: full"))));
  CHECK(sum(c, &PartRow::measured) == test::about(c.measured_s, 1e-9));
  CHECK(sum(c, &PartRow::predicted) == test::about(c.predicted_s, 1e-9));
  CHECK(c.measured_s > c.predicted_s);
  CHECK(c.parts[0].measured.seconds > c.parts[0].predicted.seconds);
}

TEST_CASE("layers that are computed again are what the forecast lacks, and no other kernel differs") {
  const std::string one = ", node.gpus.count: 1";  // nothing overlaps with what it could slow down
  const Comparison c =
      test::beside(test::scenario(megatron(1, 1, 1), one), test::trace_of(test::scenario(megatron(1, 1, 1, ", recompute: full"), one)));
  const std::set<std::string> changed = changed_kernels(c);
  CHECK(changed.contains("recompute matmul"));
  for (const std::string& name : changed) CHECK(name.starts_with("recompute "));
  REQUIRE(!c.unaligned.empty());
  double unaligned_s = 0, recomputed_s = 0;
  for (const UnalignedRow& u : c.unaligned) {
    CHECK(u.pass == "recompute");
    unaligned_s += u.seconds;
  }
  for (const PartRow& row : c.parts)
    if (row.key.pass == "recompute" && row.key.share == Share::kernel) recomputed_s += row.measured.seconds;
  CHECK(unaligned_s == test::about(recomputed_s, 1e-9));
}

TEST_CASE("a slower link is found in what is exposed, and in no kernel") {
  const std::string plan = megatron(2, 1, 1, ", sequence_parallel: true");
  const Comparison c = test::beside(test::scenario(plan), test::trace_of(test::scenario(plan, ", links.nvlink.bandwidth: 0.5x")));
  CHECK(changed_kernels(c).empty());
  CHECK(c.parts[0].key.share == Share::exposed);
  CHECK(c.parts[0].difference() > 0);
  CHECK(c.unaligned.empty());
}

TEST_CASE("a kernel that the trace lacks is missing in its part alone, and leaves a gap as long") {
  const std::string text = test::scenario(megatron(1, 1, 2));
  std::string trace = test::trace_of(text);
  // The event of the first loss kernel, a line of its own.
  const std::size_t at = trace.find("loss forward");
  REQUIRE(at != std::string::npos);
  const std::size_t begin = trace.rfind('\n', at), end = trace.find('\n', at);
  trace.erase(begin, end - begin);
  const Comparison c = test::beside(text, trace);
  CHECK(changed_kernels(c) == std::set<std::string>{"forward loss"});
  const PartRow* loss = test::part(c, Share::kernel, "forward", "loss");
  REQUIRE(loss != nullptr);
  CHECK(loss->difference() < 0);
  CHECK(c.measured_s == c.predicted_s);
  CHECK(sum(c, &PartRow::measured) == test::about(c.measured_s, 1e-9));
}

TEST_CASE("a damaged trace of our own is refused with its reason") {
  const std::string good = test::trace_of(test::scenario(megatron(1, 1, 1)));
  const auto refusal = [](const std::string& text) -> std::string {
    const test::File file(text);
    try {
      (void)read_trace(file.path());
    } catch (const base::InputError& e) { return base::render(e.diagnostics().front()); }
    return {};
  };
  const auto with = [&](const std::string& what, const std::string& other) {
    std::string text = good;
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), other);
  };
  CHECK(refusal(good).empty());
  CHECK(refusal(good.substr(0, good.size() / 2)).find("is cut short") != std::string::npos);
  CHECK(refusal(with("\"foreshard_trace\": 1", "\"foreshard_trace\": 9")).find("another version") != std::string::npos);
  CHECK(refusal(with("\"pass\":\"forward\"", "\"pass\":\"sideways\"")).find("\"sideways\" is not known") != std::string::npos);
  CHECK(refusal(with("\"kind\":\"matmul\"", "\"kind\":\"magic\"")).find("\"magic\" is not known") != std::string::npos);
  CHECK(refusal(with("\"kernels\":0", "\"kernels\":4000")).find("names list 4000 of kernels") != std::string::npos);
}

TEST_CASE("text, page and trace show both sides") {
  const std::string text = test::scenario(megatron(2, 2, 1));
  const Comparison c = test::beside(text, test::trace_of(test::scenario(megatron(2, 2, 1, ", recompute: full"))));
  const std::string shown = reports::compare_text(c, 120);
  CHECK(shown.find("What makes the difference\n  1. ") != std::string::npos);
  CHECK(shown.find("recompute") != std::string::npos);
  const std::string page = reports::compare_page(c);
  CHECK(page.find("@COMPARISON@") == std::string::npos);
  CHECK(page.find("measured") != std::string::npos);
  const std::string both = reports::compare_trace(c);
  CHECK(both.find("measured GPU 0") != std::string::npos);
  CHECK(both.find("forecast GPU 0") != std::string::npos);
}
