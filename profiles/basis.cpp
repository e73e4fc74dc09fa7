#include "profiles/basis.hpp"

namespace profiles {

std::string_view to_text(Basis b) {
  switch (b) {
    case Basis::measured: return "measured";
    case Basis::fitted: return "fitted";
    case Basis::extrapolated: return "extrapolated";
    case Basis::defaults: return "defaults";
  }
  return "defaults";
}

}  // namespace profiles
