#pragma once
// Whether this process is one of several that an MPI launcher started (Open MPI's mpirun, Slurm's srun, MPICH's mpiexec), by the variables
// that launchers set: known before MPI is, and in a build without it.

namespace cli {

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
