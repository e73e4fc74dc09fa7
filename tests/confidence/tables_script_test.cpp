// tools/converters/points_from_tables.py on made-up tables: what it writes can be read, and says what the rows say. On the public tables,
// where they are there.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "profiles/measured/points.hpp"
#include "scenarios/question/scenario.hpp"
#include "tests/about.hpp"
#include "tests/shared_data.hpp"

namespace fs = std::filesystem;

namespace {

bool has_python() {
  const bool there = std::system("python3 -c '' >/dev/null 2>&1") == 0;
  if (!there) MESSAGE("skipped: no python3");
  return there;
}

std::string text_of_file(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A folder of tables and of the points that they become, removed with the value.
class Tables {
 public:
  Tables() { fs::create_directories(folder_ / "e2e"); }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
  ~Tables() { fs::remove_all(folder_); }
  void add(const std::string& name, const std::string& text) const { std::ofstream(folder_ / "e2e" / name) << text; }
  // What the script prints, and the points of each group.
  std::string convert(const fs::path& data) {
    const fs::path log = folder_ / "log";
    const std::string command = "python3 -B " SOURCE_DIRECTORY "/tools/converters/points_from_tables.py " + data.string() + " " +
                                (folder_ / "points").string() + " >" + log.string() + " 2>&1";
    CHECK(std::system(command.c_str()) == 0);
    return text_of_file(log);
  }
  std::string convert() { return convert(folder_); }
  std::vector<measured::Point> points(const std::string& group) const {
    return measured::read_points(text_of_file(folder_ / "points" / (group + ".csv")), group + ".csv");
  }
  std::vector<std::string> groups() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "points")) names.push_back(entry.path().stem().string());
    std::ranges::sort(names);
    return names;
  }

 private:
  fs::path folder_ = fs::temp_directory_path() / ("foreshard-tables-" + std::to_string(::getpid()));
};

std::string setting(const measured::Point& p, const std::string& path) {
  for (const auto& s : p.settings)
    if (s.path == path) return s.value.scalar;
  return {};
}
std::vector<std::string> list_setting(const measured::Point& p, const std::string& path) {
  std::vector<std::string> items;
  for (const auto& s : p.settings)
    if (s.path == path)
      for (const base::Yaml& item : s.value.items) items.push_back(item.scalar);
  return items;
}

const std::string kMultinode =
    "source_key,system,model,framework,precision,n_gpus,gpus_per_node,global_batch,micro_batch,seq_len,tp,sp,pp,vp,cp,ep,etp,dp,fsdp_shard,"
    "layers,recompute,step_time_s,tokens_per_s,tokens_per_s_per_gpu,published_mfu_pct,model_tflops_per_gpu,tag,notes,source\n";

const std::string kPerf =
    "release,task,model,system,n_gpus,precision,global_batch,micro_batch,seq_len,fsdp,tp,pp,cp,vp,ep,grad_accum,tokens_per_s_per_gpu,"
    "model_tflops_per_gpu,source\n";
const std::string kRecipes =
    "model,task,system,precision,containers,variant,n_gpus,gbs,mbs,seq_len,tp,pp,vp,cp,cp_comm_type,ep,etp,dp,megatron_fsdp,"
    "num_dist_opt_instances,recompute_granularity,recompute_num_layers,recompute_modules,cpu_offload_layers,cuda_graph_impl,"
    "cuda_graph_scope,tp_comm_overlap,distributed_optimizer,overlap_grad_reduce,overlap_param_gather,optimizer,precision_aware_opt,"
    "exp_avg_dtype,grad_accum_fusion,fp8_recipe,low_prec_param_gather,moe_dispatcher,ep_a2a_overlap,mtp_layers,pp_layout\n";

}  // namespace

TEST_CASE("a public table becomes points") {
  if (!has_python()) return;
  Tables tables;
  tables.add("vtrain_a100_single_node.csv",
             "n_gpus,global_batch,micro_batch,hidden,heads,layers,seq_len,tp,dp,pp,iter_time_ms,vocab_cfg,source\n"
             "4,8,2,64,2,4,16,2,1,2,12.5,100,made up\n");
  tables.add(
      "vtrain_a100_multi_node.csv",
      "n_gpus,global_batch,micro_batch,hidden,heads,layers,seq_len,tp,dp,pp,iter_time_ms,vocab_cfg,inter_node_Gbps_per_node_cfg,source\n"
      "16,8,2,64,2,4,16,2,4,2,12.5,100,800,made up\n");
  tables.convert();
  const auto points = tables.points("vtrain-single-node");
  REQUIRE(points.size() == 1);
  CHECK(setting(tables.points("vtrain-multi-node").at(0), "cluster.links.infiniband.bandwidth") == "12.5 GB/s");
  CHECK(points[0].measured.value().value() == test::about(0.0125));
  CHECK(points[0].tensor == 2);
  CHECK(points[0].framework == "deepspeed");
}

