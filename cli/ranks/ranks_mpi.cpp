#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/diagnostics.hpp"
#include "cli/ranks/ranks.hpp"

namespace cli {
namespace {

using Json = nlohmann::json;

constexpr int kAnswer = 1, kNext = 2;  // tags: from a rank to the first, and back
constexpr std::int64_t kNothing = -1;  // in place of a task's number: none was done, none is left
// MPI waits by asking again and again: a rank that computes nothing leaves its core to others instead.
constexpr std::chrono::milliseconds kPause{1};

// An outcome's first byte says whether the rest is the answer or why there is none.
constexpr char kDone = 'd', kRefused = 'r', kFailed = 'f';

std::string outcome_of(const std::function<Json(std::size_t)>& work, std::size_t i) {
  try {
    return kDone + work(i).dump(-1, ' ', false, Json::error_handler_t::replace);
  } catch (const base::InputError& e) { return kRefused + std::string(e.what()); } catch (const std::exception& e) {
    return kFailed + std::string(e.what());
  }
}

Json answer_of(const std::string& outcome) {
  BASE_CHECK(!outcome.empty(), "a rank has sent nothing");
  const std::string text = outcome.substr(1);
  if (outcome.front() == kRefused) base::refuse("", text);
  if (outcome.front() == kFailed) throw base::InternalError(text);
  return Json::parse(text);
}

MPI_Status wait_for(int from, int tag) {
  MPI_Status status;
  for (int there = 0;;) {
    MPI_Iprobe(from, tag, MPI_COMM_WORLD, &there, &status);
    if (there != 0) return status;
    std::this_thread::sleep_for(kPause);
  }
}

// A task's number, then its outcome.
void send_outcome(std::int64_t task, const std::string& outcome) {
  std::string message(sizeof task, '\0');
  std::copy_n(reinterpret_cast<const char*>(&task), sizeof task, message.begin());
  message += outcome;
  BASE_CHECK(message.size() <= INT_MAX, "an answer of {} bytes", message.size());
  MPI_Send(message.data(), static_cast<int>(message.size()), MPI_BYTE, 0, kAnswer, MPI_COMM_WORLD);
}

struct Received {
  int from = 0;
  std::int64_t task = kNothing;
  std::string outcome;
};
Received receive_outcome() {
  const MPI_Status status = wait_for(MPI_ANY_SOURCE, kAnswer);
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  std::string message(static_cast<std::size_t>(bytes), '\0');
  MPI_Recv(message.data(), bytes, MPI_BYTE, status.MPI_SOURCE, kAnswer, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  Received r{status.MPI_SOURCE, kNothing, message.substr(sizeof r.task)};
  std::copy_n(message.begin(), sizeof r.task, reinterpret_cast<char*>(&r.task));
  return r;
}

void send_next(int rank, std::int64_t task) { MPI_Send(&task, 1, MPI_INT64_T, rank, kNext, MPI_COMM_WORLD); }
std::int64_t receive_next() {
  std::int64_t task = kNothing;
  wait_for(0, kNext);
  MPI_Recv(&task, 1, MPI_INT64_T, 0, kNext, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return task;
}

// Every rank has the first one's text afterwards.
void share(std::string& text) {
  auto size = static_cast<std::uint64_t>(text.size());
  MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  text.resize(size);
  constexpr std::size_t kMost = std::size_t{1} << 30U;  // MPI counts in int
  for (std::size_t at = 0; at < size; at += kMost)
    MPI_Bcast(text.data() + at, static_cast<int>(std::min(kMost, size - at)), MPI_BYTE, 0, MPI_COMM_WORLD);
}

// The tasks as the first rank sees them. Its own work and the thread that serves the others both take from it.
class Ledger {
 public:
  Ledger(std::size_t count, const std::function<void(std::size_t)>& finished) : finished_(finished), outcomes_(count) {}

  // After a failure no more are begun: the answer is the failure.
  std::int64_t next() {
    const std::lock_guard lock(mutex_);
    return failed_ || next_ == outcomes_.size() ? kNothing : static_cast<std::int64_t>(next_++);
  }
  void put(std::size_t task, std::string outcome) {
    const std::lock_guard lock(mutex_);
    failed_ = failed_ || outcome.front() != kDone;
    outcomes_[task] = std::move(outcome);
    finished_(task);
  }
  // Requires: no task runs any more.
  std::vector<std::string> take() { return std::move(outcomes_); }

 private:
  const std::function<void(std::size_t)>& finished_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  bool failed_ = false;
  std::vector<std::string> outcomes_;
};

// Hands tasks to the other ranks until none is left and each has given its last answer back.
void serve(Ledger& ledger, int ranks) {
  for (int busy = ranks - 1; busy > 0;) {
    Received r = receive_outcome();
    if (r.task != kNothing) ledger.put(static_cast<std::size_t>(r.task), std::move(r.outcome));
    const std::int64_t next = ledger.next();
    if (next == kNothing) --busy;
    send_next(r.from, next);
  }
}

std::vector<std::string> lead(std::size_t count, const std::function<Json(std::size_t)>& work,
                              const std::function<void(std::size_t)>& finished, int ranks) {
  Ledger ledger(count, finished);
  std::thread server(serve, std::ref(ledger), ranks);
  for (std::int64_t i = ledger.next(); i != kNothing; i = ledger.next())
    ledger.put(static_cast<std::size_t>(i), outcome_of(work, static_cast<std::size_t>(i)));
  server.join();
  return ledger.take();
}

void follow(const std::function<Json(std::size_t)>& work) {
  send_outcome(kNothing, {});
  for (std::int64_t i = receive_next(); i != kNothing; i = receive_next()) send_outcome(i, outcome_of(work, static_cast<std::size_t>(i)));
}

// A task that was not begun because another failed has no outcome.
std::string first_failure_or(const std::vector<std::string>& outcomes) {
  for (const std::string& o : outcomes)
    if (!o.empty() && o.front() != kDone) return o;
  return {};
}

// Open MPI's ranks find each other through PMIx; Slurm offers it where it is asked to. Without it MPI_Init ends the process.
void refuse_without_pmix() {
#ifdef OPEN_MPI
  if (std::getenv("SLURM_STEP_NUM_TASKS") == nullptr || std::getenv("PMIX_RANK") != nullptr) return;
  if (std::getenv("OMPI_COMM_WORLD_RANK") != nullptr) return;  // mpirun inside a job
  base::refuse("", "srun started several of this program without PMIx, so they cannot reach each other",
               "write srun --mpi=pmix; srun --mpi=list says what this Slurm has");
#endif
}

}  // namespace

struct Ranks::State {
  int rank = 0, ranks = 1;
  int exceptions = std::uncaught_exceptions();  // when it was made
};

Ranks::Ranks() : state_(std::make_unique<State>()) {
  // The first rank computes while a thread of its own, which alone speaks to MPI then, serves the others.
  refuse_without_pmix();
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  BASE_CHECK(provided >= MPI_THREAD_SERIALIZED, "this MPI serves one thread alone");
  MPI_Comm_rank(MPI_COMM_WORLD, &state_->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &state_->ranks);
}

Ranks::~Ranks() {
  if (std::uncaught_exceptions() > state_->exceptions) return;  // MPI_Finalize would wait for the others
  MPI_Finalize();
}

scenarios::Workers Ranks::workers() {
  return [this](std::size_t count, const std::function<Json(std::size_t)>& work, const std::function<void(std::size_t)>& finished) {
    std::vector<std::string> outcomes(count);
    std::string failure;
    if (state_->rank == 0) {
      outcomes = lead(count, work, finished, state_->ranks);
      failure = first_failure_or(outcomes);
    } else {
      follow(work);
    }
    share(failure);
    if (!failure.empty()) (void)answer_of(failure);
    std::vector<base::WorkerAnswer> answers(count);
    for (std::size_t i = 0; i < count; ++i) {
      share(outcomes[i]);
      answers[i].answer = answer_of(outcomes[i]);
    }
    return answers;
  };
}

}  // namespace cli
