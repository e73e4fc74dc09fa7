#pragma once
// Streams of a device: what is on one stream runs one after another, in the order in which it is listed.

#include <array>
#include <cstdint>

namespace sim {

// compute: kernels. communication: collectives that kernels wait for. gradients: synchronisation of gradients and weights, which may
// run beside the others. replicas: shards of gradients on their way between groups that share out copies of their own. experts: tokens on
// their way to experts and back, where passes are merged. pipeline: messages between pipeline stages; these wait for nothing but their
// data, so nothing is queued on this stream. host: the host's work to launch what runs on the device. to_host, from_host: copies to the
// host's memory and back. host_update: what the host does with optimizer states.
enum class StreamKind : std::uint8_t {
  compute,
  communication,
  gradients,
  replicas,
  experts,
  pipeline,
  host,
  to_host,
  from_host,
  host_update
};
inline constexpr std::array kStreamKinds = {StreamKind::compute,   StreamKind::communication, StreamKind::gradients, StreamKind::replicas,
                                            StreamKind::experts,   StreamKind::pipeline,      StreamKind::host,      StreamKind::to_host,
                                            StreamKind::from_host, StreamKind::host_update};

// One stream of every device of a class (sim/folding/folding.hpp).
struct StreamId {
  std::uint32_t device_class = 0;
  StreamKind kind = StreamKind::compute;
  auto operator<=>(const StreamId&) const = default;
};

// The number of a stream in a task graph: class by class, in the order of kStreamKinds.
[[nodiscard]] constexpr std::uint32_t number_of(StreamId id) {
  return id.device_class * static_cast<std::uint32_t>(kStreamKinds.size()) + static_cast<std::uint32_t>(id.kind);
}

}  // namespace sim