TEST_CASE("a cell that cannot be read costs its own row, and is counted") {
  if (!has_python()) return;
  Tables tables;
  tables.add("vtrain_a100_single_node.csv",
             "n_gpus,global_batch,micro_batch,hidden,heads,layers,seq_len,tp,dp,pp,iter_time_ms,vocab_cfg,source\n"
             "4,8,2,64,2,4,16,2,1,2,OOM,100,made up\n"
             "4,8,2,64,2,,16,2,1,2,12.5,100,made up\n"
             "4,8,2,64,2,4,16,0,1,2,12.5,100,made up\n"
             "4,8,2,64,2,4,16,2,1,2,12.5,100,made up\n");
  const std::string log = tables.convert();
  CHECK(tables.points("vtrain-single-node").size() == 1);
  CHECK(log.find("vtrain-single-node: 1 rows left out: tp is 0") != std::string::npos);
  CHECK(log.find("could not convert string to float: 'OOM'") != std::string::npos);
}

// 12 x 106 x 12288^2 weights and 250880 x 12288 of the vocabulary are 195 billion: the row's own sizes, which are another model's, are not
// taken. 106 layers and two more are twelve stages of nine; 78 layers fill eleven stages of seven and leave one.
TEST_CASE("what BigScience's table lacks is read off the headings of its document") {
  if (!has_python()) return;
  Tables tables;
  tables.add(
      "bigscience_bloom_a100_topologies.csv",
      "n_gpus,size,hidden,layers,heads,zero_stage,dp,tp,pp,micro_batch,global_batch,mem_GB,sec_per_iter,tflops_per_gpu,note_date,source\n"
      "384,195B,13824,78,96,,8,4,12,2,2048,44,112.69,154.86,02-27,here\n"
      "384,182B,13824,78,,,8,4,12,2,2048,,103.51,156.92,02-26,here\n"
      "384,200B,,,,,12,8,4,1,2040,47,189.06,91.67,02-20,here\n"
      "384,181B,,,,,48,8,1,1,2016,OOM,,,02-25,here\n");
  const std::string log = tables.convert();
  CHECK(log.find("1 rows left out: a degree, the batch or the time is not given") != std::string::npos);
  CHECK(log.find("1 rows left out: 14400 numbers wide, and the layers are not given") != std::string::npos);
  const auto points = tables.points("bloom");
  REQUIRE(points.size() == 2);
  CHECK(points[0].transformer.find("hidden")->scalar == "12288");
  CHECK(points[0].transformer.find("heads")->scalar == "96");
  CHECK(list_setting(points[0], "plan.layers_per_stage") ==
        std::vector<std::string>{"8", "9", "9", "9", "9", "9", "9", "9", "9", "9", "9", "8"});
  CHECK(points[1].transformer.find("heads")->scalar == "64");
  CHECK(list_setting(points[1], "plan.layers_per_stage") ==
        std::vector<std::string>{"7", "7", "7", "7", "7", "7", "7", "7", "7", "7", "7", "1"});
}

