// Nothing is lost: outputs that are inputs, standard output that takes no more, disks that are full in the middle, names of plans.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <set>

#include "program.hpp"
#include "reports/html/page.hpp"

namespace {

const std::string kTinyScenario =
    "foreshard: 1\nname: small\nmodel: {builtin: mlp-mnist}\ncluster: {preset: dgx-1v, nodes: 1}\ntraining: {batch_per_gpu: 4}\nplans: ";

// A command that writes over `file`, which it reads, is refused and leaves it as it was.
void check_refused(const Folder& f, const std::string& arguments, const std::string& file) {
  CAPTURE(arguments);
  const std::string before = f.read(file);
  const Outcome o = call(f, arguments);
  CHECK(o.code == 2);
  CHECK(o.out == "");
  CHECK(o.err.find("would overwrite it") != std::string::npos);
  CHECK(f.read(file) == before);
}

Outcome call_shell(const Folder& f, const std::string& command) {
  const int status = std::system(("{ " + command + "; } >" + (f.path / "out").string() + " 2>" + (f.path / "err").string()).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, f.read("out"), f.read("err")};
}

const std::string kProgram = FORESHARD_PROGRAM;

}  // namespace

TEST_CASE("no command writes over what it reads, by whatever name, or what that names") {
  const Folder f;
  const std::string scenario = f.write("s.yaml", kTinyScenario + "[data-parallel]\n");
  const std::string s = "run --quiet " + scenario;
  fs::create_symlink("s.yaml", f.path / "link");
  fs::create_hard_link(scenario, f.path / "hard");
  for (const std::string option : {"--json", "--csv", "--trace"})
    for (const std::string name : {"s.yaml", "link", "hard", "./s.yaml"})
      check_refused(f, s + " " + option + " " + (f.path / name).string(), "s.yaml");

  // A plan that is named, by --json and by the plans that are saved beside it; a model's config.json.
  REQUIRE(call(f, s + " --save-plans " + (f.path / "plans").string()).code == 0);
  const std::string saved = f.write("saved.yaml", kTinyScenario + "[{file: plans/data-parallel.plan.yaml, name: data-parallel}]\n");
  const std::string plan = (f.path / "plans/data-parallel.plan.yaml").string();
  check_refused(f, "run " + saved + " --json " + plan, "plans/data-parallel.plan.yaml");
  check_refused(f, "run " + saved + " --save-plans " + (f.path / "plans").string(), "plans/data-parallel.plan.yaml");
  const std::string config = f.write(
      "config.json",
      R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 128})");
  const std::string of_config =
      f.write("c.yaml",
              "foreshard: 1\nmodel: {huggingface: config.json}\ncluster: {preset: dgx-1v, nodes: 1}\ntraining: {batch_per_gpu: 4}\nplans: "
              "[data-parallel]\n");
  check_refused(f, "run " + of_config + " --json " + config, "config.json");
  check_refused(f, "rules match " + config + " --json " + config, "config.json");

  const std::string trace = f.write("trace.json", kTrace);
  for (const std::string option : {"--output", "--json"}) check_refused(f, "import " + trace + " " + option + " " + trace, "trace.json");

  const std::string table = f.write("t.csv", "cluster,nodes,gpus,kind,bytes,seconds\ndgx-h100,1,8,all_reduce,1e9,0.004\n");
  for (const std::string option : {"--json", "--report", "--write-intervals"})
    check_refused(f, "validate " + table + " " + option + " " + table, "t.csv");
  for (const std::string option : {"--json", "--output"}) {
    check_refused(f, "calibrate " + table + " --network h100-nvswitch " + option + " " + table, "t.csv");
    check_refused(f, "calibrate " + table + " --device h100-sxm-80gb " + option + " " + table, "t.csv");
    check_refused(f, "calibrate " + table + " --framework megatron " + option + " " + table, "t.csv");
  }
  const std::string rules = f.write("rules.yaml", "foreshard: 1\ngenerator: by hand\naxioms: none\nrules: []\ndigest: none\n");
  for (const std::string command : {"verify", "show", "match mlp-mnist --rules"})
    check_refused(f, "rules " + command + " " + rules + " --json " + rules, "rules.yaml");
}

TEST_CASE("a profile that is fitted further may be where the fit goes, and nothing else of it") {
  const Folder f;
  const std::string table = f.write("t.csv", "cluster,nodes,gpus,kind,bytes,seconds\ndgx-h100,1,8,all_reduce,1e9,0.004\n");
  const std::string profile = (f.path / "n.yaml").string(), fit = "calibrate " + table + " --network ";
  REQUIRE(call(f, fit + "h100-nvswitch --output " + profile).code == 0);
  CHECK(call(f, fit + profile + " --output " + profile).code == 0);
  check_refused(f, fit + profile + " --json " + profile, "n.yaml");
}

