// A build without MPI.
#include "base/diagnostics.hpp"
#include "cli/ranks/ranks.hpp"

namespace cli {

struct Ranks::State {};

Ranks::Ranks() {
  base::refuse("", "this program was built without MPI, so each of its ranks would answer everything",
               "install libopenmpi-dev and build again, or use --jobs");
}
Ranks::~Ranks() = default;

scenarios::Workers Ranks::workers() { return {}; }

}  // namespace cli