// Seconds are as published; else the tokens of an iteration, batch x sequence, over tokens/s, or over tokens/s of a GPU times the GPUs.
// What gives FLOPs alone is left out, and so is what no model is known for.
TEST_CASE("rows of published runs become points: seconds from tokens, machines and models by their names, proxies by their layers") {
  if (!has_python()) return;
  Tables tables;
  const std::string h100 = "x,\"DGX-H100-class (8 GPU)\",Llama3.1-405B,NeMo 2 (Megatron-Core),BF16,32,8,126,1,8192,8,,1,,2,,,2,,7,,";
  tables.add("published_multinode.csv",
             kMultinode + h100 + "9.0,,,,,sourced,,here\n" + h100 + ",64512,,,,sourced,,here\n" + h100 + ",,2016,,,sourced,,here\n" + h100 +
                 ",,,,400,sourced,,here\n" +
                 "x,GB200 NVL72,Whisper-Large,NeMo 2,FP8,32,4,96,1,8192,8,,1,,1,,,4,,118,,1.0,,,,,sourced,,here\n");
  const std::string log = tables.convert();
  CHECK(log.find("1 rows left out: neither seconds nor tokens/s are given") != std::string::npos);
  CHECK(log.find("1 rows left out: nobody describes this model") != std::string::npos);
  const auto points = tables.points("multinode-x-h100-bf16");
  REQUIRE(points.size() == 3);
  CHECK(points[0].measured.value().value() == 9.0);
  CHECK(points[1].measured.value().value() == test::about(126 * 8192 / 64512.0));
  CHECK(points[2].measured.value().value() == test::about(126 * 8192 / (2016.0 * 32)));
  CHECK(points[0].cluster == "dgx-h100");
  CHECK(points[0].nodes == 4);
  CHECK(points[0].data == 2);
  CHECK(points[0].zero == 1);
  CHECK(points[0].sequence_parallel);
  CHECK(points[0].framework == "megatron-core");
  CHECK(points[0].transformer.find("layers")->scalar == "7");
  CHECK(setting(points[0], "training.framework.overlap_tensor") == "true");
}

// The script of Nemotron-4 340B runs graphs on GB200, and its tensor parallelism spans trays; Llama's degree of 4 stays in one.
TEST_CASE("a row of DGX Cloud's benchmarks gets what its launch script asks for") {
  if (!has_python()) return;
  Tables tables;
  const std::string source = "NVIDIA/dgxc-benchmarking@v25.05.05(c5c765f):README.md\n";
  tables.add("published_multinode.csv",
             kMultinode +
                 "dgxc,GB200 NVL72,Nemotron4-340B,NeMo 2 (Megatron-Core),FP8,128,4,32,1,4096,8,,4,12,1,,,4,,96,,1.0,,,,,sourced,," +
                 source + "dgxc,GB200 NVL72,Llama3.1-405B,NeMo 2 (Megatron-Core),FP8,128,4,64,1,8192,4,,8,8,2,,,2,,126,,1.0,,,,,sourced,," +
                 source);
  (void)tables.convert();
  const auto points = tables.points("multinode-dgxc-gb200-fp8");
  REQUIRE(points.size() == 2);
  CHECK(setting(points[0], "training.framework.overlap_tensor") == "false");
  CHECK(setting(points[0], "plan.cuda_graphs") == "true");
  CHECK(setting(points[1], "training.framework.overlap_tensor") == "true");
  CHECK(setting(points[1], "plan.cuda_graphs").empty());
  for (const auto& point : points) CHECK(setting(point, "cluster.node.gpus.host_speed") == "0.55");
}

