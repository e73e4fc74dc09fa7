#include <cstdlib>

#include "tools/collector/cuda/gpu.cuh"

namespace collector {

void check(cudaError_t status, const char* file, int line) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // what can be cleared is cleared: the next case starts afresh
  throw GpuError(std::string(file) + ":" + std::to_string(line) + ": " + cudaGetErrorName(status) + ": " + cudaGetErrorString(status));
}

DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) { check(cudaMalloc(reinterpret_cast<void**>(&data_), bytes)); }
DeviceMemory::~DeviceMemory() { cudaFree(data_); }

HostMemory::HostMemory(std::size_t bytes, bool pinned) : pinned_(pinned) {
  if (pinned) {
    check(cudaMallocHost(reinterpret_cast<void**>(&data_), bytes));
  } else {
    data_ = static_cast<char*>(std::malloc(bytes));
    if (data_ == nullptr) throw GpuError("no host memory: " + std::to_string(bytes) + " bytes");
  }
  for (std::size_t i = 0; i < bytes; i += 4096) data_[i] = static_cast<char>(i >> 12);  // pages exist before they are timed
}
HostMemory::~HostMemory() {
  if (pinned_) cudaFreeHost(data_);
  else std::free(data_);
}

Stream::Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
Stream::Stream(Urgent) {
  int least = 0, most = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &most));
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, most));
}
Stream::~Stream() { cudaStreamDestroy(stream_); }
Event::Event() { check(cudaEventCreate(&event_)); }
Event::~Event() { cudaEventDestroy(event_); }

double seconds_between(const Event& from, const Event& to) {
  to.wait();
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from.get(), to.get()));
  return milliseconds * 1e-3;
}

Graph::Graph(cudaStream_t s, const std::function<void()>& enqueue) {
  check(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t captured = nullptr;
  try {
    enqueue();
  } catch (...) {  // the stream must leave capture before the error goes on
    cudaStreamEndCapture(s, &captured);
    if (captured != nullptr) cudaGraphDestroy(captured);
    (void)cudaGetLastError();
    throw;
  }
  check(cudaStreamEndCapture(s, &captured));
  const cudaError_t status = cudaGraphInstantiateWithFlags(&graph_, captured, 0);
  cudaGraphDestroy(captured);
  check(status);
}
Graph::~Graph() { cudaGraphExecDestroy(graph_); }

}  // namespace collector
