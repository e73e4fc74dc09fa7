#include "base/interruption.hpp"

#include <csignal>

namespace base {
namespace {

volatile std::sig_atomic_t seen = 0;

void note(int) { seen = 1; }

}  // namespace

void note_interruptions() {
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

bool interrupted() { return seen != 0; }

}  // namespace base
