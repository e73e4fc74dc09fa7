// What calibration found, as text.
#include <doctest/doctest.h>

#include "reports/calibration/calibration.hpp"

using fit::NetworkResidual;
using measured::CollectiveMeasurement;
using profiles::CollectiveKind;

TEST_CASE("residuals have a line per question and table, and one for all; short messages stand apart") {
  const CollectiveMeasurement large{"dgx-1v", 1, 8, CollectiveKind::all_reduce, base::Bytes(2e6), base::Seconds(2), "data/a.csv:2"};
  const CollectiveMeasurement kept{"dgx-1v", 1, 8, CollectiveKind::all_reduce, base::Bytes(4e6), base::Seconds(2), "data/a.csv:3"};
  const CollectiveMeasurement small{"dgx-1v", 1, 8, CollectiveKind::all_reduce, base::Bytes(8), base::Seconds(1), "data/b.csv:2"};
  const std::vector<NetworkResidual> residuals = {{.row = &large, .predicted = base::Seconds(3)},
                                                  {.row = &kept, .predicted = base::Seconds(1), .held_out = true},
                                                  {.row = &small, .predicted = base::Seconds(1.25)}};
  // From 1 MB on: +50 % and -50 %, so the mean of their sizes is 50 % and the bias 0; the row kept aside is the second.
  CHECK(reports::residuals_text(residuals) ==
        "cluster  nodes  GPUs  collective  table  1 MB on: rows   error    bias  kept aside: rows   error    "
        " bias  below 1 MB: rows   error     bias\n"
        "dgx-1v       1     8  all_reduce  a.csv              2  50.0 %  +0.0 %                 1  50.0 %  -5"
        "0.0 %                 -       -        -\n"
        "dgx-1v       1     8  all_reduce  b.csv              -       -       -                 -       -    "
        "    -                 1  25.0 %  +25.0 %\n"
        "all                                                  2  50.0 %  +0.0 %                 1  50.0 %  -5"
        "0.0 %                 1  25.0 %  +25.0 %\n");
}

TEST_CASE("a kind without a fit says why, in its place") {
  fit::KernelFit fit;
  fit.kind = pcg::KernelKind::norm;
  fit.refusal = "too few rows";
  CHECK(reports::fits_text(std::vector{fit}) ==
        "kind  precision  rows  left out  error  held out  error  bias  9 in 10\nnorm  all  not fitted: too few rows\n");
}
