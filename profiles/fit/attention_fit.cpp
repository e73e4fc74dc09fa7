#include "profiles/fit/model_fits.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "profiles/fit/log_search.hpp"

namespace fit {
namespace {

// The physical range of each parameter, in the order of AttentionModel's members: a pass cannot beat the peak by much even where it leaves
// work out, a block's ends cost up to some tiles of keys, an exponential less than some heads, launches take microseconds.
constexpr std::array<LogRange, profiles::kAttentionParameters> kAttentionRanges = {LogRange{0.1, 2}, LogRange{10, 2000}, LogRange{1, 500},
                                                                                   LogRange{1e-6, 5e-5}};

}  // namespace

double predict(const profiles::AttentionModel& model, const AttentionRow& row) {
  return profiles::attention_seconds(model, row.peak, row.kernel);
}

profiles::AttentionModel fit_attention(std::span<const AttentionRow> rows) {
  const auto model_of = [](std::span<const double> found) {
    profiles::AttentionParameters values{};
    std::ranges::copy(found, values.begin());
    return profiles::attention_model(values);
  };
  const LogFound best =
      least_in_logarithms(profiles::to_array(profiles::AttentionModel{}), kAttentionRanges, [&](std::span<const double> values) {
        double sum = 0;
        for (const AttentionRow& r : rows) sum += huber(std::log(predict(model_of(values), r) / r.seconds));
        return sum / static_cast<double>(rows.size());
      });
  return model_of(best.values);
}

}  // namespace fit
