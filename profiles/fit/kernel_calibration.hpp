#pragma once
// Fits the models of a device profile to measured kernels: sorts rows by kind, leaves impossible ones out, keeps a fifth aside, fits, and
// reports the errors on both parts.
// Start here: calibrate_kernels() (device profiles) and fit_network() (network_fit.hpp); fits of single models: model_fits.hpp; fitted
// numbers in the files that people wrote: profile_text.hpp.

#include <span>
#include <string>
#include <vector>

#include "profiles/device_profile.hpp"
#include "profiles/measured/measurements.hpp"

namespace fit {

struct CalibrationConfig {
  std::vector<std::string> devices;    // whose rows count; empty: the profile's own. A sister's rows are fitted with the sister's peaks
  std::vector<pcg::KernelKind> kinds;  // empty: all that there are rows of
  std::string command;                 // written beside the numbers
  bool keep_table = false;             // the rows themselves go into the profile, those kept aside too
};

// Predicted against measured for one row.
struct RowError {
  std::string what;    // "matmul 1 x 32 x 128"
  std::string source;  // "FILE:LINE"
  double measured_s = 0;
  double predicted_s = 0;
};

struct KernelFit {
  pcg::KernelKind kind = pcg::KernelKind::matmul;
  pcg::Precision precision = pcg::Precision::fp32;  // of products; a rate serves all
  bool product = false;
  int left_out = 0;  // rows that cannot be true
  profiles::Provenance provenance;
  double held_out_bias = 0;     // mean of predicted / measured - 1 on the rows kept aside
  std::string refusal;          // why there is no fit; empty: there is one
  std::vector<RowError> worst;  // of the rows kept aside, at most five
};

struct KernelCalibration {
  profiles::Fitted fitted;      // of the profile, with what was fitted in place
  std::vector<KernelFit> fits;  // by kind and precision
};

// Returns the fits of a profile's kinds of kernels.
// Throws: base::InputError when no row is of the devices and kinds asked for.
[[nodiscard]] KernelCalibration calibrate_kernels(const profiles::DeviceProfile& d, std::span<const measured::KernelMeasurement> rows,
                                                  const CalibrationConfig& config);

// The fifth of the measurements that fits of kernels keep aside, and fits of networks that are asked to, to be held against afterwards.
// Whether a row belongs to it follows from what was measured, not from the table that holds the row or its place there, so the same
// question is never on both sides.
// Returns whether a kernel's shape is kept aside. A rate (a kind whose time follows from its bytes) is identified by its bytes, a product
// by its sizes, attention by both; each by its precision too.
[[nodiscard]] bool is_held_out(const pcg::Kernel& k, pcg::Precision p);
// Returns whether a collective of this kind, number of GPUs and half octave of bytes is kept aside.
[[nodiscard]] bool is_held_out(const measured::CollectiveMeasurement& m);

}  // namespace fit
