#pragma once
// The kernels that update parameters, as their traffic and their FLOPs.

#include "pcg/plan/plan.hpp"
#include "pcg/work/kernel.hpp"
#include "profiles/framework_profile.hpp"

namespace sim {

// Bytes of device memory that the update of one parameter reads and writes: weight, gradient and optimizer states.
// docs/architecture.md, "What the optimizer moves", derives it.
[[nodiscard]] double optimizer_bytes_per_parameter(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, pcg::Optimizer by);

// The update of `parameters` parameters of one device by this optimizer, but for Muon's products (sim/pricing/orthogonalisation.hpp).
[[nodiscard]] pcg::Kernel optimizer_kernel(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, pcg::Optimizer by,
                                           double parameters);

// The sum of squares of the gradients of so many parameters: what clipping needs of one device.
[[nodiscard]] pcg::Kernel gradient_norm_kernel(const pcg::Plan& plan, const profiles::FrameworkProfile& framework, double parameters);

}  // namespace sim
