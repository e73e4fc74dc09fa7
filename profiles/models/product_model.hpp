#pragma once
// The time of a product on a GPU, from how libraries compute it: C is cut into tiles, each multiprocessor works on one round of
// tiles after another, a long inner dimension may be split over several multiprocessors, and memory must keep up. The library is taken to
// choose the fastest of a few tile shapes and splits. Matmuls, convolutions (implicit matmuls) and fused attention (its second product,
// with the FLOPs of all of them) are products. The parameters are shares of what the data sheet promises, so that they carry over to a
// sister device with other peaks. They are fitted by profiles/fit/.

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "pcg/operators/tensor.hpp"
#include "pcg/work/kernel.hpp"

namespace profiles {

// A smooth function of three sizes: values at the nodes of a small grid over the logarithms of the sizes, linear in between, flat outside.
// It holds what a model leaves over.
using LogPoint = std::array<double, 3>;  // base-2 logarithms of three sizes

struct LogGrid {
  std::array<std::vector<double>, 3> axes;  // ascending, at least two nodes each
  std::vector<double> values;               // one per node, the last axis runs fastest; empty: 0 everywhere

  [[nodiscard]] std::size_t nodes() const { return axes[0].size() * axes[1].size() * axes[2].size(); }
  [[nodiscard]] bool covers(const LogPoint& x) const;
  // Returns the value at a point.
  // Cost: O(nodes of one axis).
  [[nodiscard]] double at(const LogPoint& x) const;
  bool operator==(const LogGrid&) const = default;
};

// A node beside a point.
struct Corner {
  std::size_t node;
  double weight;
};
// The eight nodes around a point. Their weights add up to 1: at(x) is their weighted sum.
[[nodiscard]] std::array<Corner, 8> corners(const LogGrid& g, const LogPoint& x);

struct ProductSizes {
  double batch = 1, m = 1, n = 1, k = 1;  // `batch` products C[m, n] = A[m, k] B[k, n]
  double work = 1;                        // FLOPs for each of the 2 batch m n k that the sizes say: an attention's are several products
  double bytes = 0;                       // read and written in device memory
  double element_bytes = 2;               // of one element of C
};
// Requires: is_product(k).
[[nodiscard]] ProductSizes product_sizes(const pcg::Kernel& k, pcg::Precision p);
// Returns whether a kernel is a matmul, convolution or attention whose sizes are known.
[[nodiscard]] bool is_product(const pcg::Kernel& k);

// Returns the logarithms of the sizes that a correction of the model is over: all rows (batch m), n, k; of an attention: batch, keys, head
// dimension.
[[nodiscard]] LogPoint correction_point(pcg::KernelKind kind, const ProductSizes& s);

// The figures of a device's data sheet for one precision.
struct ProductDevice {
  double peak = 1;       // FLOP/s of all multiprocessors
  double bandwidth = 1;  // bytes/s of device memory
  double multiprocessors = 1;
};

// All above 0. A tile of tm x tn loads more for each FLOP the smaller r = tm tn / (tm + tn) is: its rate is that of the largest tile
// times  r / (r + half_ratio), scaled to 1 for the largest.
struct ProductModel {
  double peak_share = 0.9;       // of the peak, by the largest tile
  double half_ratio = 10;        // see above
  double tail = 0.5;             // a last round that is not full takes at least this share of a full one
  double step_s = 1e-9;          // shortest time of one step along k in a tile: loads wait for memory however small the tile is
  double round_s = 1e-7;         // of each round: filling and draining the pipeline of loads
  double store_share = 0.8;      // of the bandwidth, at which finished tiles are stored
  double bandwidth_share = 0.8;  // of the bandwidth, reached by a product that is bound by memory
  double launch_s = 2.5e-6;      // of each kernel
  double split_s = 2.5e-6;       // added when k is split
  double split_store_share = 1;  // of the bandwidth, at which partial sums are written and read in fp32; above 1 where a cache holds them
  double overlap = 3;            // tiles and memory hide each other: total = (tiles^overlap + memory^overlap)^(1 / overlap)
};
// The names that profiles have for the parameters of a model, in the order of its members.
template <class Model>
struct Parameter {
  std::string_view name;
  double Model::*member;
};
inline constexpr Parameter<ProductModel> kProductParameters[] = {
    {"peak_share", &ProductModel::peak_share},
    {"half_ratio", &ProductModel::half_ratio},
    {"tail", &ProductModel::tail},
    {"step_s", &ProductModel::step_s},
    {"round_s", &ProductModel::round_s},
    {"store_share", &ProductModel::store_share},
    {"bandwidth_share", &ProductModel::bandwidth_share},
    {"launch_s", &ProductModel::launch_s},
    {"split_s", &ProductModel::split_s},
    {"split_store_share", &ProductModel::split_store_share},
    {"overlap", &ProductModel::overlap},
};

// Returns seconds. They never shrink when batch, m, n, k, work or bytes grow.
// Cost: some 50 candidates, below a microsecond.
[[nodiscard]] double product_seconds(const ProductModel& p, const ProductDevice& d, const ProductSizes& s);

// The time of fused attention on a GPU, one pass of it: FlashAttention's and cuDNN's kernels give each block of threads some queries of one
// head, which it takes through the keys that they meet. For chips of which whole kernels of attention were measured in both passes;
// elsewhere attention is a product, as above. Fitted by fit::fit_attention.
// All above 0.
struct AttentionModel {
  double peak_share = 0.7;  // of the tensor cores' peak
  double fixed_keys = 400;  // of each query: beginning and end of its block as a number of keys that take as long
  double score_dims = 30;   // of each score: its exponential and scaling as a number of dims of the products that take as long
  double launch_s = 5e-6;   // of each kernel
  double idle_queries = 0;  // which could meet all keys while the last blocks leave multiprocessors idle; no profile of a device has it
};
inline constexpr Parameter<AttentionModel> kAttentionParameters[] = {
    {"peak_share", &AttentionModel::peak_share},
    {"fixed_keys", &AttentionModel::fixed_keys},
    {"score_dims", &AttentionModel::score_dims},
    {"launch_s", &AttentionModel::launch_s},
};

// Returns seconds:  launch_s + 2 (rows (met + extra) + idle_queries (keys + fixed_keys)) (dims + score_dims) / (peak peak_share)  with
// rows = batch m queries, dims the widths of the pass' products together, met the keys that a query meets on average (FLOPs / (2 rows
// dims)), keys those in reach, and extra = fixed_keys and, where queries reach fewer keys than there are, the keys at the ends of the reach
// that a block of queries computes and masks.
// Requires: pcg::is_attention(k.kind) and profiles::is_product(k). peak: FLOP/s.
[[nodiscard]] double attention_seconds(const AttentionModel& m, double peak, const pcg::Kernel& k);

}  // namespace profiles
