#pragma once
// The time of a kernel on a device, and the basis of that time.

#include "base/units.hpp"
#include "pcg/operators/tensor.hpp"
#include "pcg/work/kernel.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/kinds.hpp"

namespace profiles {

struct KernelTime {
  base::Seconds time;
  Basis basis = Basis::defaults;
};

// Returns: the time by what the profile knows best:
//   measured: the model's time, below, corrected by measured kernels around it (MeasuredTable);
//   fitted: the fitted model of the kind, but for a product at least FLOPs / peak, bytes / memory bandwidth and kernel_floor, for
//     another kind at least its time to compute and kernel_floor; a model of attention comes before one of products;
//   extrapolated: the same, where the kernel lies outside the sizes that a product's fit covers, is larger than any that a rate's fit saw
//   (a
//     smaller one does not count: its fixed part is known), or the fit is another chip's;
//   extrapolated, too: a product in low precision for which nothing is fitted takes the fit of bf16, on tensor cores that are as many times
//     as fast as the ceilings of the two precisions say, or their peaks, with steps along k that are as much shorter as its operands have
//     fewer bytes;
//   defaults: the roofline  max(FLOPs / (peak * efficiency), bytes / (memory bandwidth * efficiency), kernel_floor),  where a term
//     without work is 0.
// The peak is that of the tensor cores for a kernel that can use them in a precision that they serve (fp32 is not one: tf32 must be asked
// for), else vector_peak. fp16 and bf16 run on the same units and take each other's fit. Only a measured time, or an efficiency above 1,
// may be faster than the peak.
// Requires: no unsupported(d, p). Throws: base::InternalError otherwise.
// Cost: about half a microsecond for a product; with measured kernels, MeasuredTable::correction in addition.
[[nodiscard]] KernelTime kernel_time(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p);

// The kernel can use tensor cores, and they serve the precision. Requires: no unsupported(d, p).
[[nodiscard]] bool runs_on_tensor_cores(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p);

}  // namespace profiles
