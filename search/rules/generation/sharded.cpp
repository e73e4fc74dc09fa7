#include "search/rules/generation/enumerate.hpp"
#include "search/rules/language/typing.hpp"

#include <algorithm>

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
  for (std::size_t v = 0; v < moves.size(); ++v) {
    std::uint8_t at = append({.kind = Kind::variable, .variable = static_cast<std::uint8_t>(v)});
    if (moves[v] != nullptr) {
      Node move = *moves[v];
      move.inputs = {at};
      at = append(std::move(move));
    }
    op.inputs.push_back(at);
  }
  std::uint8_t at = append(std::move(op));
  if (last != nullptr) {
    Node move = *last;
    move.inputs = {at};
    at = append(std::move(move));
  }
  t.outputs = {at};
  return canonical(t);
}

}  // namespace

std::vector<Equation> sharded_forms(const Setting& setting) {
  std::vector<Equation> all;
  std::vector<const Node*> layouts;
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
        moves[i] = nullptr;
        self(self, i + 1);
        for (const Node* move : layouts) {
          moves[i] = move;
          self(self, i + 1);
        }
        return;
      }
      // Only forms whose layout is that of the plain operator can take its place.
      for (const Node* last : layouts) {
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
