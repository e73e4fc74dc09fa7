// What a first-time user types: lists of what ships, a scenario to start from, standard input, several files, completion.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace {

const std::string kModest =
    "foreshard: 1\nname: modest\nmodel: {builtin: mlp-mnist}\ncluster: {preset: dgx-1v, nodes: 1}\ntraining: {batch_per_gpu: 4}\n"
    "plans: [data-parallel]\n";

}  // namespace

TEST_CASE("show without a name lists what ships, and every name that it lists is shown") {
  const Folder f;
  for (const std::string kind : {"cluster", "model", "device", "network", "framework"}) {
    const Outcome list = call(f, "show " + kind);
    CHECK(list.code == 0);
    CHECK(list.out.starts_with("name"));
    const auto json = nlohmann::json::parse(call(f, "show " + kind + " --json").out);
    REQUIRE(!json.empty());
    std::size_t entries = 0;  // what is about one may take several lines
    for (std::size_t line = 0; line < list.out.size(); line = list.out.find('\n', line) + 1) entries += list.out[line] != ' ' ? 1U : 0U;
    CHECK(entries == json.size() + 1);
    for (const auto& item : {json.front(), json.back()}) {
      CHECK(!item["about"].get<std::string>().empty());
      CHECK(call(f, "show " + kind + " " + item["name"].get<std::string>()).code == 0);
    }
  }
  CHECK(call(f, "show device a100-sxm-80gb").out.find("name: a100-sxm-80gb") != std::string::npos);
  CHECK(call(f, "show framework megatrn").err.find("did you mean \"megatron\"?") != std::string::npos);
}

TEST_CASE("what calibrate wrote is used without a build, from any folder, and kept answers are asked again when it changes") {
  const Folder f;
  std::string rows = "device,precision,kind,batch,m,n,k,flops,bytes,seconds\n";
  for (int i = 1; i <= 40; ++i)  // 100 GB/s, a ninth of what the chip has
    rows += "v100-sxm2-16gb,fp32,elementwise,0,0,0,0,0," + std::to_string(i) + "e7," + std::to_string(i) + "e-4\n";
  const std::string table = f.write("t.csv", rows), profile = (f.path / "ours.yaml").string();
  const Outcome fit = call(f, "calibrate " + table + " --device v100-sxm2-16gb --quiet --output " + profile);
  REQUIRE(fit.code == 0);
  CHECK(fit.out.empty());
  // It goes on from a file, too, which keeps its name.
  REQUIRE(call(f, "calibrate " + table + " --device " + profile + " --output " + profile).code == 0);
  CHECK(f.read("ours.yaml").find("name: v100-sxm2-16gb\n") != std::string::npos);
  CHECK(f.read("ours.yaml").find("calibrate --device ours.yaml") != std::string::npos);

  const auto written = [&](const std::string& gpus) {
    std::string text = kModest;
    return text.replace(text.find("nodes: 1"), 8, "nodes: 1, node.gpus." + gpus);
  };
  const std::string scenario = f.write("s.yaml", written("file: ours.yaml")), json = (f.path / "r.json").string();
  const auto time_of = [&](const std::string& arguments) {
    const Outcome o = call(f, "run " + arguments + " --quiet --json " + json);
    CAPTURE(o.err);
    REQUIRE(o.code == 0);
    return nlohmann::json::parse(f.read("r.json"))["runs"][0]["iteration_time_s"].get<double>();
  };
  const double shipped = time_of(f.write("shipped.yaml", written("type: v100-sxm2-16gb"))), ours = time_of(scenario);
  CHECK(ours != shipped);  // a little: the model is small
  CHECK(time_of(scenario + " --jobs 2") == ours);
  const std::string kept = " --resume " + (f.path / "kept").string();
  CHECK(time_of(scenario + kept) == ours);
  (void)f.write("ours.yaml", call(f, "show device v100-sxm2-16gb").out);
  CHECK(time_of(scenario + kept) == shipped);

  CHECK(call(f, "show cluster " + scenario).out.find("8 v100-sxm2-16gb (ours.yaml)") != std::string::npos);
  CHECK(call(f, "run " + scenario + " --json " + profile).err.find("is read, and --json would overwrite it") != std::string::npos);
  CHECK(f.read("ours.yaml").starts_with("#"));
}

