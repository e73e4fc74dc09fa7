#pragma once
// Signals that ask for an end, and work in a process of its own, which sees this one's memory as it is when it begins. It may crash, print
// or be ended at any moment without harm to this process.

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace base {

// --- signals that ask for an end: long work looks now and then whether one came, and ends with what it has ---

// From now on the first SIGINT, SIGTERM or SIGHUP is only noted, here and in child processes that are made later, whoever of them it is
// sent to first; the next one ends the program at once. A SIGHUP that is ignored already (nohup) stays so.
void note_interruptions();
[[nodiscard]] bool interrupted();
// Returns: the signal, 0 where none came.
[[nodiscard]] int interruption();
// In a child process: leaves these signals to the parent, which interrupted() reports. A terminal sends them to both.
void leave_interruptions_to_parent();

// --- processes ---

// How a process ended: by a signal, or else by itself with an exit status.
struct ProcessEnd {
  int signal = 0, status = 0;

  [[nodiscard]] bool is_clean() const { return signal == 0 && status == 0; }
  // Whether the fault is the program's own and not whoever's ended it from outside, as the system does when memory runs out.
  [[nodiscard]] bool is_crash() const;
  // "Killed", "Segmentation fault", "exit 3".
  [[nodiscard]] std::string text() const;
};

class ChildProcess {
 public:
  using Send = std::function<void(std::string_view)>;

  // `work` runs in the child and hands bytes back by the function that it gets. The child ends when it returns, without destructors or
  // buffers that belong to the parent, and when the parent ends, however that does. Signals that ask for an end are left to the parent
  // where it notes them (base/processes/child_process.hpp).
  // Requires: `work` does not throw.
  // Throws: std::system_error when the system has no process or pipe to give.
  explicit ChildProcess(const std::function<void(const Send&)>& work);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  // Ends a child that still runs.
  ~ChildProcess();

  // To be waited at by poll(): readable when there is more to receive.
  [[nodiscard]] int pipe() const { return pipe_; }
  // Waits for more bytes.
  // Returns: false when the child has sent everything.
  bool receive();
  [[nodiscard]] const std::string& received() const { return received_; }
  // The same, and forgets it.
  [[nodiscard]] std::string take_received() { return std::exchange(received_, {}); }
  ProcessEnd wait();
  // Returns: the processor time that the child has used, in nanoseconds: 0 where the system does not say.
  [[nodiscard]] long long processor_time() const;

 private:
  void end() noexcept;

  pid_t process_ = 0;  // 0: none, or it has ended
  int pipe_ = -1;
  std::string received_;
};

}  // namespace base
