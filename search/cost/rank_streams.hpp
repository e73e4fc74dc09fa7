#pragma once
// The streams of the devices of one pipeline rank, which do the same at the same time. Private to this folder.

#include <array>
#include <cstddef>
#include <vector>

namespace search {

class RankStreams {
 public:
  enum class Network { communication, gradients, replicas, experts };

  // The streams are free at these times, in seconds; until then they are at work.
  explicit RankStreams(double compute = 0, double networks = 0, double host = 0);

  // Kernels of `work` seconds that may start at `ready`, after the kernels before them. While a collective runs, they take `slowdown`
  // times as long.
  // Returns: their end.
  double compute(double ready, double work, double slowdown);
  // A collective of `seconds` on a stream of its own kind, after those before it. Returns: its end.
  double collective(Network network, double ready, double seconds);
  // A message that the compute stream waits for. Returns: its end.
  double blocking_message(double ready, double seconds);
  // A copy to the host or back, or the host's work on what lies there, after those of its kind. Returns: its end.
  enum class Engine { to_host, from_host, host_update };
  double copy(Engine engine, double ready, double seconds);
  // The host works for `seconds` from `ready` on, after what it did before. Returns: its end.
  double launch(double ready, double seconds);

  [[nodiscard]] double computed() const { return compute_; }
  [[nodiscard]] double host() const { return host_; }
  // The collectives of gradients and weights have ended.
  [[nodiscard]] double synchronised() const { return free_[static_cast<std::size_t>(Network::gradients)]; }
  // Seconds of them.
  [[nodiscard]] double synchronising() const { return synchronising_; }
  // The moment from which all streams of the device are free.
  [[nodiscard]] double drained() const;

 private:
  struct Interval {
    double start, end;
  };
  // The collective of a network that runs at time t or next after it; advances with t. nullptr: none.
  const Interval* at(std::size_t network, double t);

  double compute_, host_, synchronising_ = 0;
  std::array<double, 3> copied_{};  // per Engine
  static constexpr std::size_t kNetworks = 4;
  std::array<double, kNetworks> free_{};               // per network
  std::array<std::vector<Interval>, kNetworks> busy_;  // per network: ascending
  std::array<std::size_t, kNetworks> passed_{};        // per network: intervals that ended before the kernels' time
};

}  // namespace search