// The recipe of the row's own container counts, not one of another: its flags are settings. Stages of the layout Et*2|t*3|t*3|t*2mL have 2,
// 3, 3 and 3 layers.
TEST_CASE("a row of Megatron-Bridge gets the flags of its recipe") {
  if (!has_python()) return;
  Tables tables;
  tables.add("nemo_megatron_bridge_perf.csv",
             kPerf + "26.04 NeMo Container,Pre-Training Performance,LLAMA3.1_405B,DGX-GB200,256,BF16,64,1,8192,,4,16,1,8,n/a,,100,,here\n" +
                 "26.04 NeMo Container,Pre-Training Performance,LLAMA3_70B,DGX-H100,64,BF16,64,1,8192,,4,8,1,5,n/a,,100,,here\n" +
                 "26.04 NeMo Container,Pre-Training Performance,LLAMA3_70B,DGX-H100,64,BF16,64,1,8192,,2,8,1,5,n/a,,100,,here\n");
  const std::string pp16 = ",256,64,1,8192,4,16,8,1,,1,,4,0,1,none,,,,none,,1,1,1,0,adam,1,bfloat16,0,none,0,,,,\n";
  tables.add(
      "megatron_bridge_recipes.csv",
      kRecipes +
          "llama31_405b,pretrain,GB200,BF16,26.02,v1,256,64,1,8192,4,16,8,1,,1,,4,0,1,full,1,,,local,full_iteration,0,1,0,0,adam,0,"
          "float32,,none,0,,,,\n"
          "llama31_405b,pretrain,GB200,BF16,26.02.01 26.04,v1" +
          pp16 +
          // Of a machine whose name ends alike, with other flags.
          "llama31_405b,pretrain,B200,BF16,26.04,v1,256,64,1,8192,4,16,8,1,,1,,4,0,1,full,1,,,local,full_iteration,0,1,1,1,adam,0,"
          "float32,,none,0,,,,\n"
          "llama3_70b,pretrain,H100,BF16,26.04,v1,64,64,1,8192,4,8,5,1,,1,,2,0,1,selective,,layernorm mlp,,local,full_iteration,0,1,1,1,"
          "adam,0,float32,,none,0,,,,\n");
  const std::string log = tables.convert();
  CHECK(log.find("bridge: 1 rows left out: no recipe has this plan") != std::string::npos);
  const auto gb200 = tables.points("bridge-gb200-dense-bf16");
  REQUIRE(gb200.size() == 1);
  CHECK(gb200[0].measured.value().value() == test::about(64 * 8192 / (100.0 * 256)));
  CHECK(gb200[0].nodes == 64);
  CHECK(setting(gb200[0], "cluster.node.domain.segment") == "16");
  CHECK(setting(gb200[0], "training.framework.overlap_tensor") == "true");
  CHECK(setting(gb200[0], "training.framework.overlap_parameters") == "false");
  CHECK(setting(gb200[0], "training.framework.overlap_gradients").empty());
  CHECK(setting(gb200[0], "training.framework.fp32_gradient_copy") == "false");
  CHECK(setting(gb200[0], "plan.moments") == "bf16");
  CHECK(setting(gb200[0], "plan.cuda_graphs").empty());  // those are of the other container
  const auto lengths = list_setting(gb200[0], "plan.layers_per_stage");
  REQUIRE(lengths.size() == 16 * 8);  // 126 layers, the embedding and the loss: one of each in every one
  CHECK(lengths.front() == "0");
  CHECK(lengths[1] == "1");
  CHECK(lengths.back() == "0");
  const auto h100 = tables.points("bridge-h100-dense-bf16");
  REQUIRE(h100.size() == 1);
  CHECK(setting(h100[0], "plan.cuda_graphs") == "true");
  CHECK(list_setting(h100[0], "plan.layers_per_stage").empty());
  (void)scenarios::load_scenario(measured::scenario_of(gb200[0]), {});
  (void)scenarios::load_scenario(measured::scenario_of(h100[0]), {});
}

// One GPU, or four: what a split does to the batch, and which rows cannot be said.
TEST_CASE("latencies of whole models become points") {
  if (!has_python()) return;
  Tables tables;
  tables.add("neusight_model_configs.json",
             R"({"gpt2_large": {"architectures": ["GPT2LMHeadModel"], "n_embd": 64, "n_head": 4, "n_layer": 2, "vocab_size": 100},
                 "bert_large": {"architectures": ["BertLMHeadModel"], "hidden_size": 64, "intermediate_size": 256, "num_attention_heads": 4,
                                "num_hidden_layers": 2, "vocab_size": 100},
                 "opt_13": {"architectures": ["OPTForCausalLM"], "hidden_size": 64, "ffn_dim": 128, "num_attention_heads": 4, "num_hidden_layers": 2,
                            "vocab_size": 100, "activation_function": "relu"},
                 "switchxl4": {"architectures": ["SwitchTransformersForConditionalGeneration"]}})");
  tables.add("neusight_labels.csv",
             "device,model,mode,seq_len,batch,option,num_layer,e2e_ms,fw_ms,bw_ms,bwall_ms,acc_ms,source\n"
             "NVIDIA_L4,gpt2_large,train,32,4,,2,10,4,,6,,made up\n"
             "NVIDIA_A100_80GB_PCIe,bert_large,train,32,4,,2,10,4,,6,,made up\n"
             "NVIDIA_H100_80GB_HBM3,opt_13,train,32,8,dp4,0,20,0,,0,,made up\n"
             "NVIDIA_H100_80GB_HBM3,gpt2_large,train,32,8,pp4_1,0,20,0,,0,,made up\n"
             "NVIDIA_L4,gpt2_large,inf,32,4,,2,4,4,,0,,made up\n"
             "NVIDIA_L4,gpt2_large,train,32,4,fusion,2,4,4,,0,,made up\n"
             "Tesla_P4,gpt2_large,train,32,4,,2,4,4,,0,,made up\n"
             "NVIDIA_L4,switchxl4,train,32,4,,2,4,4,,0,,made up\n");
  const std::string log = tables.convert();
  for (const char* why :
       {"forward passes alone", "a compiler fused kernels", "no device profile is of this GPU", "an encoder and a decoder"})
    CHECK(log.find(std::string("neusight: 1 rows left out: ") + why) != std::string::npos);
  const auto l4 = tables.points("neusight-l4");
  REQUIRE(l4.size() == 1);
  CHECK(l4[0].measured.value().value() == test::about(0.010));
  CHECK(setting(l4[0], "cluster.node.gpus.type") == "l4-24gb");
  CHECK(setting(tables.points("neusight-a100-pcie").at(0), "model.head_transform") == "true");
  const auto h100 = tables.points("neusight-h100");
  REQUIRE(h100.size() == 2);
  CHECK(h100[0].data == 4);
  CHECK(h100[0].micro_batch == 2);
  CHECK(setting(h100[0], "model.activation") == "relu");
  CHECK(h100[1].pipeline == 4);
  CHECK(h100[1].micro_batch == 8);
  for (const auto& p : {l4[0], h100[0]}) (void)scenarios::load_scenario(measured::scenario_of(p), {});
}

