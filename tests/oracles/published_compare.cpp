#include "tests/oracles/published.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "search/rules/language/text.hpp"

namespace rules {
namespace {

bool one_sided_kind(const PublishedRule& r, PublishedKind k, bool rows) {
  const auto is = [&](const PublishedOp& op) { return op.kind == k && (op.dim != 0) == rows; };
  return std::ranges::any_of(r.source, is) || std::ranges::any_of(r.target, is);
}

// Returns why no interpretation types both sides.
std::string reason(const PublishedRule& r) {
  if (one_sided_kind(r, PublishedKind::reduce, true))
    return "Reduce along rows or columns has no interpretation: neighbours in a block are no partial sums";
  if (one_sided_kind(r, PublishedKind::replicate, true))
    return "Replicate along rows or columns has no interpretation: repeated rows are no copies";
  return "no interpretation of its replicas as copies, partial sums or stacks types both sides alike";
}

}  // namespace

Compared compare(const PublishedRule& r, Prover& prover) {
  if (const auto c = refute(r)) return {Verdict::refuted, {}, *c};
  Compared result{Verdict::open, {}, reason(r)};
  for (const TypedEquation& e : interpretations(r)) {
    const Proof p = prover.prove(e);
    if (p.verdict == Verdict::proved) return {Verdict::proved, p.axioms, ""};
    std::string text;
    for (const Variable& v : e.variables()) text += (text.empty() ? "" : ", ") + to_text(v);
    text = fmt::format("{} = {} with {}", to_text(e.left(), e.variables()), to_text(e.right(), e.variables()), text);
    if (p.verdict == Verdict::refuted) result.why = fmt::format("read as {}: {}", text, *p.counterexample);
    else result.why = fmt::format("read as {}: neither proved nor refuted", text);
  }
  return result;
}

}  // namespace rules
