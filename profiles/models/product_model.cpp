#include "profiles/models/product_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace profiles {
namespace {

constexpr double kTolerance = 1e-9;  // of a logarithm: what rounding in a text form leaves

struct Place {
  std::size_t cell;
  double fraction;
};

// The fraction is held between 0 and 1: outside the axis the value is that of its end.
Place place_on(const std::vector<double>& axis, double x) {
  std::size_t cell = 0;
  while (cell + 2 < axis.size() && x >= axis[cell + 1]) ++cell;
  return {cell, std::clamp((x - axis[cell]) / (axis[cell + 1] - axis[cell]), 0.0, 1.0)};
}

// A shape of tiles, with what follows from it. All but `load` are exact: sizes are powers of two.
struct Tile {
  double m, n;
  double area = m * n;
  double load = (m + n) / (m * n);                             // elements loaded for each one computed, along k
  double room = std::clamp(kRoom / area, 1.0, kMostResident);  // tiles at a time on one multiprocessor
  double each_m = 1 / m, each_n = 1 / n, each_room = 1 / room;

  static constexpr double kRoom = 256 * 128;  // elements of C that the registers of one multiprocessor hold
  static constexpr double kMostResident = 8;  // 8 tiles of 256 threads are the 2,048 threads that a multiprocessor holds
};
// Shapes that CUTLASS and cuBLAS instantiate, for tensor cores and for vector units alike; the largest come first.
constexpr std::array kTiles = {Tile{256, 128}, Tile{128, 256}, Tile{128, 128}, Tile{128, 64}, Tile{64, 128}, Tile{64, 64},
                               Tile{32, 64},   Tile{64, 32},   Tile{32, 32},   Tile{16, 64},  Tile{64, 16}};
// The ratio of the largest tile, to whose rate all others are scaled.
constexpr double kLeastLoad = kTiles[0].load;

struct Split {
  double parts;
  double each = 1 / parts;
};
// Split-k factors that libraries try: small numbers, then powers of two.
constexpr std::array kSplits = {Split{1}, Split{2}, Split{3}, Split{4}, Split{6}, Split{8}, Split{16}, Split{32}};
constexpr double kShortestSplit = 128;  // along k: no library cuts it finer
constexpr double kMostRounds = 4;       // k is split only while the tiles are too few for this many rounds

// For numbers up to 2^63, without the call that std::floor and std::ceil are on a plain x86-64.
double whole(double x) { return static_cast<double>(static_cast<std::int64_t>(x)); }
double whole_up(double x) {
  const double below = whole(x);
  return below < x ? below + 1 : below;
}

// Everything about a product that no tile shape changes.
struct Product {
  const ProductModel& p;
  const ProductDevice& d;
  const ProductSizes& s;
  double step_s;   // to compute one element of C one step along k on one multiprocessor, in the largest tile
  double store_s;  // to store one element on one multiprocessor
  double part_s;   // to write and read one part of C
};

Product prepared(const ProductModel& p, const ProductDevice& d, const ProductSizes& s) {
  const double largest_rate = d.peak / d.multiprocessors * p.peak_share * (1 + p.half_ratio * kLeastLoad);
  constexpr double kPartBytes = 2 * 4;  // written and read, in fp32
  return {p,
          d,
          s,
          2 * s.work / largest_rate,
          s.element_bytes * d.multiprocessors / (d.bandwidth * p.store_share),
          kPartBytes * s.batch * s.m * s.n / (d.bandwidth * p.split_store_share)};
}

// Seconds that the multiprocessor with the most tiles is busy. `step_s` is of one tile, along k.
double tiles_s(const Product& x, const Tile& t, double step_s, double tiles, const Split& split) {
  const double count = whole_up(tiles * split.parts / x.d.multiprocessors);
  const double full = whole(count * t.each_room), rest = count - full * t.room;
  double steps = full * std::max(step_s * t.room, x.p.step_s);
  if (rest > 0) steps += std::max(step_s * std::max(rest, full > 0 ? t.room * x.p.tail : 1.0), x.p.step_s);
  const double rounds = full + (rest > 0 ? 1 : 0);
  if (split.parts <= 1) return steps * x.s.k + count * t.area * x.store_s + rounds * x.p.round_s;
  return steps * std::max(x.s.k * split.each, kShortestSplit) + rounds * x.p.round_s + x.p.split_s + x.part_s * split.parts;
}

// A library times its candidates, or knows them by heuristics as good; so the fastest one counts.
double fastest_s(const Product& x) {
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& t : kTiles) {
    const double tiles = x.s.batch * whole_up(x.s.m * t.each_m) * whole_up(x.s.n * t.each_n);
    const double most_parts = kMostRounds * t.room * x.d.multiprocessors / tiles;
    const double step_s = t.area * x.step_s * (1 + x.p.half_ratio * t.load);
    for (const Split& split : kSplits) {
      if (split.parts > 1 && split.parts > most_parts) break;
      best = std::min(best, tiles_s(x, t, step_s, tiles, split));
    }
  }
  return best;
}

