#include "profiles/fitted.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "profiles/models/product_model.hpp"

namespace profiles {
namespace {

constexpr double kReach = 1;       // doublings: farther shapes use tiles and caches in another way
constexpr double kSame = 1e-9;     // of a logarithm: rounding of one and the same size
constexpr double kNearest = 1e-3;  // squared distance below which nothing counts more

// A product's sizes; of other kinds the bytes.
LogPoint place_of(const pcg::Kernel& k, pcg::Precision p) {
  if (is_product(k)) return correction_point(k.kind, product_sizes(k, p));
  return {std::log2(std::max(k.bytes.value(), 1.0)), 0, 0};
}

struct Around {
  bool below = false, above = false;  // or at the size itself
};

struct Sum {
  double log = 0, weights = 0;
  void add(double log_ratio, double weight) {
    log += weight * log_ratio;
    weights += weight;
  }
  [[nodiscard]] double mean() const { return log / weights; }
};

}  // namespace

MeasuredTable::MeasuredTable(const std::vector<MeasuredKernel>& kernels, const Model& model) {
  for (const MeasuredKernel& m : kernels)
    groups_[{m.kernel.kind, m.precision}].push_back(
        {place_of(m.kernel, m.precision), m.kernel.bytes.value(), std::log(m.seconds / model(m.kernel, m.precision))});
  for (auto& [key, group] : groups_) std::ranges::sort(group, {}, [](const Entry& e) { return std::tuple(e.at, e.bytes, e.log_ratio); });
}

std::optional<MeasuredTable::Correction> MeasuredTable::correction(const pcg::Kernel& k, pcg::Precision p) const {
  auto group = groups_.find({k.kind, p});
  if (group == groups_.end() && k.kind == pcg::KernelKind::attention_gradient) group = groups_.find({pcg::KernelKind::attention, p});
  if (group == groups_.end()) return std::nullopt;
  const LogPoint x = place_of(k, p);
  std::array<Around, 3> around{};
  Sum exact, same, near;
  // Entries are sorted by their first size, so those within reach are neighbours.
  const auto first = std::ranges::lower_bound(group->second, x[0] - kReach, {}, [](const Entry& e) { return e.at[0]; });
  for (auto e = first; e != group->second.end() && e->at[0] <= x[0] + kReach; ++e) {
    double distance = 0, farthest = 0;
    for (std::size_t a = 0; a < 3; ++a) {
      const double off = e->at[a] - x[a];
      distance += off * off;
      farthest = std::max(farthest, std::abs(off));
    }
    if (farthest > kReach) continue;
    for (std::size_t a = 0; a < 3; ++a) {
      around[a].below |= e->at[a] <= x[a] + kSame;
      around[a].above |= e->at[a] >= x[a] - kSame;
    }
    // Products of one size differ in what they read besides, such as a bias.
    if (farthest <= kSame) same.add(e->log_ratio, 1);
    if (farthest <= kSame && e->bytes == k.bytes.value()) exact.add(e->log_ratio, 1);
    near.add(e->log_ratio, 1 / (distance + kNearest));
  }
  if (same.weights > 0) return Correction{(exact.weights > 0 ? exact : same).mean(), true};
  const bool inside = std::ranges::all_of(around, [](const Around& a) { return a.below && a.above; });
  return inside ? std::optional(Correction{near.mean(), false}) : std::nullopt;
}

}  // namespace profiles
