// foreshard rules as a user calls it, mistakes included.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "program.hpp"

namespace {

using nlohmann::json;

// A small family, generated once.
const std::string& generated() {
  static const std::string text = [] {
    const Folder f;
    const std::string file = (f.path / "rules.yaml").string();
    REQUIRE(call(f, "rules generate --families embedding --operators 2 --quiet --save " + file).code == 0);
    return f.read("rules.yaml");
  }();
  return text;
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("generate: --json - leaves standard output to the program that reads it; each rule is whole") {
  const Folder f;
  const Outcome o = call(f, "rules generate --families embedding --operators 2 --json -");
  CHECK(o.code == 0);
  CHECK(o.err == "");
  const json j = json::parse(o.out);
  CHECK(j["unproved"] == 0);
  CHECK(j["refuted"] == 0);
  REQUIRE(j["rules"].size() > 5);
  for (const json& r : j["rules"]) {
    CHECK(r["proved"] == true);
    CHECK(!r["axioms"].empty());
    CHECK(!r["conditions"].empty());
    CHECK(r["proof_s"].get<double>() > 0);
  }
  CHECK(j["statistics"]["enumerate_s"].get<double>() > 0);
}

TEST_CASE("a saved file is proved again, shown and checked") {
  const Folder f;
  const std::string file = f.write("r.yaml", generated());
  const Outcome verified = call(f, "rules verify " + file + " --json -");
  CHECK(verified.code == 0);
  const json v = json::parse(verified.out);
  CHECK(v["as_written"] == true);
  CHECK(v["proved"].get<int>() > 5);
  CHECK(v["unproved"].get<int>() + v["refuted"].get<int>() == 0);
  CHECK(v["failures"].empty());
  CHECK(call(f, "check " + file).out == std::to_string(v["proved"].get<int>()) + " rules, all proved\n");
  const json shown = json::parse(call(f, "rules show " + file + " --json -").out);
  CHECK(static_cast<int>(shown["rules"].size()) == v["proved"].get<int>());
  json again = json::parse(call(f, "show rules " + file + " --json").out);
  REQUIRE(again["rules"].size() == shown["rules"].size());
  for (std::size_t i = 0; i < again["rules"].size(); ++i) again["rules"][i]["proof_s"] = shown["rules"][i]["proof_s"];  // its own time
  CHECK(again == shown);
  CHECK(call(f, "show rules " + file + " --yaml").out == generated());
  CHECK(call(f, "show rules " + file + " --dot").err == "--dot: rules are not drawn\n       without it they are text\n");
  const std::string name = shown["rules"][0]["name"];
  const Outcome one = call(f, "rules show " + file + " " + name);
  CHECK(one.out.starts_with(name + " ("));
  CHECK(one.out.find("\n  where ") != std::string::npos);
  CHECK(one.out.find("\n  proved in ") != std::string::npos);
  for (const auto& axiom : shown["rules"][0]["axioms"]) CHECK(one.out.find(axiom.get<std::string>() + " ") != std::string::npos);
}

TEST_CASE("verify: a rule that is false is a healthy no, with its place and a counterexample") {
  const Folder f;
  std::string text =
      "foreshard: 1\ngenerator: \"1\"\naxioms: \"\"\nrules:\n  - {name: wrong, kind: algebraic, variables: [\"x: [m, n]\", \"y: [m, n]\"], "
      "source: \"add(x, y)\", target: \"multiply(x, y)\", axioms: []}\ndigest: none\n";
  const std::string file = f.write("r.yaml", text);
  const Outcome o = call(f, "rules verify " + file);
  CHECK(o.code == 1);
  CHECK(o.out.starts_with(file + ":5:5: wrong (algebraic)\n  add(x, y)\n  = multiply(x, y)\n"));
  CHECK(o.out.find("\n  false: x [") != std::string::npos);
  CHECK(o.out.find("0 rules proved (") != std::string::npos);
  // to load it is bad input
  for (const std::string command : {"rules show ", "check "}) {
    const Outcome bad = call(f, command + file);
    CHECK(bad.code == 2);
    CHECK(bad.out == "");
    CHECK(bad.err.starts_with(file + ":5:5: rules[0]: rule wrong is false: x ["));
  }
}

TEST_CASE("a file that was changed says so, and is proved as any other") {
  const Folder f;
  const std::string file = f.write("r.yaml", replaced(generated(), "axioms: [", "axioms: [linear.partition_rows, "));
  CHECK(call(f, "rules verify " + file).out.starts_with("of the file: it was changed after it was written\n"));
  CHECK(call(f, "check " + file).out.find(" rules, all proved; of the file: it was changed after it was written\n") != std::string::npos);
  CHECK(call(f, "rules show " + file).out.find("linear.partition_rows") == std::string::npos);
}

TEST_CASE("an axiom that does not exist is bad input") {
  const Folder f;
  const std::string file = f.write("r.yaml", replaced(generated(), "axioms: [", "axioms: [made.up.by.hand, "));
  for (const std::string command : {"rules verify ", "rules show ", "check "}) {
    const Outcome o = call(f, command + file);
    CHECK(o.code == 2);
    CHECK(o.err.find("rules[0].axioms: there is no axiom \"made.up.by.hand\"") != std::string::npos);
  }
}

TEST_CASE("generate: the same options give the same file, byte for byte, on any number of processes") {
  const Folder f;
  const std::string file = (f.path / "again.yaml").string();
  REQUIRE(call(f, "rules generate --families embedding --operators 2 --quiet --processes 1 --save " + file).code == 0);
  CHECK(f.read("again.yaml") == generated());
}

TEST_CASE("mistakes are named with their cure, before any work") {
  const Folder f;
  const std::string file = f.write("r.yaml", generated());
  const auto error = [&](const std::string& arguments) {
    const Outcome o = call(f, arguments);
    CHECK_MESSAGE(o.code == 2, arguments);
    CHECK(o.out == "");
    return o.err;
  };
  CHECK(error("rules") == "foreshard rules: a command is missing\n       one of: generate, verify, axioms, show, match\n");
  CHECK(error("rules generat") == "foreshard rules: there is no command \"generat\"\n       did you mean \"generate\"?\n");
  CHECK(error("rules generate --familie matrix") ==
        "foreshard rules generate: there is no option \"--familie\"\n       did you mean \"--families\"?\n");
  CHECK(error("rules generate --families matrx") == "--families: \"matrx\" is no family\n       did you mean \"matrix\"?\n");
  // CLI11 writes the range as "1 to 4", and since 2.4 as "[1 - 4]".
  CHECK(error("rules generate --processes 0").starts_with("foreshard rules generate: --processes cannot be \"0\""));
  CHECK(error("rules generate --operators 9").starts_with("foreshard rules generate: --operators cannot be \"9\""));
  CHECK(error("rules generate --save /nonexistent/r.yaml") == "--save: there is no folder /nonexistent\n       make it first\n");
  CHECK(error("rules generate --json " + f.path.string()) == "--json: " + f.path.string() + " is a folder\n       name a file\n");
  CHECK(error("rules generate --json - --save -") ==
        "--save: --json writes to standard output too\n       choose another file for one of them\n");
  CHECK(error("rules generate --save r.yaml --json ./r.yaml") ==
        "--save: --json writes to r.yaml too\n       choose another file for one of them\n");
  CHECK(error("rules verify /nonexistent.yaml") == "/nonexistent.yaml: cannot be read: No such file or directory\n");
  CHECK(error("rules show " + file + " h999").starts_with(file + ": there is no rule \"h999\"\n"));
  CHECK(error("rules show " + file + " nothinglikeit") ==
        file + ": there is no rule \"nothinglikeit\"\n       without a name all rules are shown\n");
  CHECK(error("rules verify " + f.write("empty.yaml", "")).starts_with((f.path / "empty.yaml").string()));
  CHECK(error("rules verify " + f.write("junk.yaml", std::string("\x01\x00\xfe", 3))).find("not text in UTF-8") != std::string::npos);
}

TEST_CASE("a file of nothing but brackets is refused at once, by every command that reads it") {
  const Folder f;
  const std::string file = f.write("r.yaml", std::string(1'000'000, '['));
  for (const std::string command : {"rules verify ", "rules show ", "rules match mlp --rules ", "check "}) {
    const Outcome o = call(f, command + file);
    CHECK(o.code == 2);
    CHECK(o.out == "");
    CHECK(o.err.starts_with(file + ":1:101: lists and maps inside each other, more than 100 deep\n"));
  }
}