// What a submission's scripts say of its plan, by the micro-batches that a row gives.
TEST_CASE("MLPerf's LoRA becomes points") {
  if (!has_python()) return;
  Tables tables;
  const std::string rest = ",1,1,1,,2,made up\n";
  tables.add(
      "mlperf_training_nvidia.csv",
      "round,benchmark,system,platform,global_batch,seq_len,grad_accum,per_device_batch,n_runs_used,time_to_train_min_mean,ttt_min,ttt_max,"
      "gpt3_iter_time_s_from_block_timestamps,median_logged_throughput_samples_per_s,source\n"
      "v4.0,llama2_70b_lora,a,1xNVIDIA DGX H100,8,,4,,5" +
          rest + "v4.0,llama2_70b_lora,a,8xNVIDIA DGX H100,8,,1,,5" + rest + "v4.1,llama2_70b_lora,a,8xNVIDIA DGX H100,8,,1,,5" + rest +
          "v4.0,llama2_70b_lora,a,1xNVIDIA HGX H200,8,,2,,5" + rest + "v4.0,llama2_70b_lora,a,16xNVIDIA L40S,8,,1,,5" + rest +
          "v4.0,bert,a,1xNVIDIA DGX H100,8,,1,,5" + rest);
  CHECK(tables.convert().find("mlperf-training: 1 rows left out: no plan is given") != std::string::npos);
  const auto h100 = tables.points("mlperf-lora-h100-fp8");
  REQUIRE(h100.size() == 3);
  CHECK(h100[0].measured.value().value() == test::about(4));
  CHECK(h100[0].tensor == 4);
  CHECK(h100[0].context == 1);
  CHECK(setting(h100[0], "training.fp8_attention") == "true");
  CHECK(h100[1].context == 2);
  CHECK(setting(h100[1], "training.fp8_attention").empty());  // not yet with a sample in parts
  CHECK(setting(h100[2], "training.fp8_attention") == "true");
  CHECK(tables.points("mlperf-lora-h200-fp8").at(0).tensor == 2);
  const auto l40s = tables.points("mlperf-lora-l40s-fp8").at(0);
  CHECK(l40s.data == 8);
  CHECK(setting(l40s, "training.framework.overlap_tensor").empty());
  for (const auto& p : {h100[0], l40s}) (void)scenarios::load_scenario(measured::scenario_of(p), {});
}

// Every point of half precision is a scenario that can be read.
TEST_CASE("the public tables become points that can be read (needs shared data)" * test::needs("e2e/nemo_megatron_bridge_perf.csv")) {
  if (!has_python()) return;
  Tables tables;
  tables.convert(test::shared_data(""));
  std::map<std::string, std::size_t> loaded;
  for (const std::string& group : tables.groups()) {
    if (!group.ends_with("-bf16") && !group.starts_with("golden-") && !group.starts_with("simumax-") && !group.starts_with("neusight-"))
      continue;
    for (const measured::Point& p : tables.points(group)) {
      if (p.precision == "fp8") continue;
      try {
        (void)scenarios::load_scenario(measured::scenario_of(p), {});
        ++loaded[group.substr(0, group.find('-'))];
      } catch (const base::InputError& e) { CHECK_MESSAGE(false, p.group, " ", p.id, ": ", base::render(e.diagnostics().front())); }
    }
  }
  CHECK(loaded["bridge"] >= 10);
  CHECK(loaded["multinode"] >= 40);
  CHECK(loaded["moezoo"] >= 3);
  CHECK(loaded["golden"] >= 300);
  CHECK(loaded["simumax"] >= 25);
  CHECK(loaded["neusight"] >= 20);
}