TEST_CASE("a full standard output is exit 2 and a message for everything that prints; a closed one, too") {
  const Folder f;
  const std::string scenario = f.write("s.yaml", kTinyScenario + "[data-parallel]\n");
  const std::string plans = (f.path / "plans").string();
  for (const std::string& arguments :
       {std::string("--help"), std::string("--version"), std::string("run --help"), std::string("show planners"),
        std::string("show cluster dgx-1v --json"), std::string("rules match mlp-mnist"), "check " + scenario, "run " + scenario,
        "run " + scenario + " --json -", "run " + scenario + " --quiet --csv /dev/stdout", "import " + f.write("trace.json", kTrace)}) {
    CAPTURE(arguments);
    const Outcome full = call_shell(f, kProgram + " " + arguments + " >/dev/full");
    CHECK(full.code == 2);
    CHECK(full.err.find("cannot be written: No space left on device") != std::string::npos);
    CHECK(call_shell(f, kProgram + " " + arguments + " >&-").code == 2);
  }
  // What goes elsewhere is written all the same.
  const std::string json = (f.path / "r.json").string();
  CHECK(call_shell(f, kProgram + " run " + scenario + " --csv - --json " + json + " --save-plans " + plans + " >/dev/full").code == 2);
  CHECK(nlohmann::json::parse(f.read("r.json"))["runs"].size() == 1);
  CHECK(fs::exists(f.path / "plans/data-parallel.plan.yaml"));
  CHECK(call_shell(f, kProgram + " run /nonexistent 2>/dev/full").code == 2);
}

TEST_CASE("a reader that goes away ends the program without a word, and files are written all the same") {
  const Folder f;
  const std::string plans = (f.path / "plans").string();
  const std::string scenario = f.write("s.yaml", kTinyScenario + "[data-parallel]\n");
  const Outcome o = call_shell(
      f, "(" + kProgram + " run " + scenario + " --json - --save-plans " + plans + "; echo $? >" + (f.path / "code").string() + ") | true");
  CHECK(o.err == "");
  CHECK(f.read("code") == std::to_string(128 + 13) + "\n");
  CHECK(fs::exists(f.path / "plans/data-parallel.plan.yaml"));
}

TEST_CASE("an output that cannot be finished leaves what was there") {
  const Folder f;
  const std::string scenario = f.write("s.yaml", kTinyScenario + "[data-parallel]\n");
  for (const std::string option : {"--json", "--trace"}) {
    (void)f.write("r", "before");
    const auto count = [&] { return std::distance(fs::directory_iterator(f.path), fs::directory_iterator()); };
    (void)call(f, "--version");  // makes the files of what is printed
    const auto before = count();
    const Outcome o =
        call_shell(f, "(ulimit -f 1; " + kProgram + " run " + scenario + " --quiet " + option + " " + (f.path / "r").string() + ")");
    CHECK(o.code == 2);
    CHECK(o.err == (f.path / "r").string() + ": cannot be written: it is larger than this process may write (ulimit -f)\n");
    CHECK(f.read("r") == "before");
    CHECK(count() == before);
  }
}

TEST_CASE("every plan has a file of its own that anyone sees, whatever it is called") {
  const Folder f;
  const std::string names[] = {
      ".x", "..", "a b", "a/b", "a-b", "../../up", "日本", "a-b-2", std::string(400, 'l'), std::string(400, 'l') + "2", "-rf", "x"};
  nlohmann::json plans = nlohmann::json::array();
  for (const std::string& name : names) plans.push_back({{"megatron", {{"micro_batch", 1}}}, {"name", name}});
  const std::string scenario = f.write("s.yaml", kTinyScenario + plans.dump() + "\n");
  for (int i = 0; i < 2; ++i) REQUIRE(call(f, "run --quiet " + scenario + " --save-plans " + (f.path / "deep/plans").string()).code == 0);
  std::set<std::string> called;
  for (const auto& entry : fs::recursive_directory_iterator(f.path / "deep")) {
    if (entry.is_directory()) continue;
    const std::string file = entry.path().filename().string();
    CHECK_MESSAGE((file.front() != '.' && file.ends_with(".plan.yaml")), file);
    std::string text = f.read(fs::relative(entry.path(), f.path).string());
    const auto at = text.find("\n  name: ");
    called.insert(text.substr(at, text.find('\n', at + 1) - at));
  }
  CHECK(called.size() == std::size(names));
}
