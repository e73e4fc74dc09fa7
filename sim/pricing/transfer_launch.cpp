#include "sim/pricing/transfer_launch.hpp"

namespace sim {

double transfer_launch_s(const Transfer& transfer, base::Seconds launch, base::Seconds jitter) {
  double s = launch.value();
  if (transfer.kind == CollectiveKind::send) return s;  // its receiver does not launch it together with its sender
  // The largest of n exponential times of mean m is m (1 + 1/2 + ... + 1/n) on average; the first summand is what each host has alone.
  for (std::size_t n = 2; n <= transfer.group.size(); ++n) s += jitter.value() / static_cast<double>(n);
  return s;
}

}  // namespace sim
