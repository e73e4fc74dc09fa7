#pragma once
// The findings of calibration about one device: models of kernels, the residuals they left and where the rows came from. It is the part
// `fitted:` of a device profile.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "base/yaml/tree.hpp"
#include "pcg/operators/tensor.hpp"
#include "pcg/work/kernel.hpp"
#include "profiles/models/product_model.hpp"

namespace profiles {

// Kernels of one device as they were measured. Between measured shapes a model says how time grows, and the shapes around say by how much
// the model is off there; so the table keeps, for each kernel, the logarithm of measured over modelled time.
struct MeasuredKernel {
  pcg::Precision precision = pcg::Precision::fp32;
  pcg::Kernel kernel;
  double seconds = 0;
};

class MeasuredTable {
 public:
  using Model = std::function<double(const pcg::Kernel&, pcg::Precision)>;  // seconds

  MeasuredTable() = default;
  // Cost: one call of the model for each kernel.
  MeasuredTable(const std::vector<MeasuredKernel>& kernels, const Model& model);

  [[nodiscard]] bool empty() const { return groups_.empty(); }
  struct Correction {
    double log = 0;       // to add to the logarithm of the model's time
    bool is_own = false;  // the kernel itself was measured
  };
  // Returns the correction of the kernel itself where it was measured, of several those of as many bytes, else their mean; else the mean
  // over those within a doubling of each of its sizes, nearer ones counting more. nullopt where they do not lie on both sides of every
  // size: that is outside the range.
  // Cost: O(kernels within a doubling of one size).
  [[nodiscard]] std::optional<Correction> correction(const pcg::Kernel& k, pcg::Precision p) const;

 private:
  struct Entry {
    LogPoint at;
    double bytes, log_ratio;
  };
  std::map<std::pair<pcg::KernelKind, pcg::Precision>, std::vector<Entry>> groups_;  // each sorted by its first size
};

// Share of a peak that a kind of kernel reaches: rate = peak * max * work / (work + half), so `half` is the work (FLOPs of one kernel
// for compute, bytes for memory) at which half of `max` is reached. This is what separates big matmuls from small ones.
struct Efficiency {
  double max = 1;
  double half = 0;
  bool operator==(const Efficiency&) const = default;
};

// The rows that a model was fitted to, and the mean of |predicted / measured - 1| over them.
struct Provenance {
  std::string source;         // files, and whose measurements
  std::string command;        // that made them
  std::string device;         // whose rows they are, when not this device's
  bool borrowed = false;      // that device is another chip
  int rows = 0;               // used in the fit
  double error = 0;           // on them
  int held_out_rows = 0;      // kept aside
  double held_out_error = 0;  // on those
  double held_out_p90 = 0;    // and the error that nine in ten of them stay below
  bool operator==(const Provenance&) const = default;
};

// Seconds = product_seconds * exp(correction at corrected_sizes).
struct FittedProduct {
  ProductModel model;
  LogGrid correction;  // its axes span the rows that the fit saw, also when it has no values
  Provenance provenance;
};

// Seconds = attention_seconds.
struct FittedAttention {
  AttentionModel model;
  Provenance provenance;
};

// Seconds = (bytes + half) / (memory bandwidth * max).
struct FittedRate {
  Efficiency traffic;             // `half` is at most what the bandwidth moves in the device's kernel_floor: timers add more
  base::Bytes smallest, largest;  // of the kernels that the fit saw
  Provenance provenance;
};

struct Fitted {
  std::map<std::pair<pcg::KernelKind, pcg::Precision>, FittedProduct> products;
  std::map<std::pair<pcg::KernelKind, pcg::Precision>, FittedAttention> attentions;  // of one pass each; before products of that kind
  std::map<pcg::KernelKind, FittedRate> rates;
  std::vector<MeasuredKernel> table;  // kept from a calibration with one's own measurements; empty in the profiles that ship
};

// The part `fitted:` of a device profile as text: `foreshard calibrate` writes it, a profile's loader reads it back.
// Reads the map at "device.fitted". Problems go to `sink`.
[[nodiscard]] Fitted read_fitted(const base::Yaml& node, base::Diagnostics& sink);
// Returns the map as text, two blanks deep under "  fitted:"; read_fitted reads it back.
[[nodiscard]] std::string to_text(const Fitted& f);

}  // namespace profiles
