// foreshard rules match as a user calls it: which rules occur where in a model or a plan.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "program.hpp"

namespace {

using Answer = nlohmann::json;

// fuse occurs in no model whose linears have their functions built in, apart does.
const std::string kTwoRules =
    "foreshard: 1\ngenerator: by hand\naxioms: none\nrules:\n"
    "  - {name: fuse, kind: algebraic, variables: [\"x: [m, k]\", \"w: [k, n]\"], source: \"relu(linear(x, w))\", target: "
    "\"linear[relu](x, "
    "w)\", axioms: []}\n"
    "  - {name: apart, kind: algebraic, variables: [\"x: [m, k]\", \"w: [k, n]\"], source: \"linear[relu](x, w)\", target: "
    "\"relu(linear(x, w))\", axioms: []}\n"
    "  - {name: turn, kind: algebraic, variables: [\"x: [m, k]\", \"y: [m, k]\"], source: \"add(x, y)\", target: \"add(y, x)\", axioms: "
    "[]}\n"
    "  - {name: whole, kind: parallel, variables: [\"x: [m, k] sum d\"], source: \"replicate[d](reduce[d](x))\", target: "
    "\"replicate[d](reduce[d](x))\", axioms: []}\n"
    "digest: none\n";

}  // namespace

TEST_CASE("match: rules that occur, most occurrences first, with the operators of the first, and totals") {
  const Folder f;
  const std::string rules = f.write("r.yaml", kTwoRules);
  const Outcome o = call(f, "rules match mlp --rules " + rules);
  CHECK(o.code == 0);
  CHECK(o.err == "");
  // mlp has two towers of eight products, the first seven of each with relu, whose sum is the result; the loss is in no rule.
  CHECK(o.out ==
        "apart (algebraic): 14 occurrences\n"
        "  linear[relu](x, w)\n"
        "  = relu(linear(x, w))\n"
        "  of x: [m, k], w: [k, n]\n"
        "  at tower0.layer0\n"
        "     tower1.layer0\n"
        "     tower0.layer1\n"
        "     and 11 more\n"
        "turn (algebraic): 2 occurrences at 1 place\n"
        "  add(x, y)\n"
        "  = add(y, x)\n"
        "  of x: [m, k], y: [m, k]\n"
        "  at sum\n"
        "2 of 4 rules occur in mlp, 16 times; 3 of its 18 operators are in no occurrence: 1 cross_entropy, 2 linear\n");
}

TEST_CASE("match --json: all occurrences, whole, and nothing else on standard output") {
  const Folder f;
  const Outcome o = call(f, "rules match mlp --rules " + f.write("r.yaml", kTwoRules) + " --json -");
  CHECK(o.code == 0);
  const Answer j = Answer::parse(o.out);
  CHECK(j["graph"] == "mlp");
  CHECK(j["totals"] == Answer{{"rules", 4}, {"occurring", 2}, {"occurrences", 16}, {"operators", 18}, {"untouched", 3}});
  REQUIRE(j["rules"].size() == 2);
  CHECK(j["rules"][0]["name"] == "apart");
  REQUIRE(j["rules"][0]["occurrences"].size() == 14);
  const Answer& first = j["rules"][0]["occurrences"][0];
  CHECK(first["operators"] == Answer::array({"tower0.layer0"}));
  CHECK(first["variables"]["x"] == Answer{{"operator", "features0"}, {"output", 0}});
  CHECK(first["variables"]["w"]["operator"] == "tower0.layer0.weight");
  CHECK(first["sizes"] == Answer{{"m", 1}, {"k", 1024}, {"n", 8192}});
  CHECK(j["rules"][1]["count"] == 2);
  CHECK(j["rules"][1]["places"] == 1);
  CHECK(j["untouched"][0] == Answer{{"name", "tower0.layer7"}, {"kind", "linear"}});
}

TEST_CASE("match --plan: the graph of the plan, its parallel operators among the operators") {
  const Folder f;
  const std::string scenario = f.write("s.yaml",
                                       "foreshard: 1\nname: small\nmodel: {builtin: mlp-mnist}\ncluster: {preset: dgx-1v, nodes: 1}\n"
                                       "training: {batch_per_gpu: 4}\nplans: [data-parallel]\n");
  REQUIRE(call(f, "run --quiet " + scenario + " --save-plans " + f.path.string()).code == 0);
  const std::string plan = (f.path / "data-parallel.plan.yaml").string();
  const Answer model = Answer::parse(call(f, "rules match mlp-mnist --rules " + f.write("r.yaml", kTwoRules) + " --json -").out);
  const Answer j = Answer::parse(call(f, "rules match --plan " + plan + " --rules " + (f.path / "r.yaml").string() + " --json -").out);
  CHECK(j["rules"].size() == model["rules"].size());
  CHECK(j["totals"]["operators"].get<int>() > model["totals"]["operators"].get<int>());
  CHECK(j["totals"]["occurrences"] == model["totals"]["occurrences"]);
  bool replicates = false;  // weights are copied, of which no rule of the file speaks
  for (const Answer& n : j["untouched"]) replicates = replicates || n["kind"] == "replicate";
  CHECK(replicates);
}

TEST_CASE("match without --rules asks the rules that ship, families alone are generated") {
  const Folder f;
  const Outcome o = call(f, "rules match dlrm --families embedding --operators 2 --json -");
  CHECK(o.code == 0);
  const Answer j = Answer::parse(o.out);
  const Answer all = Answer::parse(call(f, "rules match dlrm --json -").out);
  CHECK(j["totals"]["rules"].get<int>() > 2);
  CHECK(all["totals"]["rules"].get<int>() > 10 * j["totals"]["rules"].get<int>());
  REQUIRE(!j["rules"].empty());
  CHECK(j["rules"][0]["source"].get<std::string>().find("embedding") == 0);
}

TEST_CASE("match: mistakes are named with their cure") {
  const Folder f;
  const auto error = [&](const std::string& arguments) {
    const Outcome o = call(f, "rules match " + arguments);
    CHECK_MESSAGE(o.code == 2, arguments);
    CHECK(o.out == "");
    return o.err;
  };
  CHECK(error("") == "rules match: a model is missing\n       a builtin's name, a model file, or --plan FILE\n");
  CHECK(error("mpl") == "\"mpl\" is neither a builtin model nor a file\n       did you mean \"mlp\"?\n");
  CHECK(error("mlp --plan p.yaml").find("excludes --plan") != std::string::npos);
  CHECK(error("--plan /nonexistent.yaml") == "/nonexistent.yaml: cannot be read: No such file or directory\n");
  CHECK(error("mlp --rules /nonexistent.yaml") == "/nonexistent.yaml: cannot be read: No such file or directory\n");
  CHECK(error("mlp --families matrx") == "--families: \"matrx\" is no family\n       did you mean \"matrix\"?\n");
  CHECK(error("mlp --rules r.yaml --operators 2").find("--rules excludes --operators") != std::string::npos);
}
