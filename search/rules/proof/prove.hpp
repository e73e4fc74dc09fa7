#pragma once
// Proofs of equations from axioms. Instances of the axioms are made where both of their sides are well typed (an e-graph grows from the two
// sides; its classes know their types in every assignment), then Z3 decides with those ground instances and uninterpreted functions whether
// the sides must be equal. Typed instances are what makes this sound: no axiom is ever used on terms that it does not speak of. Start here:
//   prove.hpp       Prover: a Proof with its Verdict, by Z3; prove_all(): in worker processes; refute(): a counterexample (refute.cpp)
//   saturation.hpp  Saturation: grows the e-graph
//   patterns.hpp    compile(), match(): axioms as patterns, and their instances in an e-graph
//   egraph.hpp      EGraph: terms, classes of equal ones, and the reasons of merges

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/rules/axioms/axioms.hpp"
#include "search/rules/language/rule.hpp"

namespace rules {

enum class Verdict { proved, refuted, open };

struct Proof {
  Verdict verdict = Verdict::open;
  std::vector<std::string> axioms;            // proved: names, from Z3's unsatisfiable core
  std::optional<std::string> counterexample;  // refuted: where the sides differ, as refute() says it; open: with stand-ins
  std::string opaque;                         // open with a counterexample: the functions that had stand-ins
  double seconds = 0;
};
// "false: " and the counterexample; "not proved: relu is opaque here"; "not proved by the axioms of this version". Requires: not proved.
[[nodiscard]] std::string why_not_proved(const Proof& p);

// Deterministic but for `seconds` and for proofs that Z3's time limit cuts off.
// Cost: 1 to 10 ms for three operators a side.
class Prover {
 public:
  explicit Prover(const Axioms& axioms);
  ~Prover();
  // `without`: an entry of the axioms that is left out, to see whether the others prove it.
  [[nodiscard]] Proof prove(const TypedEquation& e, std::optional<std::size_t> without = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns: one proof per equation, in order. Each is made by itself (a fresh Prover for each equation would give the same), so that the
// number of processes changes nothing but the time. `progress` is called with how many are done, a hundred at a time; it may be empty.
// Throws: base::InternalError when a process dies.
[[nodiscard]] std::vector<Proof> prove_all(const Axioms& axioms, std::span<const TypedEquation> equations, int processes,
                                           const std::function<void(std::size_t done)>& progress);

// Returns: the names of the entries that the other entries prove, each by itself.
[[nodiscard]] std::vector<std::string> redundant(const Axioms& axioms);

// Where the sides of an equation differ, of several small sizes and draws of values: "x [2, 3], w [3, 2]: output 0 at [0, 1]: 17 on the
// left, 4 on the right". Outputs of different types are one, too.
struct Difference {
  std::string where;
  std::string opaque;  // functions that have stand-ins there, from which the difference may come; empty: the equation is false
};
// Returns: nullopt: none was found. Activations, norms, attention and max pools have stand-ins, but where relu, relu2 and max pools are
// alone among them, the equation is false only if they themselves make the sides differ.
// Requires: no size condition (size_condition()).
[[nodiscard]] std::optional<Difference> refute(const TypedEquation& e);

}  // namespace rules
