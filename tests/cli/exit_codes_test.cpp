// What every command prints where, and how it ends.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "program.hpp"

namespace {

const std::string kScenario =
    "foreshard: 1\nname: small\nmodel: {builtin: mlp-mnist}\ncluster: {preset: dgx-1v, nodes: 1}\ntraining: {batch_per_gpu: 4}\nplans: "
    "[data-parallel]\n";

}  // namespace

TEST_CASE("an answer: exit 0, the table on standard output, nothing on standard error") {
  const Folder f;
  const Outcome o = call(f, "run " + f.write("s.yaml", kScenario));
  CHECK(o.code == 0);
  CHECK(o.err == "");
  CHECK(o.out.starts_with("small\n"));
  CHECK(o.out.find("data-parallel") != std::string::npos);
}

TEST_CASE("--json - leaves standard output to the program that reads it; --quiet says nothing") {
  const Folder f;
  const std::string file = f.write("s.yaml", kScenario);
  const Outcome json = call(f, "run " + file + " --json -");
  CHECK(json.code == 0);
  CHECK(nlohmann::json::parse(json.out)["runs"].size() == 1);
  const Outcome quiet =
      call(f, "run --quiet " + file + " --csv " + (f.path / "r.csv").string() + " --trace " + (f.path / "t.json").string());
  CHECK(quiet.out == "");
  CHECK(f.read("r.csv").starts_with("scenario,variant,plan"));
  CHECK(nlohmann::json::parse(f.read("t.json"))["traceEvents"].size() > 10);
}

TEST_CASE("plans are saved, shown and checked") {
  const Folder f;
  CHECK(call(f, "run --quiet " + f.write("s.yaml", kScenario) + " --save-plans " + (f.path / "plans").string()).code == 0);
  const std::string plan = (f.path / "plans" / "data-parallel.plan.yaml").string();
  REQUIRE(fs::exists(plan));
  const Outcome check = call(f, "check " + plan);
  CHECK(check.code == 0);
  CHECK(check.out.starts_with("equivalent"));
  CHECK(call(f, "show plan " + plan).out.starts_with("data-parallel: data 8\n"));
  CHECK(call(f, "show plan " + plan + " --yaml").out == f.read("plans/data-parallel.plan.yaml"));
  CHECK(call(f, "show plan " + plan + " --dot").out.starts_with("digraph"));
}

TEST_CASE("a healthy no: exit 1 when nothing fits") {
  const Folder f;
  const std::string text =
      "foreshard: 1\nmodel: {builtin: mlp-mnist}\ncluster: {preset: dgx-1v, nodes: 1}\ntraining: {batch_per_gpu: 4}\nplans: [megatron: "
      "{tensor: 3}]\n";
  CHECK(call(f, "run " + f.write("s.yaml", text)).code == 1);
}

TEST_CASE("bad input: exit 2 and the place, on standard error") {
  const Folder f;
  std::string text = kScenario;
  const Outcome o = call(f, "run " + f.write("s.yaml", text.replace(text.find("nodes"), 5, "nodez")));
  CHECK(o.code == 2);
  CHECK(o.out == "");
  CHECK(o.err.find("s.yaml:4:27: cluster: unknown key \"nodez\"") != std::string::npos);
  CHECK(o.err.find("did you mean \"nodes\"?") != std::string::npos);
  for (const char* arguments : {"run /nonexistent.yaml", "check /nonexistent.yaml", "show model bert-lage", "show cluster sumit",
                                "show plan /nonexistent", "run", "fly", "show", "rules verify", "import x.json", "run --jobs 0 x.yaml"}) {
    CAPTURE(arguments);
    const Outcome bad = call(f, arguments);
    CHECK(bad.code == 2);
    CHECK(bad.err != "");
    CHECK(bad.err.find("internal error") == std::string::npos);
  }
  const Outcome nowhere = call(f, "run " + f.write("s.yaml", kScenario) + " --json /nonexistent/r.json");
  CHECK(nowhere.code == 2);
  CHECK(nowhere.err == "--json: there is no folder /nonexistent\n       make it first\n");  // before the work
}

TEST_CASE("help and version are answers") {
  const Folder f;
  CHECK(call(f, "--help").code == 0);
  CHECK(call(f, "run --help").out.find("--save-plans") != std::string::npos);
  CHECK(call(f, "--version").out == "0.1.0\n");
}

TEST_CASE("what is shown can be read again") {
  const Folder f;
  const std::string cluster = call(f, "show cluster dgx-a100-80gb --yaml").out;
  CHECK(call(f, "show cluster " + f.write("c.yaml", cluster) + " --json").out == call(f, "show cluster dgx-a100-80gb --json").out);
  const std::string model = call(f, "show model mlp-mnist --yaml").out;
  CHECK(call(f, "show model " + f.write("m.yaml", model) + " --json").out == call(f, "show model mlp-mnist --json").out);
  CHECK(call(f, "check " + f.write("c.yaml", cluster)).code == 0);
  CHECK(call(f, "check " + f.write("s.yaml", kScenario)).out == "scenario small: 1 plans, 0 what-ifs\n");
}

TEST_CASE("misspelt words are told with the nearest that is known") {
  const Folder f;
  CHECK(call(f, "fly").err ==
        "foreshard: there is no command \"fly\"\n       one of: run, show, check, validate, import, calibrate, rules\n");
  CHECK(call(f, "shwo model x").err == "foreshard: there is no command \"shwo\"\n       did you mean \"show\"?\n");
  CHECK(call(f, "show").err == "foreshard show: a command is missing\n       one of: model, cluster, plan, rules\n");
  CHECK(call(f, "run x.yaml --jsn -").err == "foreshard run: there is no option \"--jsn\"\n       did you mean \"--json\"?\n");
  CHECK(call(f, "-x").err == "foreshard: there is no option \"-x\"\n       one of: --help, --version\n");
  CHECK(call(f, "run x.yaml -json -").err == "foreshard run: there is no option \"-json\"\n       did you mean \"--json\"?\n");
}

TEST_CASE("what stands behind --, or is an option's value, is no option and no command") {
  const Folder f;
  CHECK(call(f, "check -- a b").err.find("not expected: b") != std::string::npos);
  CHECK(call(f, "check -- --a").err.starts_with("--a: "));
  CHECK(call(f, "show -- model").err.starts_with("foreshard show: a command is missing\n"));
  CHECK(call(f, "run x.yaml --jobs -5").err.starts_with("--jobs: Value -5 not in range 1 to 1024\n"));
}
