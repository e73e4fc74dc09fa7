#pragma once
// CUDA held by owners: memory, streams, events, graphs; every status checked. What goes wrong is an exception, so that one case that
// fails leaves the others.

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>

namespace collector {

struct GpuError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The library has no kernel for this case: it is left out, and counted.
struct NotSupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws: GpuError "FILE:LINE: what CUDA says".
void check(cudaError_t status, const char* file = __builtin_FILE(), int line = __builtin_LINE());
// The error that a launch left behind, if any.
inline void check_launch(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { check(cudaGetLastError(), file, line); }

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  [[nodiscard]] char* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  char* data_ = nullptr;
  std::size_t bytes_;
};

class HostMemory {  // pinned or not
 public:
  HostMemory(std::size_t bytes, bool pinned);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  [[nodiscard]] char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  bool pinned_;
};

class Stream {
 public:
  struct Urgent {};  // its blocks go before those of other streams
  Stream();
  explicit Stream(Urgent);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t s) const { check(cudaEventRecord(event_, s)); }
  void wait() const { check(cudaEventSynchronize(event_)); }
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};
// Device time between two recorded events; waits for the later one.
[[nodiscard]] double seconds_between(const Event& from, const Event& to);

// What `enqueue` puts on the stream, as a graph that can be launched again and again.
class Graph {
 public:
  Graph(cudaStream_t s, const std::function<void()>& enqueue);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(cudaStream_t s) const { check(cudaGraphLaunch(graph_, s)); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace collector
