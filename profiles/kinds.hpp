#pragma once
// Names of what profiles, measurements and the simulator share: kinds of kernels, precisions, collectives and their algorithms, and the
// basis of a figure.

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/ids.hpp"
#include "pcg/operators/tensor.hpp"
#include "pcg/work/kernel.hpp"

namespace profiles {

inline constexpr auto kKernelKinds = [] {
  using enum pcg::KernelKind;
  return std::array{matmul, convolution, attention, softmax, norm,      elementwise, embedding,     pooling,           reduction,
                    copy,   permutation, strided,   loss,    optimizer, scan,        scan_gradient, attention_gradient};
}();
inline constexpr std::array kPrecisions = {pcg::Precision::fp32, pcg::Precision::tf32,  pcg::Precision::fp16, pcg::Precision::bf16,
                                           pcg::Precision::fp8,  pcg::Precision::mxfp8, pcg::Precision::nvfp4};

// Returns the one of `all` that to_text() writes so, or nullopt for any other word.
template <class Enums>
[[nodiscard]] auto find_named(const Enums& all, std::string_view name) {
  const auto at = std::ranges::find_if(all, [&](auto e) { return to_text(e) == name; });
  return at == all.end() ? std::nullopt : std::optional(*at);
}
[[nodiscard]] inline std::optional<pcg::KernelKind> find_kind(std::string_view name) { return find_named(kKernelKinds, name); }
[[nodiscard]] inline std::optional<pcg::Precision> find_precision(std::string_view name) { return find_named(kPrecisions, name); }

enum class CollectiveKind { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send };
enum class Algorithm { automatic, ring, tree, hierarchical, in_switch, in_switch_tree, pairwise, forwarded, bulk_forwarded };
inline constexpr std::array kCollectiveKinds = {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                                CollectiveKind::all_to_all, CollectiveKind::broadcast,  CollectiveKind::send};
// All but `automatic`, which means the quickest of them.
inline constexpr std::array kAlgorithms = {Algorithm::ring,      Algorithm::tree,           Algorithm::hierarchical,
                                           Algorithm::in_switch, Algorithm::in_switch_tree, Algorithm::pairwise,
                                           Algorithm::forwarded, Algorithm::bulk_forwarded};
[[nodiscard]] std::string_view to_text(CollectiveKind k);
[[nodiscard]] std::string_view to_text(Algorithm a);
[[nodiscard]] inline std::optional<CollectiveKind> collective_kind(std::string_view name) { return find_named(kCollectiveKinds, name); }

// How a number came about; later ones are worse. Extrapolated: by a fit, but beyond the measurements that it was made to, or to another
// chip's.
enum class Basis { measured, fitted, extrapolated, defaults };
inline constexpr std::array kBases = {Basis::measured, Basis::fitted, Basis::extrapolated, Basis::defaults};
[[nodiscard]] std::string_view to_text(Basis b);

template <class T>
using ByBasis = base::ByEnum<Basis, Basis::defaults, T>;

}  // namespace profiles
