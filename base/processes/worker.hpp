#pragma once
// A process that does one piece of work after another, each when it is told to.

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/processes/child_process.hpp"

namespace base {

// What became of a piece of work.
struct WorkerAnswer {
  enum class Fate { answered, ended_from_outside, crashed };

  Fate fate = Fate::answered;
  nlohmann::json answer;  // of what was answered
  // How its worker process ended before it had answered: twice, or, where the second one answered, once. Empty: not at all.
  std::string ended;
};

class Worker {
 public:
  using Work = std::function<nlohmann::json(std::size_t)>;

  // Starts the process, which sees this one's memory as it is now, and lets it do piece `first`. `work` outlives it. Throws:
  // std::system_error where the system has no process or descriptor to give.
  Worker(const Work& work, std::size_t first);
  Worker(Worker&&) noexcept = default;
  Worker& operator=(Worker&&) noexcept = default;
  // Ends the process, whatever it does.
  ~Worker() = default;

  // The piece that it does.
  [[nodiscard]] std::size_t piece() const { return piece_; }
  // Has it do another, once it has answered. A process that has ended meanwhile does not answer.
  void start(std::size_t piece);
  // To be waited at by poll().
  [[nodiscard]] int pipe() const { return process_.pipe(); }
  // Takes what has come, waiting for some. Returns the answer once it is whole, or how the process ended before.
  // Throws: base::InputError with what was wrong where the work threw one, base::InternalError where it failed otherwise.
  [[nodiscard]] std::optional<WorkerAnswer> receive();
  [[nodiscard]] long long processor_time() const { return process_.processor_time(); }

 private:
  // Descriptors of a pair of sockets that carries the numbers of pieces to the process.
  class Orders {
   public:
    Orders();
    Orders(Orders&& other) noexcept;
    Orders& operator=(Orders&& other) noexcept;
    ~Orders();
    void send(std::size_t piece) const;
    // In the process: waits for the next piece. nullopt: there is none.
    [[nodiscard]] std::optional<std::size_t> next() const;
    void keep_giver();
    void keep_taker();

   private:
    int giver_ = -1, taker_ = -1;
  };

  Orders orders_;  // before the process, which is started with them
  ChildProcess process_;
  std::string bytes_;  // of the answer so far
  std::size_t piece_;
};

}  // namespace base
