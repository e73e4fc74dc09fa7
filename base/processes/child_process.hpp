#pragma once
// Work in a process of its own, which sees this one's memory as it is when it begins. It may crash, print or be ended at any moment
// without harm to this process.

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

namespace base {

class ChildProcess {
 public:
  using Send = std::function<void(std::string_view)>;

  // `work` runs in the child and hands bytes back by the function that it gets. The child ends when it returns, without destructors or
  // buffers that belong to the parent, and when the parent ends. Requires: `work` does not throw.
  explicit ChildProcess(const std::function<void(const Send&)>& work);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  // Ends a child that still runs.
  ~ChildProcess();

  // To be waited at by poll(): readable when there is more to receive.
  [[nodiscard]] int pipe() const { return pipe_; }
  // Waits for more bytes. Returns: false when the child has sent everything.
  bool receive();
  [[nodiscard]] const std::string& received() const { return received_; }
  // Waits for the child's end. Returns: how it ended, "exit 0" or a signal's name.
  std::string wait();

 private:
  void end() noexcept;

  pid_t process_ = 0;  // 0: none, or it has ended
  int pipe_ = -1;
  std::string received_;
};

}  // namespace base
