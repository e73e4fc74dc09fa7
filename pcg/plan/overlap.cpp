#include "pcg/plan/overlap.hpp"

namespace pcg {

std::string to_text(const Overlap& overlap) {
  std::string yes, no;
  for (const auto& [word, choice] : kOverlapWords) {
    const std::optional<bool> said = overlap.*choice;
    if (!said) continue;
    std::string& list = *said ? yes : no;
    if (list.empty()) list = *said ? "overlap " : "no overlap of ";
    else list += ", ";
    list += word;
  }
  return yes.empty() || no.empty() ? yes + no : yes + ", " + no;
}

}  // namespace pcg
