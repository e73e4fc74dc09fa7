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
  CHECK(f.read("r.csv").starts_with("kind,scenario,model,"));
  CHECK(nlohmann::json::parse(call(f, "run --quiet --format json " + file).out)["runs"].size() == 1);
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
  const Outcome same = call(f, "show plan " + plan + " " + plan);
  CHECK(same.out.starts_with("first   data-parallel: data 8\nsecond  data-parallel: data 8\n"));
  CHECK(call(f, "show plan " + plan + " " + plan + " --json").out.find("\"settings\": []") != std::string::npos);
  CHECK(call(f, "show plan " + plan + " " + plan + " --yaml").code == 2);
  CHECK(call(f, "show planners fsdp").out.starts_with("fsdp\n"));
  CHECK(call(f, "show planners megatron --json").out.find("\"planner\": \"megatron: search\"") != std::string::npos);
}

TEST_CASE("a limit is no verdict: exit 4 when a search ends before it has found what fits") {
  const Folder f;
  const std::string text =
      "foreshard: 1\nmodel: {builtin: gpt3-15b}\ncluster: {preset: dgx-1v, nodes: 1}\ntraining: {global_batch: 8, precision: fp16}\n"
      "plans: [{megatron: {search: true, candidates: 1}}]\n";
  const Outcome o = call(f, "run --quiet " + f.write("s.yaml", text) + " --json -");
  CHECK(o.code == 4);
  CHECK(nlohmann::json::parse(o.out)["runs"][0]["status"] == "time_limit");
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
  for (const char* arguments :
       {"run /nonexistent.yaml", "check /nonexistent.yaml", "show model bert-lage", "show cluster sumit", "show plan /nonexistent",
        "show planners megatrn", "run", "fly", "show", "rules verify", "import x.json", "run --jobs 0 x.yaml"}) {
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

TEST_CASE("help is an answer") {
  const Folder f;
  CHECK(call(f, "--help").code == 0);
  CHECK(call(f, "run --help").out.find("--save-plans") != std::string::npos);
}

TEST_CASE("what is shown can be read again") {
  const Folder f;
  const std::string cluster = call(f, "show cluster dgx-a100-80gb --yaml").out;
  CHECK(call(f, "show cluster " + f.write("c.yaml", cluster) + " --json").out == call(f, "show cluster dgx-a100-80gb --json").out);
  const std::string model = call(f, "show model mlp-mnist --yaml").out;
  CHECK(call(f, "show model " + f.write("m.yaml", model) + " --json").out == call(f, "show model mlp-mnist --json").out);
  CHECK(call(f, "check " + f.write("c.yaml", cluster)).code == 0);
  CHECK(call(f, "check " + f.write("c7.yaml", "foreshard: 7\ncluster: {preset: dgx-2, nodes: 1}\n")).err.find("format 7 is not known") !=
        std::string::npos);
  CHECK(call(f, "check " + f.write("s.yaml", kScenario)).out == "scenario small: 1 plan, 0 what-ifs\n");
}

TEST_CASE("misspelt words are told with the nearest that is known") {
  const Folder f;
  CHECK(call(f, "fly").err ==
        "foreshard: there is no command \"fly\"\n       one of: run, ask, diff, compare, show, check, validate, import, calibrate, rules, "
        "init, "
        "schema, completion, help, "
        "man\n");
  CHECK(call(f, "shwo model x").err == "foreshard: there is no command \"shwo\"\n       did you mean \"show\"?\n");
  CHECK(call(f, "show").err ==
        "foreshard show: a command is missing\n       one of: model, cluster, device, network, framework, plan, rules, planners\n");
  CHECK(call(f, "run x.yaml --jsn -").err == "foreshard run: there is no option \"--jsn\"\n       did you mean \"--json\"?\n");
  CHECK(call(f, "-x").err == "foreshard: there is no option \"-x\"\n       one of: --help, --version\n");
  CHECK(call(f, "ask --model x").err == "foreshard ask: there is no option \"--model\"\n       write its value without the name\n");
  CHECK(call(f, "run x.yaml --seed -1").err.find("--seed cannot be \"-1\"") != std::string::npos);
  CHECK(call(f, "run x.yaml -json -").err == "foreshard run: there is no option \"-json\"\n       did you mean \"--json\"?\n");
}

TEST_CASE("what stands behind --, or is an option's value, is no option and no command") {
  const Folder f;
  CHECK(call(f, "show model -- a b").err.find("not expected: b") != std::string::npos);
  CHECK(call(f, "check -- --a").err.starts_with("--a: "));
  CHECK(call(f, "show -- model").err.starts_with("foreshard show: a command is missing\n"));
  CHECK(call(f, "run x.yaml --jobs -5").err.starts_with("foreshard run: --jobs cannot be \"-5\""));
}

TEST_CASE("where answers go is tried before the work") {
  const Folder f;
  const std::string scenario = f.write("s.yaml", kScenario), plain = f.write("plain", "");
  const auto error = [&](const std::string& arguments) {
    const Outcome o = call(f, arguments);
    CHECK_MESSAGE(o.code == 2, arguments);
    CHECK(o.out == "");
    return o.err;
  };
  const std::string no_folder = "there is no folder /nonexistent\n       make it first\n";
  for (const std::string option : {"--json", "--csv", "--trace", "--report"})
    CHECK(error("run " + scenario + " " + option + " /nonexistent/r") == option + ": " + no_folder);
  for (const std::string& folder : {plain, plain + "/plans", plain + "/plans/deep/"})
    CHECK(error("run " + scenario + " --save-plans " + folder) == "--save-plans: " + plain + " is no folder\n       name a folder\n");
  // what is read is not there either: where answers go comes first
  for (const std::string option : {"--json", "--report", "--write-intervals"})
    CHECK(error("validate nothing.csv " + option + " /nonexistent/r") == option + ": " + no_folder);
  for (const std::string command : {"import nothing", "calibrate nothing --device h100-sxm", "calibrate nothing --network nvlink",
                                    "calibrate nothing --framework megatron"})
    for (const std::string option : {"--json", "--output"})
      CHECK(error(command + " " + option + " /nonexistent/r") == option + ": " + no_folder);
  const std::string long_name = (f.path / std::string(300, 'a')).string();
  CHECK(error("run " + scenario + " --json " + long_name) == "--json: " + long_name + " cannot be written: File name too long\n");
  CHECK(error("run " + scenario + " --save-plans " + long_name) ==
        "--save-plans: " + long_name + " cannot be written: File name too long\n");
}

TEST_CASE("two answers do not go to one file, however it is written") {
  const Folder f;
  const std::string scenario = f.write("s.yaml", kScenario), file = (f.path / "r").string();
  const auto error = [&](const std::string& json, const std::string& csv) {
    return call(f, "run --quiet " + scenario + " --json " + json + " --csv " + csv).err;
  };
  const auto refused = [](const std::string& csv) {
    return "--csv: --json writes to " + csv + " too\n       choose another file for one of them\n";
  };
  fs::create_directory_symlink(f.path, f.path / "link");
  const std::string dotted = (f.path / "." / "r").string(), linked = (f.path / "link" / "r").string();
  for (const std::string& other : {file, dotted, linked}) CHECK(error(file, other) == refused(other));
  CHECK(error("r", "./r") == refused("./r"));
  CHECK(error("-", "-") == refused("standard output"));
  CHECK(!fs::exists(file));
  CHECK(error("/dev/null", "/dev/null") == "");
}

TEST_CASE("import: where the second table goes is tried before the first is written") {
  const Folder f;
  const std::string measured = f.write("trace.json", kTrace) + " --device h100-sxm-80gb --cluster dgx-h100";
  const fs::path first = f.path / "m.csv", second = f.path / "m-collectives.csv";
  fs::create_directory(second);
  const Outcome o = call(f, "import " + measured + " --output " + first.string());
  CHECK(o.code == 2);
  CHECK(o.err.ends_with("--output: " + second.string() + " is a folder\n       name a file\n"));
  CHECK(!fs::exists(first));
  fs::remove(second);
  CHECK(call(f, "import " + measured + " --output " + first.string()).code == 0);
  CHECK(fs::exists(first));
  CHECK(fs::exists(second));
}

TEST_CASE("what the file system refuses is bad input, not a bug") {
  const Folder f;
  const Outcome o = call(f, "show cluster " + std::string(300, 'a'));
  CHECK(o.code == 2);
  CHECK(o.err.find("is neither a preset nor a file") != std::string::npos);
  CHECK(o.err.find("internal error") == std::string::npos);
}

TEST_CASE("an answer that cannot be written is no answer") {
  const Folder f;
  for (const char* form : {"--json", "--yaml", ""}) {
    const std::string command =
        std::string(FORESHARD_PROGRAM) + " show cluster dgx-1v " + form + " >/dev/full 2>" + (f.path / "err").string();
    const int status = std::system(command.c_str());
    CHECK(WEXITSTATUS(status) == 2);
    CHECK(f.read("err").find("standard output: cannot be written: No space left on device") != std::string::npos);
  }
}

TEST_CASE("calibrate --network tells its errors as JSON, and nothing else on standard output then") {
  const Folder f;
  const std::string table = f.write("t.csv", "cluster,nodes,gpus,kind,bytes,seconds\ndgx-h100,1,8,all_reduce,1e9,0.004\n");
  const Outcome o = call(f, "calibrate " + table + " --network h100-nvswitch --json -");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  const nlohmann::json errors = nlohmann::json::parse(o.out);
  CHECK(errors["from_1_mb"]["rows"] == 1);
  CHECK(errors["from_1_mb"]["error"] < 1);
  CHECK(errors["below_1_mb"]["rows"] == 0);
}

TEST_CASE("calibrate --network goes on from what is at the output, comments included, and overwrites no other profile") {
  const Folder f;
  const std::string table = f.write("t.csv", "cluster,nodes,gpus,kind,bytes,seconds\ndgx-h100,1,8,all_reduce,1e9,0.004\n");
  const std::string output = (f.path / "n.yaml").string(), fit = "calibrate " + table + " --output " + output + " --network ";
  REQUIRE(call(f, fit + "h100-nvswitch").code == 0);
  const std::string mine = "# Of our rack.\n" + f.read("n.yaml");
  (void)f.write("n.yaml", mine);
  REQUIRE(call(f, fit + "h100-nvswitch").code == 0);
  CHECK(f.read("n.yaml").starts_with("# Of our rack.\n"));
  const std::string kept = f.read("n.yaml");
  const Outcome misspelt = call(f, fit + "h100-nvswich");
  CHECK(misspelt.code == 2);
  CHECK(misspelt.err.find("did you mean \"h100-nvswitch\"?") != std::string::npos);
  const Outcome other = call(f, fit + "a100-nvswitch");
  CHECK(other.code == 2);
  CHECK(other.err.find("holds the network profile h100-nvswitch") != std::string::npos);
  CHECK(f.read("n.yaml") == kept);
}
