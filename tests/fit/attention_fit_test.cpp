#include "profiles/fit/model_fits.hpp"
#include "tests/about.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

TEST_CASE("a fit of attention finds the model that made the rows, whatever one bad row says") {
  const profiles::AttentionModel made_by{.peak_share = 0.8, .fixed_keys = 300, .score_dims = 40, .launch_s = 6e-6};
  std::vector<fit::AttentionRow> rows;
  for (const std::int64_t width : {64, 128, 160})
    for (const std::int64_t length : {512, 2048, 8192, 32768}) {
      const double flops = 2.0 * 64 * static_cast<double>(length) * static_cast<double>(length) / 2 * 2 * static_cast<double>(width);
      const pcg::Kernel k{.kind = pcg::KernelKind::attention,
                          .flops = base::Flops(flops),
                          .batch = 64,
                          .m = length,
                          .n = length,
                          .k = width,
                          .tensor_cores = true};
      rows.push_back({1e15, k, profiles::attention_seconds(made_by, 1e15, k)});
    }
  rows[5].seconds *= 3;
  const profiles::AttentionModel found = fit::fit_attention(rows);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (i != 5) CHECK(fit::predict(found, rows[i]) == test::about(rows[i].seconds, 0.02));
}
