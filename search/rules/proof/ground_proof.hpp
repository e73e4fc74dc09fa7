#pragma once
// Ground equations decided by Z3: terms over one uninterpreted sort, one function per operator with its attributes.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "search/rules/proof/egraph.hpp"

namespace rules {

struct GroundEquation {
  Index left = 0, right = 0;  // nodes
};

class GroundProof {
 public:
  explicit GroundProof(double limit_s);
  ~GroundProof();
  // Returns the numbers of the given equations that Z3 needed (an unsatisfiable core) to make both sides of every goal equal. Nullopt: they
  // do not follow, or the limit was reached.
  [[nodiscard]] std::optional<std::vector<std::size_t>> follows(const EGraph& graph, std::span<const GroundEquation> given,
                                                                std::span<const GroundEquation> goals);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rules
