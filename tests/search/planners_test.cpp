// The door for planners: what each registers, and how options are read by their descriptions.
#include "search/planners.hpp"
#include "base/yaml/parse.hpp"
#include "base/yaml/reader.hpp"

#include <doctest/doctest.h>

#include <set>

#include "problem.hpp"
#include "search/problem/search_result.hpp"

namespace {

const std::vector<search::Option> kOptions = {{"count", search::WholeNumber{.least = 1, .most = 9, .by_default = 4}, "how many"},
                                              {"slack", search::RealNumber{.least = 1, .by_default = 1.5}, "how far"},
                                              {"exact", search::Flag{true}, "whether"},
                                              {"kind", search::Choice{{"red", "blue"}, 1}, "which"},
                                              {"budget", search::Duration{base::Seconds(60)}, "how long"},
                                              {"rest", search::WholeNumber{.by_default = 0}, "what else", "what is left"},
                                              {"shares", search::WholeNumbers{.most = 5, .words = {"even"}}, "of each", "as they come"},
                                              {"colours", search::Flags{.words = {"red", "blue"}}, "which"}};

search::OptionValues read(const std::string& map, std::string* problem = nullptr) {
  base::Diagnostics sink;
  const base::Yaml y = base::parse_yaml(map, "o");
  base::MapReader in(y, "plan", sink);
  search::OptionValues values = search::read_options(in, kOptions, {});
  in.finish();
  try {
    sink.throw_if_any();
  } catch (const base::InputError& e) {
    if (problem == nullptr) throw;
    *problem = e.diagnostics()[0].path + ": " + e.diagnostics()[0].message + " / " + e.diagnostics()[0].hint;
  }
  return values;
}

std::string problem(const std::string& map) {
  std::string text;
  (void)read(map, &text);
  return text;
}

}  // namespace

TEST_CASE("options that are not given have their defaults") {
  const search::OptionValues v = read("{}");
  CHECK(v.whole_number("count") == 4);
  CHECK(v.real_number("slack") == 1.5);
  CHECK(v.flag("exact"));
  CHECK(v.choice("kind") == 1);
  CHECK(v.effort("budget").least == base::Seconds(60));
  CHECK_FALSE(v.given("count"));
  CHECK(v == search::OptionValues(kOptions));
}

TEST_CASE("options of every type are read") {
  const search::OptionValues v = read("{count: 9, slack: 2.5, exact: false, kind: red, budget: 2 min, shares: [1, 5]}");
  CHECK(v.whole_number("count") == 9);
  CHECK(v.real_number("slack") == 2.5);
  CHECK_FALSE(v.flag("exact"));
  CHECK(v.choice("kind") == 0);
  CHECK(v.effort("budget").least == base::Seconds(120));
  CHECK(v.whole_numbers("shares").numbers == std::vector<std::int64_t>{1, 5});
  CHECK(v.given("count"));
  CHECK_FALSE(v.given("rest"));
  CHECK(read("{shares: even}").whole_numbers("shares") == search::NumbersOrWord{{}, "even"});
  CHECK(read("{}").whole_numbers("shares") == search::NumbersOrWord{});
  CHECK(read("{colours: {blue: false}}").flags("colours") == search::NamedFlags{{"blue", false}});
  CHECK(read("{}").flags("colours").empty());
}

TEST_CASE("what is wrong with options") {
  CHECK(problem("{count: 10}") == "plan.count: count must be at most 9, found 10 / ");
  CHECK(problem("{rest: 0}") == "plan.rest: rest must be at least 1, found 0 / ");  // the default stands for "not given"
  CHECK(problem("{kind: blu}") == "plan.kind: unknown kind \"blu\" / did you mean \"blue\"?");
  CHECK(problem("{shares: [1, 0]}") == "plan.shares[1]: shares[1] must be at least 1, found 0 / ");
  CHECK(problem("{shares: [6]}") == "plan.shares[0]: shares[0] must be at most 5, found 6 / ");
  CHECK(problem("{shares: odd}") == "plan.shares: expected a list of integers 1 to 5, or `even` / write e.g. [1, 2, 1]");
  CHECK(problem("{shares: []}") == "plan.shares: expected a list of integers 1 to 5, or `even` / write e.g. [1, 2, 1]");
  CHECK(problem("{colours: {bleu: true}}") == "plan.colours: unknown key \"bleu\" / did you mean \"blue\"?");
  CHECK(problem("{colours: red}") == "plan.colours: expected a map, found \"red\" / ");
  CHECK(problem("{cont: 1}") == "plan: unknown key \"cont\" / did you mean \"count\"?");
}

