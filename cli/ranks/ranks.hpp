#pragma once
// Pieces of work shared out among the processes that an MPI launcher started, on one machine or many. All of them load the same scenario
// and come to the same pieces; what one has answered all of them know at the end, so that the next pieces are the same again. Files are on
// a file system that all of them see.

#include <memory>

#include "scenarios/answer/run.hpp"

namespace cli {

class Ranks {
 public:
  // Joins the others. Throws: base::InputError in a build without MPI, and says what to install; and where Slurm gives Open MPI no way to
  // do it.
  Ranks();
  // Leaves them. After an exception, which the others have not seen, all are ended.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // The first rank hands pieces out one by one, to whoever is free, and does some itself; each does one at a time. Returns: on every rank
  // all answers. Throws, on every rank: base::InputError or base::InternalError when the work of one throws. A rank that is killed takes
  // the others with it, as launchers have it: `--resume` keeps what was answered.
  [[nodiscard]] scenarios::Workers workers();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cli
