// NCCL between the GPUs of this machine, one process: 2, 4, 8, .. of them and all, 4 KiB to 1 GiB in all.
#include "tools/collector/cuda/parts.cuh"

#ifdef FORESHARD_NCCL
#include <nccl.h>

#include <algorithm>
#include <memory>
#endif

namespace collector {

#ifndef FORESHARD_NCCL

std::string nccl_version() { return ""; }
void measure_collectives(const Device&, const Deadline&, Results& results) {
  results.left_out.push_back("collectives: built without NCCL");
}

#else
namespace {

void check_nccl(ncclResult_t status, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (status != ncclSuccess) throw GpuError(std::string(file) + ":" + std::to_string(line) + ": " + ncclGetErrorString(status));
}

constexpr std::size_t kSmallest = std::size_t{4} << 10, kLargest = std::size_t{1} << 30;

struct Rank {
  ncclComm_t communicator = nullptr;
  int device = 0;
  std::unique_ptr<DeviceMemory> send, receive;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Event> before, after;
};

class Communicators {
 public:
  explicit Communicators(int gpus) : ranks_(static_cast<std::size_t>(gpus)) {
    check(cudaGetDevice(&home_));
    std::vector<ncclComm_t> all(ranks_.size());
    check_nccl(ncclCommInitAll(all.data(), gpus, nullptr));
    for (int i = 0; i < gpus; ++i) {
      Rank& r = ranks_[static_cast<std::size_t>(i)];
      r.communicator = all[static_cast<std::size_t>(i)];
      r.device = i;
      check(cudaSetDevice(i));
      r.send = std::make_unique<DeviceMemory>(kLargest);
      r.receive = std::make_unique<DeviceMemory>(kLargest);
      r.stream = std::make_unique<Stream>();
      r.before = std::make_unique<Event>();
      r.after = std::make_unique<Event>();
      check(cudaMemset(r.send->data(), 0, kLargest));
    }
    check(cudaSetDevice(home_));
  }
  ~Communicators() {
    for (Rank& r : ranks_) {
      cudaSetDevice(r.device);
      ncclCommDestroy(r.communicator);
    }
    cudaSetDevice(home_);
  }
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  // Seconds of one of `times` collectives in a row: of the slowest rank. `one(rank, index)` enqueues a rank's part.
  template <class One>
  double run(int times, const One& one) {
    for (Rank& r : ranks_) {
      check(cudaSetDevice(r.device));
      r.before->record(r.stream->get());
    }
    for (int i = 0; i < times; ++i) {
      check_nccl(ncclGroupStart());
      for (std::size_t r = 0; r < ranks_.size(); ++r) one(ranks_[r], static_cast<int>(r));
      check_nccl(ncclGroupEnd());
    }
    double slowest = 0;
    for (Rank& r : ranks_) {
      check(cudaSetDevice(r.device));
      r.after->record(r.stream->get());
    }
    for (Rank& r : ranks_) {
      check(cudaSetDevice(r.device));
      slowest = std::max(slowest, seconds_between(*r.before, *r.after));
    }
    check(cudaSetDevice(home_));
    return slowest / times;
  }
  [[nodiscard]] std::size_t count() const { return ranks_.size(); }

 private:
  std::vector<Rank> ranks_;
  int home_ = 0;
};

// A rank's part of a collective whose full buffer is `bytes`, in fp16.
void enqueue(const std::string& name, const Rank& r, int rank, std::size_t bytes, std::size_t gpus) {
  const std::size_t all = bytes / 2, part = all / gpus;
  char *const from = r.send->data(), *const to = r.receive->data();
  cudaStream_t const s = r.stream->get();
  if (name == "all_reduce") return check_nccl(ncclAllReduce(from, to, all, ncclHalf, ncclSum, r.communicator, s));
  if (name == "all_gather") return check_nccl(ncclAllGather(from, to, part, ncclHalf, r.communicator, s));
  if (name == "reduce_scatter") return check_nccl(ncclReduceScatter(from, to, part, ncclHalf, ncclSum, r.communicator, s));
  if (name == "broadcast") return check_nccl(ncclBroadcast(from, to, all, ncclHalf, 0, r.communicator, s));
  if (name == "send") {  // rank 0 to rank 1, the others rest
    if (rank == 0) check_nccl(ncclSend(from, all, ncclHalf, 1, r.communicator, s));
    if (rank == 1) check_nccl(ncclRecv(to, all, ncclHalf, 0, r.communicator, s));
    return;
  }
  for (std::size_t peer = 0; peer < gpus; ++peer) {  // all_to_all
    check_nccl(ncclSend(from + 2 * part * peer, part, ncclHalf, static_cast<int>(peer), r.communicator, s));
    check_nccl(ncclRecv(to + 2 * part * peer, part, ncclHalf, static_cast<int>(peer), r.communicator, s));
  }
}

CollectiveResult time_collective(Communicators& c, const std::string& name, std::size_t bytes) {
  const auto one = [&](const Rank& r, int rank) { enqueue(name, r, rank, bytes, c.count()); };
  (void)c.run(2, one);
  const int times = static_cast<int>(std::clamp(2e-3 / c.run(2, one), 1.0, 50.0));
  std::vector<double> samples;
  for (int i = 0; i < 9; ++i) samples.push_back(c.run(times, one));
  return {name, static_cast<int>(c.count()), static_cast<double>(bytes), summarise(std::move(samples))};
}

}  // namespace

std::string nccl_version() {
  int v = 0;
  if (ncclGetVersion(&v) != ncclSuccess) return "unknown";
  return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
}

void measure_collectives(const Device& d, const Deadline& until, Results& results) {
  if (d.count < 2) return results.left_out.push_back("collectives: one GPU");
  std::vector<int> groups{d.count};
  for (int n = 2; n < d.count; n *= 2) groups.push_back(n);
  for (const int gpus : groups) {
    Communicators c(gpus);
    for (std::size_t bytes = kSmallest; bytes <= kLargest; bytes *= 4)
      for (const char* name : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send"}) {
        if (until.passed())
          return results.left_out.push_back("collectives of " + std::to_string(gpus) + " GPUs from " + std::to_string(bytes) +
                                            " bytes: the time budget ended");
        results.collectives.push_back(time_collective(c, name, bytes));
      }
  }
}

#endif

}  // namespace collector