TEST_CASE("a description shows its type and its default") {
  CHECK(search::type_text(kOptions[0]) == "integer 1 to 9");
  CHECK(search::type_text(kOptions[1]) == "number ≥ 1");
  CHECK(search::type_text(kOptions[2]) == "boolean");
  CHECK(search::type_text(kOptions[3]) == "`red` `blue`");
  CHECK(search::type_text(kOptions[4]) == "time");
  CHECK(search::type_text(kOptions[6]) == "list of integers 1 to 5, or `even`");
  CHECK(search::type_text(kOptions[7]) == "map of `red` `blue` to booleans");
  CHECK(search::default_text(kOptions[2]) == "`true`");
  CHECK(search::default_text(kOptions[3]) == "`blue`");
  CHECK(search::default_text(kOptions[4]) == "60 s");
  CHECK(search::default_text(kOptions[5]) == "what is left");
}

TEST_CASE("asking for an option that nobody described is our bug") {
  CHECK_THROWS_AS((void)read("{}").flag("missing"), base::InternalError);
  CHECK_THROWS_AS((void)read("{}").flag("count"), base::InternalError);
}

TEST_CASE("planners have unique names and describe their options") {
  std::set<std::string> names;
  for (const search::Planner& p : search::planners()) {
    CHECK(names.insert(p.name()).second);
    CHECK_FALSE(p.about.empty());
    CHECK(search::find_planner(p.kind, p.form) == &p);
    CHECK(search::find_planner(p.kind) != nullptr);  // every kind has a plain form
    CHECK(p.needs.empty() == p.example.empty());
    for (const search::Option& o : p.options) CHECK_FALSE(o.help.empty());
  }
}

TEST_CASE("every planner answers with its defaults, and says how it ended") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  for (const search::Planner& p : search::planners()) {
    CAPTURE(p.name());
    const search::SearchResult r = p.plan(q.problem(), search::OptionValues(p.options), {});
    REQUIRE(r.termination.has_plan());
    REQUIRE(r.best);
    CHECK(pcg::violations(*r.best).empty());
    if (r.simulation) CHECK(r.simulation->iteration_time == q.oracle.plan(*r.best).iteration_time);
    CHECK(r.objective.has_value() == p.searches);
  }
}

TEST_CASE("where nothing fits a search gives what lacks least memory") {
  const test::Question q(test::kSmallGpt, 1, 2, 4);
  const topology::Cluster tiny = test::switched(1, 2, 0.5);  // the libraries alone need more
  const sim::Oracle oracle(tiny);
  const search::Problem problem{q.model, q.section, tiny, q.training, oracle};
  for (const search::Planner& p : search::planners()) {
    if (p.kind == "auto") continue;  // it asks all the others once more: automatic_test asks it about a few
    CAPTURE(p.name());
    const search::SearchResult r = p.plan(problem, search::OptionValues(p.options), {});
    CHECK(r.best.has_value() == !p.searches);  // a rule has no other plan
    if (r.best) continue;
    REQUIRE(r.closest);
    CHECK(pcg::violations(*r.closest).empty());
    REQUIRE(r.termination.is_infeasible());
    const auto& miss = std::get<search::ClosestMiss>(*r.termination.binding());
    CHECK(r.closest->summary.starts_with(miss.candidate));  // rewrites may be told behind it
    CHECK(miss.memory.needed == oracle.memory(*r.closest).peak);
    CHECK(miss.memory.needed > miss.memory.available);
  }
}

TEST_CASE("a rule that gives no plan is infeasible, with its reason") {
  const test::Question q(test::kSmallGpt, 1, 4, 6);
  const search::Planner& p = *search::find_planner("data-parallel");
  const search::SearchResult r = p.plan(q.problem(), search::OptionValues(p.options), {});
  CHECK_FALSE(r.best);
  REQUIRE(r.termination.is_infeasible());
  CHECK(std::get<search::Refusal>(*r.termination.binding()).constraint == search::Constraint::batch);
  CHECK(search::to_text(r.termination) == "a global batch of 6 does not divide among 4 data-parallel replicas");
}

TEST_CASE("a termination keeps its invariants") {
  using search::Limit;
  using search::Termination;
  CHECK(Termination::optimal().has_plan());
  CHECK_FALSE(Termination::optimal().limit());
  CHECK(Termination::feasible(Limit::time).has_plan());
  CHECK(search::stop_reason(Termination::feasible(Limit::time)) == "time_limit");
  CHECK_FALSE(Termination::nothing_found(Limit::time).has_plan());
  CHECK(search::to_text(Termination::nothing_found(Limit::time)) == "time was up before any plan that fits was found");
  const Termination miss = Termination::infeasible(search::ClosestMiss{"data 8", {base::Bytes(3.0 * (1 << 30)), base::Bytes(1 << 30)}});
  CHECK_FALSE(miss.has_plan());
  CHECK(search::to_text(miss) == "nothing fits into memory: the least is data 8, which needs 3.0 GiB of 1.0 GiB");
  CHECK(Termination::optimal().binding() == nullptr);
}
