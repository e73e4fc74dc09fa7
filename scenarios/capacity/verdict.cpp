#include "scenarios/capacity/verdict.hpp"

namespace scenarios {

std::string_view to_text(Chance c) {
  switch (c) {
    case Chance::surely: return "surely";
    case Chance::probably: return "probably";
    case Chance::unlikely: return "unlikely";
    case Chance::no: return "not";
  }
  return "";
}

}  // namespace scenarios
