#pragma once
// Kernels of one device as they were measured. Between measured shapes a model says how time grows, and the shapes around say by how much
// the model is off there; so the table keeps, for each kernel, the logarithm of measured over modelled time.

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "pcg/operators/tensor.hpp"
#include "pcg/work/kernel.hpp"
#include "profiles/models/log_grid.hpp"

namespace profiles {

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
  // Returns the correction to add to the logarithm of the model's time: the kernel's own where it was measured (of several, their mean),
  // else the mean over those within a doubling of each of its sizes, nearer ones counting more. nullopt where they do not lie on both sides
  // of every size: that is outside the range. Cost: O(kernels within a doubling of one size).
  [[nodiscard]] std::optional<double> correction(const pcg::Kernel& k, pcg::Precision p) const;

 private:
  struct Entry {
    LogPoint at;
    double log_ratio;
  };
  std::map<std::pair<pcg::KernelKind, pcg::Precision>, std::vector<Entry>> groups_;  // each sorted by its first size
};

}  // namespace profiles
