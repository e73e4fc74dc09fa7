#pragma once
// The fifth of the measurements that fits of kernels keep aside, and fits of networks that are asked to, to be held against afterwards.
// Whether a row belongs to it follows from what was measured, not from the table that holds the row or its place there, so the same
// question is never on both sides.

#include "profiles/measured/measurements.hpp"

namespace fit {

// Returns whether a kernel's shape is kept aside. A rate (a kind whose time follows from its bytes) is told apart by its bytes, a product
// by its sizes, attention by both; each by its precision too.
[[nodiscard]] bool is_held_out(const pcg::Kernel& k, pcg::Precision p);
// Returns whether a collective of this kind, number of GPUs and half octave of bytes is kept aside.
[[nodiscard]] bool is_held_out(const measured::CollectiveMeasurement& m);

}  // namespace fit
