#include "base/processes/child_process.hpp"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <csignal>
#include <new>

namespace base {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

using Seen = std::atomic<int>;
static_assert(Seen::is_always_lock_free, "a signal handler writes it");

Seen seen_here = 0;
Seen* seen = &seen_here;  // once interruptions are noted, in memory that child processes share

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
}

void handle(int signal, void (*how)(int)) {
  struct sigaction action {};
  action.sa_handler = how;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

void handle_all(void (*how)(int)) {
  for (const int signal : kSignals)
    if (signal != SIGHUP || !is_ignored(signal)) handle(signal, how);
}

void note(int signal) {
  seen->store(signal);
  handle_all(SIG_DFL);
}

}  // namespace

void note_interruptions() {
  if (seen == &seen_here) {
    void* shared = mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED) seen = new (shared) Seen(0);  // else children notice nothing and end with their parent
  }
  handle_all(note);
}

bool interrupted() { return seen->load() != 0; }

int interruption() { return seen->load(); }

void leave_interruptions_to_parent() {
  if (seen != &seen_here) handle_all(SIG_IGN);
}

}  // namespace base