TEST_CASE("quiet imports write files and say nothing") {
  const Folder f;
  const std::string output = (f.path / "c.yaml").string();
  CHECK(call(f, "import " SOURCE_DIRECTORY "/scenarios/files/hgx-h100-topo.txt --gpu h100 --output " + output).code == 2);
  const Outcome o = call(f, "import " SOURCE_DIRECTORY "/scenarios/files/hgx-h100-topo.txt --gpu h100-sxm-80gb --quiet --output " + output);
  CHECK(o.code == 0);
  CHECK(o.out.empty());
  CHECK(f.read("c.yaml").find("h100-sxm-80gb") != std::string::npos);
}

TEST_CASE("a scenario that asks what to buy alone is answered, and has nothing for a trace") {
  const Folder f;
  const std::string scenario =
      f.write("s.yaml",
              "foreshard: 1\nname: buy\nmodel: {builtin: mlp-mnist}\ntraining: {batch_per_gpu: 4}\n"
              "capacity: {train: {samples: 1e9}, candidates: [{cluster: {preset: dgx-1v}, nodes: [1, 2], price: 8 USD/node/h}]}\n");
  const Outcome o = call(f, "run " + scenario);
  CHECK(o.code == 0);
  CHECK(o.out.starts_with("buy\nmlp-mnist ("));
  CHECK(o.out.find("\n\ncapacity ") != std::string::npos);
  CHECK(o.out.find("best: ") == std::string::npos);
  const Outcome trace = call(f, "run " + scenario + " --trace " + (f.path / "x.json").string());
  CHECK(trace.code == 2);
  CHECK(trace.err.find("--trace: the scenario asks what to buy, and has no plans of its own") != std::string::npos);
  CHECK(call(f, "run " + scenario + " --csv -").out.find("\ncapacity,buy,mlp-mnist,") != std::string::npos);
  CHECK(call(f, "check " + scenario).out.find("2 machines to buy or rent") != std::string::npos);
}

TEST_CASE("init writes a scenario that runs, and never over a file") {
  const Folder f;
  const std::string file = (f.path / "mine.yaml").string();
  CHECK(call(f, "init " + file + " --model mlp-mnist --cluster dgx-1v --nodes 1").code == 0);
  const std::string written = f.read("mine.yaml");
  CHECK(written.find("# ") != std::string::npos);
  CHECK(call(f, "check " + file).code == 0);
  CHECK(call(f, "run --quiet " + file).code == 0);
  const Outcome again = call(f, "init " + file);
  CHECK(again.code == 2);
  CHECK(again.err.find("the file is there already") != std::string::npos);
  CHECK(f.read("mine.yaml") == written);
  CHECK(call(f, "init - --cluster dgx-1").err.find("did you mean \"dgx-1v\"?") != std::string::npos);
  CHECK(call(f, "init - --model gpt3-1.3b --cluster dgx-a100-80gb").out.find("model: {builtin: gpt3-1.3b}") != std::string::npos);
}

TEST_CASE("- is standard input") {
  const Folder f;
  const std::string from = " <" + f.write("s.yaml", kModest);
  CHECK(call(f, "run - --json -" + from).out.find("\"scenario\": \"modest\"") != std::string::npos);
  CHECK(call(f, "check -" + from).out == "scenario modest: 1 plan, 0 what-ifs\n");
  CHECK(call(f, "show model -" + from).out.starts_with("mlp-mnist: "));
  CHECK(call(f, "show cluster -" + from).code == 0);
  CHECK(call(f, "show cluster - --yaml" + from).out.find("cluster:") != std::string::npos);
  const Outcome wrong = call(f, "run - <" + f.write("w.yaml", "foreshard: 1\nplan: x\n"));
  CHECK(wrong.code == 2);
  CHECK(wrong.err.starts_with("standard input:"));
}

