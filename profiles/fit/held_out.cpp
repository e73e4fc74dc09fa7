// These hashes are not base::Hash: the profiles that ship were fitted without the rows that they choose, and another recipe would move
// rows from one side to the other.
#include "profiles/fit/kernel_calibration.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "profiles/models/product_model.hpp"

namespace fit {
namespace {

constexpr std::uint64_t kAsideOneIn = 5;  // one in five, the usual share of cross-validation

// One step of FNV-1a (Fowler, Noll, Vo; draft-eastlake-fnv), whose published prime this is.
constexpr std::uint64_t step(std::uint64_t hash, std::uint64_t unit) { return (hash ^ unit) * 1099511628211ULL; }

}  // namespace

bool is_held_out(const pcg::Kernel& k, pcg::Precision p) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a's published beginning
  const bool by_sizes = profiles::is_product(k) && !pcg::is_attention(k.kind);
  const auto bytes = static_cast<std::int64_t>(by_sizes ? 0 : k.bytes.value());
  for (const std::int64_t x : {static_cast<std::int64_t>(k.kind), static_cast<std::int64_t>(p), k.batch, k.m, k.n, k.k, bytes})
    for (int byte = 0; byte < 8; ++byte) hash = step(hash, static_cast<std::uint64_t>(x) >> (8 * byte) & 0xff);
  return (hash >> 33) % kAsideOneIn == 0;  // the high bits are the ones that FNV mixes best
}

bool is_held_out(const measured::CollectiveMeasurement& m) {
  const auto half_octave = static_cast<std::uint64_t>(std::floor(2 * std::log2(std::max(1.0, m.bytes.value()))));
  std::uint64_t hash = 1469598103934665603ULL;  // any odd number would do; the shipped fits were made with this one
  for (const std::uint64_t x : {static_cast<std::uint64_t>(m.kind), static_cast<std::uint64_t>(m.gpus), half_octave}) hash = step(hash, x);
  return (hash >> 32) % kAsideOneIn == 0;
}

}  // namespace fit
