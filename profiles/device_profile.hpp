#pragma once
// A device profile: the figures of a GPU that give the time of a kernel: a measured table, fitted models, and the peaks and default
// efficiencies of a roofline.
// Start here, in profiles: DeviceProfile and kernel_time() (this file), NetworkProfile (network_profile.hpp), FrameworkProfile
// (framework_profile.hpp): one value each, read from a YAML file that ships or is the user's (profile_files.hpp). Models of kernels:
// fitted.hpp and models/product_model.hpp. How profiles are made: measured/measurements.hpp (tables of measurements),
// imports/import.hpp (traces of other tools), fit/kernel_calibration.hpp and fit/network_fit.hpp (fits).

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "base/yaml/tree.hpp"
#include "pcg/operators/tensor.hpp"
#include "pcg/work/kernel.hpp"
#include "profiles/fitted.hpp"
#include "profiles/kinds.hpp"

namespace profiles {

struct DeviceProfile {
  std::string name;               // "a100-sxm-80gb"
  std::string vendor_name;        // "NVIDIA A100-SXM4-80GB"
  base::Bytes memory;             // on the device
  base::Bytes reserved;           // taken by context and libraries: not for tensors
  base::Bytes product_workspace;  // what cuBLAS asks for one stream of products
  base::BytesPerSecond memory_bandwidth;
  std::map<pcg::Precision, base::FlopsPerSecond>
      peak;  // of matmuls, dense: tensor cores where they serve the precision; absent: cannot train in it
  // The best rate at which any product was measured: how far one precision gets against another, where one of them has no table of
  // kernels. Absent: in proportion to the peaks.
  std::map<pcg::Precision, base::FlopsPerSecond> ceiling;
  // Share of its benchmark rate that a product keeps over a long run, as the clock gives way to what the chip draws. That of bf16 serves
  // precisions without one of their own. Empty: not known.
  std::map<pcg::Precision, double> sustained;
  // Standard deviation of that share among GPUs of the type, as part of it: their clocks give way to different degrees, and a training goes
  // at the pace of the slowest. Of bf16, it serves precisions without one of their own. Empty: 0.
  std::map<pcg::Precision, double> sustained_spread;
  bool sustained_assumed = false;  // no training on the device was measured: its shares are those of others
  // The power that the board may draw as it is sold; 0: the profile does not say.
  base::Watts power;
  // The part of its clock that tensor cores keep under a limit below that (limited); 1: none.
  double clock = 1;
  // A product in fp8 whose partial sums are added up in fp32, as frameworks do for gradients, takes this many times as long.
  double split_accumulation = 1;
  bool transposes_fp8 = false;  // tensor cores read fp8 along rows alone: gradients' products need transposed copies
  std::map<pcg::Precision, base::FlopsPerSecond> vector_peak;  // without tensor cores, for the same precisions
  base::Seconds launch_overhead;                               // host time to launch one kernel; a framework profile adds its own
  base::Seconds kernel_floor;                                  // shortest a kernel can be
  int multiprocessors = 1;
  double overlap_slowdown = 1;  // a kernel overlapped with a collective takes this many times as long
  // One entry per kernel kind. Tensor cores and vector units reach different shares, so each has its table.
  std::map<pcg::KernelKind, Efficiency> compute;         // of peak, on tensor cores
  std::map<pcg::KernelKind, Efficiency> vector_compute;  // of vector_peak; above 1 where an algorithm saves FLOPs (Winograd)
  std::map<pcg::KernelKind, Efficiency> traffic;         // of memory_bandwidth
  Fitted fitted;                                         // what calibration found; goes before the efficiencies above
  MeasuredTable measured;                                // of fitted.table; goes before all
};

// Returns why the device cannot train in this precision ("v100-sxm2-16gb has no bf16"), or nullopt: it can. Of low precision the reason
// names the chips that have it.
[[nodiscard]] std::optional<std::string> unsupported(const DeviceProfile& d, pcg::Precision p);

// Returns the share of its benchmark rate that a product of this precision keeps in training, or nullopt: the profile has none.
[[nodiscard]] std::optional<double> sustained_share(const DeviceProfile& d, pcg::Precision p);

// Returns the part of its type's share that the slowest of `gpus` GPUs keeps, as is expected of normal deviations:
// 1 - spread x q((n - 3/8) / (n + 1/4)), q the quantile of the normal distribution (Blom, Statistical Estimates and Transformed
// Beta-Variables, 1958). 1 for one GPU.
// Requires: gpus >= 1.
[[nodiscard]] double slowest_of(const DeviceProfile& d, pcg::Precision p, int gpus);

// Returns the profile of a device with `compute` times the FLOP/s and `memory` times the memory bandwidth, the same shares of which its
// kernels reach. Launches, and what a kernel needs however little it does, take as long as before.
[[nodiscard]] DeviceProfile scaled(DeviceProfile d, double compute, double memory);

// Returns the profile of a device that may draw no more than `limit`: its tensor cores' clock falls with the cube root of what it may draw,
// since dynamic power is C V^2 f and the voltage follows the clock. Units that draw less, and memory, keep their rates. An assumption: what
// leaks does not fall with the clock, voltages have a floor, and a chip that stays below its limit loses nothing.
// Requires: !limit_problem(d, limit).
[[nodiscard]] DeviceProfile limited(DeviceProfile d, base::Watts limit);
// Returns why a device cannot be limited so, or nullopt: it can.
[[nodiscard]] std::optional<std::string> limit_problem(const DeviceProfile& d, base::Watts limit);

// Returns the generation of a device, its name up to the first dash: "a100" of "a100-sxm-80gb".
[[nodiscard]] std::string generation_of(std::string_view device);
[[nodiscard]] std::vector<std::string> device_names();  // of profiles/devices, sorted
// Returns the profile that ships under a name, or that of a file (profiles/profile_files.hpp).
// Throws: base::InputError when the name is unknown (with the nearest one), or with every problem of the file.
[[nodiscard]] const DeviceProfile& device_profile(const std::string& name);
// Returns the text of the file of one that ships.
// Throws: as device_profile.
[[nodiscard]] std::string_view device_text(std::string_view name);
// Reads the text form of profiles/devices/*.yaml (docs/formats/profiles.md).
// Throws: base::InputError with every problem found.
[[nodiscard]] DeviceProfile load_device_profile(const base::Yaml& document);

// The time of a kernel on a device, and the basis of that time.
struct KernelTime {
  base::Seconds time;
  Basis basis = Basis::defaults;
};

// Returns: the time by what the profile knows best:
//   measured: the model's time, below, corrected to what the kernel itself took (MeasuredTable);
//   fitted: the same, corrected by measured kernels around it; else the fitted model of the kind, but for a product at least FLOPs / peak,
//   bytes / memory bandwidth and kernel_floor, for
//     another kind at least its time to compute and kernel_floor; a model of attention comes before one of products;
//   extrapolated: the same, where the kernel lies outside the sizes that a product's fit covers, is larger than any that a rate's fit saw
//     (a smaller one does not count: its fixed part is known), or the fit is another chip's;
//   extrapolated, too: a product in low precision for which nothing is fitted takes the fit of bf16, on tensor cores that are as many times
//     as fast as the ceilings of the two precisions say, or their peaks, with steps along k that are as much shorter as its operands have
//     fewer bytes;
//   defaults: the roofline  max(FLOPs / (peak * efficiency), bytes / (memory bandwidth * efficiency), kernel_floor),  where a term
//     without work is 0.
// The peak is that of the tensor cores for a kernel that can use them in a precision that they serve (fp32 is not one: tf32 must be asked
// for), else vector_peak. fp16 and bf16 run on the same units and take each other's fit. Only a measured time, or an efficiency above 1,
// may be faster than the peak.
// tf32 is allowed, not ordered: where a kernel of fp32 is faster, as Winograd's convolution, libraries run that.
// `rate`: of the tensor cores, as a share of what they were measured at. Neither memory nor vector units slow down with them, so the time
// grows by less than 1 / rate, and continuously in every size and speed.
// Requires: no unsupported(d, p). Throws: base::InternalError otherwise.
// Cost: about half a microsecond for a product; with measured kernels, MeasuredTable::correction in addition.
[[nodiscard]] KernelTime kernel_time(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p, double rate = 1);

// The kernel can use tensor cores, and they serve the precision.
// Requires: no unsupported(d, p).
[[nodiscard]] bool runs_on_tensor_cores(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p);

}  // namespace profiles
