#include "sim/results/why.hpp"

namespace sim {

const char* to_text(PathKind k) {
  switch (k) {
    case PathKind::operation: return "operator";
    case PathKind::collective: return "collective";
    case PathKind::transfer: return "transfer";
    case PathKind::host: return "host";
    case PathKind::wait: return "wait";
  }
  return "";
}

}  // namespace sim