// Queries of a block of threads: two tiles of 128, which FlashAttention-3 and 4 and cuDNN keep in flight on Hopper and Blackwell.
constexpr double kQueriesOfBlock = 256;

// Products of one pass, each about as wide as the other: q k and scores v; backward the scores again, and the gradients of q, k, v and the
// scores.
double products_of(pcg::KernelKind kind) { return kind == pcg::KernelKind::attention ? 2 : 5; }

}  // namespace

bool LogGrid::covers(const LogPoint& x) const {
  for (std::size_t a = 0; a < 3; ++a)
    if (x[a] < axes[a].front() - kTolerance || x[a] > axes[a].back() + kTolerance) return false;
  return true;
}

std::array<Corner, 8> corners(const LogGrid& g, const LogPoint& x) {
  const std::array<Place, 3> p = {place_on(g.axes[0], x[0]), place_on(g.axes[1], x[1]), place_on(g.axes[2], x[2])};
  std::array<Corner, 8> all;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t node = 0;
    double weight = 1;
    for (std::size_t a = 0; a < 3; ++a) {
      const bool upper = (i >> a & 1) != 0;
      node = node * g.axes[a].size() + p[a].cell + (upper ? 1 : 0);
      weight *= upper ? p[a].fraction : 1 - p[a].fraction;
    }
    all[i] = {node, weight};
  }
  return all;
}

double LogGrid::at(const LogPoint& x) const {
  if (values.empty()) return 0;
  double sum = 0;
  for (const Corner& c : corners(*this, x)) sum += c.weight * values[c.node];
  return sum;
}

bool is_product(const pcg::Kernel& k) {
  using enum pcg::KernelKind;
  return (k.kind == matmul || k.kind == convolution || pcg::is_attention(k.kind)) && k.batch > 0 && k.m > 0 && k.n > 0 && k.k > 0 &&
         k.flops.value() > 0;
}

ProductSizes product_sizes(const pcg::Kernel& k, pcg::Precision p) {
  const auto real = [](std::int64_t x) { return static_cast<double>(x); };
  ProductSizes s{.batch = real(k.batch), .m = real(k.m), .n = real(k.n), .k = real(k.k), .bytes = k.bytes.value()};
  // An attention's second product sums over the keys: C[queries, head] = scores[queries, keys] V[keys, head].
  if (pcg::is_attention(k.kind)) std::swap(s.n, s.k);
  s.work = k.flops.value() / (2 * s.batch * s.m * s.n * s.k);
  s.element_bytes = pcg::element_bytes(pcg::Element::real, p).value();
  return s;
}

double product_seconds(const ProductModel& p, const ProductDevice& d, const ProductSizes& s) {
  const double tiles = fastest_s(prepared(p, d, s));
  const double memory = s.bytes / (d.bandwidth * p.bandwidth_share);
  const double larger = std::max(tiles, memory), smaller = std::min(tiles, memory);
  return p.launch_s + larger * std::pow(1 + std::pow(smaller / larger, p.overlap), 1 / p.overlap);
}

LogPoint correction_point(pcg::KernelKind kind, const ProductSizes& s) {
  if (pcg::is_attention(kind)) return {std::log2(s.batch), std::log2(s.k), std::log2(s.n)};
  return {std::log2(s.batch * s.m), std::log2(s.n), std::log2(s.k)};
}

double attention_seconds(const AttentionModel& m, double peak, const pcg::Kernel& k) {
  const double rows = static_cast<double>(k.batch) * static_cast<double>(k.m);
  const double dims = products_of(k.kind) * static_cast<double>(k.k);
  const double met = k.flops.value() / (2 * rows * dims);
  const double masked = kQueriesOfBlock * std::max(0.0, 1 - static_cast<double>(k.n) / static_cast<double>(k.m));
  const double triangle = static_cast<double>(k.m) / 2;  // met without a window, whose blocks are some of these
  const double taken = std::min(met + masked, std::max(met, triangle)) + m.fixed_keys;
  const double idle = m.idle_queries * (static_cast<double>(k.n) + m.fixed_keys);
  return m.launch_s + 2 * (rows * taken + idle) * (dims + m.score_dims) / (peak * m.peak_share);
}

}  // namespace profiles