TEST_CASE("check looks at every file") {
  const Folder f;
  const std::string good = f.write("good.yaml", kModest), bad = f.write("bad.yaml", "foreshard: 1\nplans: 3\n");
  const Outcome both = call(f, "check " + bad + " " + good);
  CHECK(both.code == 2);
  CHECK(both.out == good + ": scenario modest: 1 plan, 0 what-ifs\n");
  CHECK(both.err.find("bad.yaml:") != std::string::npos);
  CHECK(call(f, "check " + good + " " + good).code == 0);
  CHECK(call(f, "check " + f.write("foreign.yaml", "hello: 1\n")).err.find("none of its keys tells what file it is") != std::string::npos);
}

TEST_CASE("nothing that a file says steers a terminal") {
  const Folder f;
  const auto run_as = [&](const std::string& name) {
    return call(f, "run " + f.write("n.yaml", "foreshard: 1\nname: \"" + name + "\"\n" + kModest.substr(kModest.find("model:"))));
  };
  const Outcome escape = run_as("a\\e[2Jb");
  CHECK(escape.code == 2);
  CHECK(escape.err.find("the control character 0x1b") != std::string::npos);
  for (const Outcome& o : {escape, run_as("plain"), call(f, "show model 'x\033[31my'")}) {
    CHECK(o.out.find('\033') == std::string::npos);
    CHECK(o.err.find('\033') == std::string::npos);
  }
}

TEST_CASE("ask answers without a file, and shows the scenario that it makes") {
  const Folder f;
  const Outcome shown =
      call(f, "ask bert-large --on summit --nodes 2 --batch 48 --plan 'tensor 2' --what-if '4x infiniband' --tokens 1B --show");
  CHECK(shown.code == 0);
  const std::string scenario = f.write("asked.yaml", shown.out);
  CHECK(call(f, "check " + scenario).code == 0);
  CHECK(shown.out.find("cluster.links.infiniband.bandwidth: 4x") != std::string::npos);
  CHECK(shown.out.find("tokens: 1B") != std::string::npos);
  const Outcome answered = call(f, "ask bert-large --on summit --nodes 2 --batch 48 --plan data-parallel --format csv");
  CHECK(answered.code == 0);
  CHECK(answered.out.starts_with("kind,scenario,model,"));
  CHECK(call(f, "ask bert-larg --on summit").err.find("did you mean \"bert-large\"?") != std::string::npos);
  CHECK(call(f, "ask bert-large --on sumit").err.find("did you mean \"summit\"?") != std::string::npos);
  CHECK(call(f, "ask meta-llama/Llama-3.1-8B --on summit").err.find("nothing is downloaded") != std::string::npos);
  CHECK(call(f, "ask bert-large --on summit --plan ''").code == 2);
  CHECK(call(f, "ask bert-large --on summit --plan 'tensor 4 pipeline 2'").err.find("write e.g. \"tensor 4, pipeline 2\"") !=
        std::string::npos);
  CHECK(call(f, "ask bert-large --on summit --what-if '50 GB/s infiniband' --show").out.find("bandwidth: 50 GB/s") != std::string::npos);
  CHECK(call(f, "ask bert-large --on summit --batch 1.5").err ==
        "foreshard ask: --batch cannot be \"1.5\"\n       write an integer above 0\n");
  CHECK(call(f, "ask bert-large --on summit --on dgx-2").err.starts_with("foreshard ask: --on is given twice\n"));
  CHECK(call(f, "calibrate x.csv").err.starts_with("foreshard calibrate: --device, --network or --framework is missing\n"));
  for (const char* change : {"batch 64", "twice the nodes", "4x infiniband, 2x nodes"})
    CHECK(call(f, std::string("ask bert-large --on summit --what-if '") + change + "'").err.find("names no change") != std::string::npos);
  CHECK(call(f, "ask bert-large --on summit --what-if '4x nvlnk'").err.find("did you mean \"nvlink\"?") != std::string::npos);
}

