#pragma once
// Tasks shared out among the processes that an MPI launcher started, on one machine or many. All of them load the same scenario and come
// to the same tasks; what one has answered all of them know at the end, so that the next tasks are the same again. Files are on a file
// system that all of them see.

#include <memory>

#include "scenarios/answer/run.hpp"

namespace cli {

class Ranks {
 public:
  // Joins the others. Throws: base::InputError in a build without MPI, and says what to install; and where Slurm gives Open MPI no way.
  Ranks();
  // Leaves them. After an exception, which the others have not seen, all are ended.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // The first rank hands tasks out one by one, to whoever is free, and does some itself; each does one at a time. Returns: on every rank
  // all answers. Throws, on every rank: base::InputError or base::InternalError when the work of one throws. A rank that is killed takes
  // the others with it, as launchers have it: `--resume` keeps what was answered.
  [[nodiscard]] scenarios::Workers workers();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether this process is one of several that an MPI launcher started (Open MPI's mpirun, Slurm's srun, MPICH's mpiexec), by the variables
// that launchers set: known before MPI is, and in a build without it.
struct Launched {
  int rank = 0, ranks = 1;
  [[nodiscard]] bool is_alone() const { return ranks <= 1; }
};
[[nodiscard]] Launched launched();

// On ranks other than the first: what they answer is what the first answers, so what they print goes nowhere.
void silence_answers();
// Before a rank other than the first says what is wrong: mostly the first says the same, and its launcher ends the others meanwhile.
void let_first_speak();

}  // namespace cli
