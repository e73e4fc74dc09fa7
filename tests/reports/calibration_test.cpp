// What calibration found, as text.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "reports/calibration/calibration.hpp"

using fit::NetworkResidual;
using measured::CollectiveMeasurement;
using profiles::CollectiveKind;

TEST_CASE("errors of a network fit: of long messages, of those of these that were kept aside, and of short ones") {
  const CollectiveMeasurement large{"dgx-1v", 1, 8, CollectiveKind::all_reduce, base::Bytes(2e6), base::Seconds(2), "data/a.csv:2"};
  const CollectiveMeasurement kept{"dgx-1v", 1, 8, CollectiveKind::all_reduce, base::Bytes(4e6), base::Seconds(2), "data/a.csv:3"};
  const CollectiveMeasurement small{"dgx-1v", 1, 8, CollectiveKind::all_reduce, base::Bytes(8), base::Seconds(1), "data/b.csv:2"};
  const std::vector<NetworkResidual> residuals = {{.row = &large, .predicted = base::Seconds(3)},
                                                  {.row = &kept, .predicted = base::Seconds(1), .held_out = true},
                                                  {.row = &small, .predicted = base::Seconds(1.25)}};
  // From 1 MB on: +50 % and -50 %, so the mean of their sizes is 50 % and the bias 0; the row kept aside is the second.
  CHECK(reports::network_fit_text(reports::network_fit_json("n", residuals)) ==
        "rows                 number   error     bias\n"
        "from 1 MB on              2  50.0 %   +0.0 %\n"
        "of these not fitted       1  50.0 %  -50.0 %\n"
        "below 1 MB                1  25.0 %  +25.0 %\n");
}

TEST_CASE("a kind without a fit says why, in its place") {
  fit::KernelFit fit;
  fit.kind = pcg::KernelKind::norm;
  fit.refusal = "too few rows";
  CHECK(reports::fits_text(std::vector{fit}) ==
        "kind  precision  rows  left out  error  held out  error  bias  9 in 10\nnorm  all  not fitted: too few rows\n");
}