TEST_CASE("diff says what changed between two results, and is a test with a limit") {
  const Folder f;
  for (const char* nodes : {"1", "2"})
    CHECK(call(f, std::string("ask bert-large --on summit --batch 48 --plan data-parallel --quiet --nodes ") + nodes + " --json " +
                      (f.path / (std::string(nodes) + ".json")).string())
              .code == 0);
  const std::string one = (f.path / "1.json").string(), two = (f.path / "2.json").string();
  const Outcome changed = call(f, "diff " + one + " " + two);
  CHECK(changed.code == 0);
  CHECK(changed.out.find("cluster.nodes: 1 -> 2") != std::string::npos);
  CHECK(call(f, "diff " + one + " " + two + " --limit 5%").code == 1);
  CHECK(call(f, "diff " + one + " " + one + " --limit 0").code == 0);
  const std::string other = f.write("other.json", "{a: 1}"), foreign = f.write("foreign.json", "{}");
  CHECK(call(f, "diff " + one + " " + other).err == other + ": is no JSON\n       write it with foreshard run --json\n");
  CHECK(call(f, "diff " + foreign + " " + one).err == foreign + ": is no result of format 2\n       write it with foreshard run --json\n");
  for (const char* limit : {"much", "5", "-5%"}) CHECK(call(f, "diff " + one + " " + two + " --limit " + limit).code == 2);
}

TEST_CASE("help, -V, and what a command line lacks, in our words") {
  const Folder f;
  CHECK(call(f, "help run").out.find("--json") != std::string::npos);
  CHECK(call(f, "help rnu").err.find("did you mean \"run\"?") != std::string::npos);
  CHECK(call(f, "-V").out == call(f, "--version").out);
  CHECK(call(f, "run").err.find("foreshard run: scenario is missing") != std::string::npos);
  CHECK(call(f, "run x.yaml --jobs 0").err.find("--jobs cannot be \"0\"") != std::string::npos);
  CHECK(call(f, "completion fsh").err.find("shell cannot be \"fsh\"") != std::string::npos);
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = call(f, std::string("completion ") + shell).out;
    CHECK(script.find("dgx-h100") != std::string::npos);  // values, not only options
  }
}

TEST_CASE("completion and manual page name every command") {
  const Folder f;
  const std::string bash = call(f, "completion bash").out, zsh = call(f, "completion zsh").out, man = call(f, "man").out;
  for (const std::string command : {"run", "show cluster", "check", "validate", "import", "calibrate", "rules match", "init"}) {
    CHECK(bash.find("'foreshard " + command + "'") != std::string::npos);
    CHECK(zsh.find("'foreshard " + command + "'") != std::string::npos);
    CHECK(man.find(".SS foreshard " + command) != std::string::npos);
  }
  CHECK(bash.find("--save-plans") != std::string::npos);
  const std::string script =
      f.write("c.bash", bash + "cd " + f.path.string() + "\n" +
                            "COMP_WORDS=(foreshard ru); COMP_CWORD=1; _foreshard; echo \"${COMPREPLY[@]}\"\n"
                            "COMP_WORDS=(foreshard show cl); COMP_CWORD=2; _foreshard; echo \"${COMPREPLY[@]}\"\n"
                            "COMP_WORDS=(foreshard run --save); COMP_CWORD=2; _foreshard; echo \"${COMPREPLY[@]}\"\n");
  CHECK(std::system(("bash " + script + " >" + (f.path / "words").string()).c_str()) == 0);
  CHECK(f.read("words") == "run rules\ncluster\n--save-plans\n");
}
