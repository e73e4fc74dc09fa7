#include "search/rules/generation/enumerate.hpp"
#include "search/rules/language/typing.hpp"

namespace rules {
namespace {

// The operator on the variables, each after its layout operator (null: none), then `last`.
Term form(const Node& computing, const std::vector<const Node*>& moves, const Node* last) {
  Term t;
  Node op = computing;
  const auto append = [&](Node n) {
    t.nodes.push_back(std::move(n));
    return static_cast<std::uint8_t>(t.nodes.size() - 1);
  };
  const auto moved = [&](std::uint8_t at, const Node* move) {
    if (move == nullptr) return at;
    Node n = *move;
    n.inputs = {at};
    return append(std::move(n));
  };
  for (std::size_t v = 0; v < moves.size(); ++v)
    op.inputs.push_back(moved(append({.kind = Kind::variable, .variable = static_cast<std::uint8_t>(v)}), moves[v]));
  t.outputs = {moved(append(std::move(op)), last)};
  return canonical(t);
}

}  // namespace

std::vector<Equation> sharded_forms(const Setting& setting) {
  std::vector<Equation> all;
  std::vector<const Node*> layouts{nullptr};  // and none
  for (const Node& n : setting.operators)
    if (is_layout(n.kind)) layouts.push_back(&n);
  for (const Node& n : setting.operators) {
    if (is_layout(n.kind)) continue;
    std::vector<const Node*> moves(input_count(n.kind), nullptr);
    const Term plain = form(n, moves, nullptr);
    const auto types = types_of(plain, setting.variables);
    if (!types) continue;
    const auto choose = [&](auto&& self, std::size_t i) -> void {
      if (i < moves.size()) {
        for (const Node* move : layouts) {
          moves[i] = move;
          self(self, i + 1);
        }
        return;
      }
      // Only forms whose layout is that of the plain operator can take its place.
      for (const Node* last : std::span(layouts).subspan(1)) {
        Term cut = form(n, moves, last);
        const auto cut_types = types_of(cut, setting.variables);
        if (cut_types && (*cut_types)[cut.outputs[0]] == (*types)[plain.outputs[0]])
          all.push_back({setting.variables, plain, std::move(cut)});
      }
    };
    choose(choose, 0);
  }
  return all;
}

}  // namespace rules
