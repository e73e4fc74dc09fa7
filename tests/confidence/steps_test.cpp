#include "scenarios/confidence/steps.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "scenarios/confidence/validate.hpp"
#include "tests/about.hpp"
#include "tests/measured/made_points.hpp"

using namespace confidence;
using base::Seconds;

namespace {

std::vector<measured::Point> one_gpu() {
  return measured::read_points(test::kHeader + "a,small,dgx-a100-80gb,1,1,2,64,2,256,16,128,flash,1,1,1,1,4,none,fp16,megatron,0.01\n",
                               "p.csv");
}

Validation validated(const std::string& rows) {
  ValidationOptions options;
  options.points_of_steps = one_gpu();
  return validate({read_table("point,kernel,count,seconds\n" + rows, "s.csv")}, options);
}

const Item& of_kind(const Validation& v, const std::string& kind) {
  for (const Item& i : v.items)
    if (i.group == kind) return i;
  FAIL("no kind ", kind);
  return v.items.front();
}

}  // namespace

TEST_CASE("kinds of kernels and their step are held against the same forecast") {
  const Validation v =
      validated("a,sgemm,1,0.5\na,cunn_SoftMaxForward,1,0.25\na,nvjet_1,2,1\na,krn_7,1,0.02\na,ncclDevKernel_AllReduce,1,9\n");
  const Item& whole = v.items.back();
  CHECK(whole.subject == Subject::step);
  CHECK(whole.group == "small");
  CHECK(whole.id == "a");
  CHECK(whole.where == "s.csv:2");
  CHECK(whole.measured == Seconds(1.77));  // without the collective
  CHECK(of_kind(v, "matmul").measured == Seconds(1.5));
  CHECK(of_kind(v, "softmax and loss").measured == Seconds(0.25));
  CHECK(of_kind(v, "norm").measured == Seconds(0));
  CHECK(of_kind(v, "norm").failure.starts_with("the step has no such kernels, the forecast "));
  double predicted = 0, apart = 0;
  for (const Item& i : v.items) {
    if (i.subject != Subject::step_kernel) continue;
    predicted += i.predicted.value();
    apart += std::abs(i.predicted.value() - i.measured.value());
  }
  CHECK(whole.predicted.value() == test::about(predicted));
  REQUIRE(whole.step);
  CHECK(whole.step->by_kind.value() == test::about(apart));
  CHECK(whole.step->known == Seconds(1.75));
  REQUIRE(v.notes.size() == 1);
  CHECK(v.notes[0] == "s.csv: 1.1 % of the kernels' time is of no known kind: krn_7 (1.1 %)");  // 0.02 of 1.77
  CHECK(v.residuals.empty());
}

TEST_CASE("errors of kinds that cancel in the whole are kept") {
  const Validation forecast = validated("a,sgemm,1,1\n");
  const double products = of_kind(forecast, "matmul").predicted.value(), all = forecast.items.back().predicted.value();
  const double pointwise = of_kind(forecast, "pointwise").predicted.value();
  // Products take half of their forecast and all else is called a copy, as long as the rest: the whole is right. Differences by kind:
  // products / 2, the copies' all - products / 2 - pointwise, and the forecast of every other kind, all - products - pointwise.
  const Validation v = validated(fmt::format("a,sgemm,1,{}\na,copy_kernel,1,{}\n", products / 2, all - products / 2));
  const Item& whole = v.items.back();
  CHECK(whole.predicted / whole.measured == test::about(1.0));
  CHECK(of_kind(v, "matmul").predicted / of_kind(v, "matmul").measured == test::about(2.0));
  CHECK(whole.step->by_kind.value() == test::about(2 * all - products - 2 * pointwise));
}

TEST_CASE("products and convolutions of a step are one kind: that which takes longer in the forecast") {
  ValidationOptions options;
  options.points_of_steps = measured::read_points(
      "id,group,cluster,nodes,n_gpus,model,seq,tp,pp,dp,micro_batch,global_batch,recompute,precision,optimizer,framework,measured_s\n"
      "a,small,dgx-a100-80gb,1,1,resnext-50,1,1,1,1,16,16,none,tf32,adam,pytorch,0.01\n",
      "p.csv");
  const Validation v = validate({read_table("point,kernel,count,seconds\na,sgemm,1,0.5\na,implicit_convolve,1,0.25\n", "s.csv")}, options);
  CHECK(of_kind(v, "convolution").measured == Seconds(0.75));
  CHECK(std::ranges::none_of(v.items, [](const Item& i) { return i.group == "matmul"; }));
  double predicted = 0;
  for (const Item& i : v.items)
    if (i.subject == Subject::step_kernel) predicted += i.predicted.value();
  CHECK(v.items.back().predicted.value() == test::about(predicted));
}

TEST_CASE("a step that no point describes is refused by its place") {
  try {
    (void)validated("b,sgemm,1,0.5\n");
    FAIL("was not refused");
  } catch (const base::InputError& e) {
    const base::Diagnostic& d = e.diagnostics().front();
    CHECK(d.mark.line == 2);
    CHECK(d.message == "no table of points has \"b\"");
    CHECK(d.hint == "one of: a");
  }
  CHECK_THROWS_AS((void)validate({read_table("point,kernel,count,seconds\na,sgemm,1,1\n", "s.csv")}, {}), base::InputError);
}
