#include "base/processes/worker_pool.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/check.hpp"
#include "base/diagnostics.hpp"

namespace base {
namespace {

using Json = nlohmann::json;
using Fate = WorkerAnswer::Fate;

// The first byte of what a worker sends says whether the rest is its answer or why there is none.
constexpr char kDone = 'd';
constexpr char kRefused = 'r';  // its input is wrong
constexpr char kFailed = 'f';
constexpr char kNoMemory = 'm';

std::string message_of(const Worker::Work& work, std::size_t task) {
  try {  // messages quote what users wrote, which need not be UTF-8: such bytes are replaced, not refused
    return kDone + work(task).dump(-1, ' ', false, Json::error_handler_t::replace);
  } catch (const InputError& e) { return kRefused + std::string(e.what()); } catch (const std::bad_alloc&) {
    return {kNoMemory};
  } catch (const std::exception& e) { return kFailed + std::string(e.what()); }
}

// Each message follows its length.
std::string framed(const std::string& message) {
  const std::uint64_t length = message.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + message;
}

// The message that `bytes` begin with, once all of it is there.
std::optional<std::string_view> message_in(std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) return std::nullopt;
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes.remove_prefix(sizeof length);
  return bytes.size() < length ? std::nullopt : std::optional(bytes);
}

WorkerAnswer answer_of(std::string_view message) {
  const std::string_view text = message.substr(1);
  if (message.front() == kRefused) refuse("", std::string(text));
  if (message.front() == kFailed) throw InternalError(std::string(text));
  if (message.front() == kNoMemory) return {.fate = Fate::ended_from_outside, .answer = {}, .ended = "no memory was left"};
  return {.fate = Fate::answered, .answer = Json::parse(text), .ended = {}};
}

void close_one(int& descriptor) {
  if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
}

}  // namespace

Worker::Orders::Orders() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw std::system_error(errno, std::generic_category(), "a worker gets no sockets");
  giver_ = ends[0];
  taker_ = ends[1];
}

Worker::Orders::Orders(Orders&& other) noexcept : giver_(std::exchange(other.giver_, -1)), taker_(std::exchange(other.taker_, -1)) {}

Worker::Orders& Worker::Orders::operator=(Orders&& other) noexcept {
  std::swap(giver_, other.giver_);
  std::swap(taker_, other.taker_);
  return *this;
}

Worker::Orders::~Orders() {
  keep_giver();
  close_one(giver_);
}

void Worker::Orders::keep_giver() { close_one(taker_); }
void Worker::Orders::keep_taker() { close_one(giver_); }

// A process that is gone is noticed where its answer is waited for; it must not end this one by SIGPIPE.
void Worker::Orders::send(std::size_t task) const {
  while (::send(giver_, &task, sizeof task, MSG_NOSIGNAL) < 0 && errno == EINTR) {}
}

std::optional<std::size_t> Worker::Orders::next() const {
  std::size_t task = 0, got = 0;
  while (got < sizeof task) {
    const ssize_t n = ::read(taker_, reinterpret_cast<char*>(&task) + got, sizeof task - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    got += static_cast<std::size_t>(n);
  }
  return task;
}

Worker::Worker(const Work& work, std::size_t first)
    : process_([&](const ChildProcess::Send& send) {
        orders_.keep_taker();
        for (std::optional<std::size_t> task = first; task; task = orders_.next()) send(framed(message_of(work, *task)));
      }),
      task_(first) {
  orders_.keep_giver();
}

void Worker::start(std::size_t task) {
  task_ = task;
  orders_.send(task);
}

std::optional<WorkerAnswer> Worker::receive() {
  const bool goes_on = process_.receive();
  bytes_ += process_.take_received();
  if (const auto message = message_in(bytes_)) {
    const WorkerAnswer answer = answer_of(*message);
    bytes_.clear();
    return answer;
  }
  if (goes_on) return std::nullopt;
  // It has closed its pipe with an answer that is not whole.
  const ProcessEnd end = process_.wait();
  return WorkerAnswer{.fate = end.is_crash() ? Fate::crashed : Fate::ended_from_outside, .answer = {}, .ended = end.text()};
}

}  // namespace base
