// Builtin models: their sizes, blocks and names.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "pcg/models/families/model_config.hpp"
#include "pcg/models/families/transformer.hpp"
#include "pcg/models/load.hpp"
#include "tests/about.hpp"

namespace pcg::models {
namespace {

std::vector<std::string> names_in(const Graph& g, std::string_view block) {
  std::vector<std::string> names;
  for (const GraphNode& n : g.nodes())
    if (g.blocks()[static_cast<std::size_t>(n.block)].name == block && !std::holds_alternative<Weight>(n.op)) names.push_back(n.name);
  return names;
}
const GraphNode& node(const Graph& g, std::string_view name) {
  const auto found = std::ranges::find(g.nodes(), name, &GraphNode::name);
  REQUIRE_MESSAGE(found != g.nodes().end(), name);
  return *found;
}

std::size_t index_of(const Graph& g, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(g.nodes(), name, &GraphNode::name) - g.nodes().begin());
}

TEST_CASE("parameters of builtins") {
  // Exact: Unity's Figure 1; bert-large is the published 335,141,888 with pooler plus the two pre-training heads: a dense layer and norm
  // 1024^2 + 3 * 1024, the vocabulary's bias 30522, two classes 2050. t5-large: keras-hub's preset list. Llama: Hugging Face Hub.
  // ResNeXt: torchvision's table of models; Inception-v3 without the auxiliary head: the Papers with Code model index.
  const std::map<std::string, std::int64_t> exact{
      {"mlp-mnist", 784 * 512 + 512 * 10},
      {"bert-large", 335'141'888 + 1024 * 1024 + 3 * 1024 + 30522 + 2050},
      {"t5-large", 737'668'096},
      {"llama-7b", 6'738'415'616},
      {"llama-13b", 13'015'864'320},
      {"resnext-50", 25'028'904},
      {"inception-v3", 23'834'568},
      // Unity's artifact, whose models have 22.22 M and 21.79 M: weights and biases of 50 and 94 convolutions and a dense layer.
      {"resnext-50-proxy", 22'222'056},
      {"inception-v3-proxy", 21'788'842}};
  for (const auto& [name, parameters] : exact) CHECK_MESSAGE(builtin(name, 1).parameters() == parameters, name);
  // Torchvision's swin_t.
  ShiftedWindowConfig tiny{.layers = {.name = "swin-tiny", .hidden = 96, .heads = 3}};
  tiny.layers.causal = false;
  CHECK(shifted_window_transformer(tiny, 1).parameters() == 28'288'354);
  // To the digits that are published: Unity's artifact (mlp 956.3 M, dlrm 2062.7 M, xdl 256.1 M, candle-uno 820.9 M, BERT proxy 75.5 M),
  // Alpa's table of GPT and MoE models, UniAP's (bert-huge 672 M, swin-huge 1.02 B), ViT-H/14 632 M (arXiv 2010.11929, table 1).
  const std::map<std::string, std::pair<double, double>> rounded{
      {"mlp", {956.3e6, 0.1e6}},          {"dlrm", {2062.7e6, 0.1e6}},        {"xdl", {256.1e6, 0.1e6}},
      {"candle-uno", {820.9e6, 0.1e6}},   {"bert-proxy", {75.5e6, 0.1e6}},    {"gpt3-350m", {350e6, 6e6}},
      {"gpt3-760m", {760e6, 6e6}},        {"gpt3-1.3b", {1.3e9, 5e7}},        {"gpt3-2.6b", {2.6e9, 6e7}},
      {"gpt3-6.7b", {6.7e9, 5e7}},        {"gpt3-15b", {15e9, 5e8}},          {"gpt3-39b", {39e9, 5e8}},
      {"gpt3-76b", {76e9, 5e8}},          {"moe-380m", {380e6, 5e6}},         {"moe-690m", {690e6, 5e6}},
      {"moe-1.3b", {1.3e9, 5e7}},         {"moe-2.4b", {2.4e9, 5e7}},         {"moe-7.1b", {7.1e9, 5e7}},
      {"moe-10b", {10e9, 5e8}},           {"moe-27b", {27e9, 5e8}},           {"moe-70b", {70e9, 5e8}},
      {"bert-huge", {672e6, 1e6}},        {"vit-huge", {632e6, 0.5e6}},       {"swin-huge", {1.02e9, 5e6}},
      {"wide-resnet-250m", {250e6, 5e6}}, {"wide-resnet-500m", {500e6, 6e6}}, {"wide-resnet-1b", {1e9, 1e7}},
      {"wide-resnet-2b", {2e9, 5e7}},     {"wide-resnet-4b", {4e9, 1e7}},     {"wide-resnet-6.8b", {6.8e9, 1e8}},
      {"wide-resnet-13b", {13e9, 5e8}}};
  for (const auto& [name, size] : rounded) {
    const double parameters = static_cast<double>(builtin(name, 1).parameters());
    CHECK_MESSAGE(std::abs(parameters - size.first) <= size.second, name << " has " << parameters);
  }
}

double training_gflop_per_token(const Graph& g) {
  return 3 * (g.forward_flops() - g.masked_flops()).value() / static_cast<double>(g.tokens_per_sample()) / 1e9;
}

TEST_CASE("language models: published parameters") {
  // Totals of the safetensors on each model's page on the Hugging Face Hub; GPT-3 and the Nemotrons to the digits of their papers.
  // Qwen3's, Mixtral's and Llama's are exact. DeepSeek-V3: 671 B without its module of multi-token prediction, whose 11.6 B of its own
  // stand apart (the Hub's 14 B count the embedding and the head once more).
  const auto parameters = [](const char* name) {
    const Graph g = builtin(name, 1);
    return g.parameters() - g.auxiliary_parameters();
  };
  CHECK(parameters("llama3-8b") == 8'030'261'248);
  CHECK(parameters("llama3-70b") == 70'553'706'496);
  CHECK(parameters("llama3-405b") == 405'853'388'800);
  CHECK(parameters("llama2-70b") == 68'976'648'192);
  CHECK(parameters("mixtral-8x7b") == 46'702'792'704);
  CHECK(parameters("mixtral-8x22b") == 140'630'071'296);
  CHECK(parameters("qwen3-8b") == 8'190'735'360);
  CHECK(parameters("qwen3-32b") == 32'762'123'264);
  CHECK(parameters("qwen3-30b-a3b") == 30'532'122'624);
  CHECK(parameters("qwen3-235b-a22b") == 235'093'634'560);
  CHECK(static_cast<double>(parameters("gpt-oss-120b")) == test::about(116.83e9, 1e-4));
  CHECK(static_cast<double>(parameters("gpt-oss-20b")) == test::about(20.91e9, 1e-3));
  CHECK(static_cast<double>(parameters("kimi-k2")) == test::about(1026e9, 1e-3));
  // Llama 4's pages count the layers that read images, too: 109 B and 402 B.
  CHECK(static_cast<double>(parameters("llama4-scout")) == test::about(108e9, 0.01));
  CHECK(static_cast<double>(parameters("llama4-maverick")) == test::about(401e9, 0.01));
  CHECK(static_cast<double>(parameters("deepseek-v3")) == test::about(671.03e9, 1e-4));
  CHECK(static_cast<double>(parameters("gpt3-175b")) == test::about(174.6e9, 0.001));
  CHECK(static_cast<double>(parameters("nemotron4-15b")) == test::about(15.6e9, 0.005));
  CHECK(static_cast<double>(parameters("nemotron4-340b")) == test::about(341e9, 0.001));
  // One layer of experts, 2 h h for the projection of both inputs, 3 norms: attention 187,107,328, a router 1,835,008, 257 experts of
  // 44,040,192, its 2 norms 14,336.
  const std::int64_t layer = 187'107'328 + 1'835'008 + 257LL * 44'040'192 + 14'336;
  CHECK(builtin("deepseek-v3", 1).auxiliary_parameters() == layer + 2LL * 7168 * 7168 + 3 * 7168);
}

TEST_CASE("language models: FLOPs per token as Megatron-Bridge counts them") {
  // Its flop_utils.py, in GFLOP: 6 per weight that a token meets, and half of each causal square; DeepSeek-V3 with its module of prediction
  // and that module's head, GPT-OSS with its windows. It leaves out routers, which are 0.3 % of Qwen3 30B.
  const std::map<std::string, double> expected{{"llama3-8b", 51.5},    {"llama3-70b", 449.2},    {"llama3-405b", 2524.0},
                                               {"deepseek-v3", 260.0}, {"qwen3-30b-a3b", 23.01}, {"qwen3-235b-a22b", 148.0},
                                               {"gpt-oss-120b", 32.6}};
  for (const auto& [name, gflop] : expected) CHECK_MESSAGE(training_gflop_per_token(builtin(name, 1)) == test::about(gflop, 0.005), name);
}

TEST_CASE("operators of Unity's seven networks") {
  // Sources not counted, the loss counted. Unity's artifact counts inputs too (123 for Inception-v3, 56 for ResNeXt-50, 20 for the MLP);
  // its BERT has attention and its projections as one operator.
  const std::map<std::string, int> expected{{"resnext-50", 176},   {"resnext-50-proxy", 55},
                                            {"inception-v3", 315}, {"inception-v3-proxy", 122},
                                            {"bert-large", 305},   {"bert-proxy", 62},
                                            {"dlrm", 22},          {"xdl", 9},
                                            {"candle-uno", 47},    {"mlp", 18}};
  for (const auto& [name, count] : expected) {
    const Graph g = builtin(name, 1);
    const auto operators = std::ranges::count_if(
        g.nodes(), [](const GraphNode& n) { return !std::holds_alternative<Weight>(n.op) && !std::holds_alternative<Input>(n.op); });
    CHECK_MESSAGE(operators == count, name << " has " << operators);
  }
}

TEST_CASE("builtins' names are sorted, and each builds at any batch") {
  const std::vector<std::string> names = builtin_names();
  CHECK(std::ranges::is_sorted(names));
  CHECK_THROWS_AS((void)builtin("bert-small", 1), base::InternalError);
  CHECK(builtin("mlp-mnist", 64).batch() == 64);
}

TEST_CASE("multiply-adds of convolutional networks") {
  // torchvision's table of models: resnext50_32x4d 4.23, inception_v3 5.71 (GFLOPS there are multiply-adds), one image.
  CHECK(builtin("resnext-50", 1).forward_flops().value() / 2e9 == test::about(4.23, 0.002));
  CHECK(builtin("inception-v3", 1).forward_flops().value() / 2e9 == test::about(5.71, 0.002));
}

TEST_CASE("a GPT layer: pre-norm, packed attention, residuals") {
  const Graph g = transformer({.layers = 2, .hidden = 8, .heads = 2, .vocab = 11, .sequence_length = 5, .dropout = 0.1}, 3);
  REQUIRE(g.blocks().size() == 4);
  CHECK(g.blocks()[0] == Block{.name = "embedding", .weighty = false});
  CHECK(g.blocks()[1] == Block{.name = "layer 0"});
  CHECK(g.blocks()[3] == Block{.name = "head", .weighty = false});
  CHECK(names_in(g, "embedding") == std::vector<std::string>{"tokens", "embedding.token", "embedding.position.add", "embedding.dropout"});
  CHECK(names_in(g, "layer 1") == std::vector<std::string>{"layer1.norm1", "layer1.attention.qkv", "layer1.attention.core",
                                                           "layer1.attention.out", "layer1.attention.dropout", "layer1.attention.residual",
                                                           "layer1.norm2", "layer1.mlp.up", "layer1.mlp.activation", "layer1.mlp.down",
                                                           "layer1.mlp.dropout", "layer1.mlp.residual"});
  CHECK(names_in(g, "head") == std::vector<std::string>{"head.norm", "head.logits", "labels", "head.loss"});
  CHECK(node(g, "layer0.attention.core").outputs[0].sizes == std::vector<std::int64_t>{3, 5, 8});
  CHECK(g.results().size() == 1);
  // 12 h^2 + 13 h a layer, token and position tables, a norm of 2 h; the head is tied.
  CHECK(g.parameters() == 2 * (12 * 64 + 13 * 8) + 11 * 8 + 5 * 8 + 16);
}

TEST_CASE("BERT: norms after the residuals, one table row per token type, two losses") {
  const Graph g = builtin("bert-large", 2);
  CHECK(names_in(g, "layer 0").back() == "layer0.norm2");
  CHECK(g.results().size() == 2);
  CHECK(node(g, "head.logits").inputs.size() == 3);  // tied table and a bias of its own
  CHECK(node(g, "head.pooler").outputs[0].sizes == std::vector<std::int64_t>{2, 1024});
}

TEST_CASE("Llama: gated MLP, grouped heads, no biases, no position table") {
  TransformerConfig c{
      .layers = 1, .hidden = 8, .heads = 4, .kv_heads = 2, .ffn = 20, .vocab = 11, .sequence_length = 5, .positions = -1, .gated = true};
  c.rms_norm = c.rope = true;
  c.biases = c.tied_embeddings = false;
  const Graph g = transformer(c, 1);
  // queries 8 * 8, keys and values 2 * 8 * 4, out 8 * 8, MLP 3 * 8 * 20, two norms, final norm, both tables.
  CHECK(g.parameters() == 64 + 64 + 64 + 480 + 16 + 8 + 2 * 88);
  CHECK(std::get<Attention>(node(g, "layer0.attention.core").op).rope);
}

TEST_CASE("latent attention: ranks, their norms, and one shared part of the keys") {
  TransformerConfig c{.layers = 1, .hidden = 8, .heads = 2, .head_dim = 3, .vocab = 11, .sequence_length = 5, .positions = -1};
  c.rms_norm = c.rope = true;
  c.biases = c.tied_embeddings = false;
  c.query_rank = 6;
  c.kv_rank = 4;
  c.rope_dim = 2;
  c.value_dim = 5;
  const Graph g = transformer(c, 3);
  CHECK(names_in(g, "layer 0") ==
        std::vector<std::string>{"layer0.norm1", "layer0.attention.q_down", "layer0.attention.q_norm", "layer0.attention.q_up",
                                 "layer0.attention.kv_down", "layer0.attention.kv_parts", "layer0.attention.kv_norm",
                                 "layer0.attention.kv_up", "layer0.attention.core", "layer0.attention.out", "layer0.attention.residual",
                                 "layer0.norm2", "layer0.mlp.up", "layer0.mlp.activation", "layer0.mlp.down", "layer0.mlp.residual"});
  CHECK(node(g, "layer0.attention.core").outputs[0].sizes == std::vector<std::int64_t>{3, 5, 10});
  // Queries 8 * 6 + 6 + 6 * 2 * 5, keys and values 8 * 6 + 4 + 4 * 2 * 8, out 10 * 8; MLP 2 * 8 * 32; norms 3 * 8; tables.
  CHECK(g.parameters() == 48 + 6 + 60 + 48 + 4 + 64 + 80 + 512 + 24 + 2 * 88);
  c.query_rank = 0;  // straight from hidden: 8 * 2 * 5
  CHECK(transformer(c, 3).parameters() == 80 + 48 + 4 + 64 + 80 + 512 + 24 + 2 * 88);
}

TEST_CASE("dense first layers, experts of their own width, a shared expert with a gate") {
  TransformerConfig c{.layers = 3, .hidden = 8, .heads = 2, .ffn = 16, .vocab = 11, .sequence_length = 6, .experts = 4};
  c.biases = false;
  c.dense_layers = 2;
  c.expert_ffn = 5;
  c.shared_ffn = 7;
  c.shared_gate = c.expert_biases = true;
  const Graph g = transformer(c, 3);
  for (const std::string layer : {"layer0", "layer1"}) CHECK(std::holds_alternative<Linear>(node(g, layer + ".mlp.up").op));
  CHECK(node(g, "layer2.moe.up").outputs[0].sizes == std::vector<std::int64_t>{4, 3, 3, 5});
  // Attention 4 * 64 and norms 32 in each layer; MLP 2 * 8 * 16; router 32 + 4, experts 4 * (8 * 5 + 5 + 5 * 8 + 8), shared 2 * 8 * 7 + 8.
  CHECK(g.parameters() == 3 * (256 + 32) + 2 * 256 + 36 + 4 * 93 + 120 + 88 + 48 + 16);
}

TEST_CASE("windows on all layers but every n-th; sandwiched norms; one norm for both parts") {
  TransformerConfig c{.layers = 4, .hidden = 8, .heads = 2, .vocab = 11, .sequence_length = 6};
  c.window = 3;
  c.global_every = 2;
  c.sandwich_norm = true;
  const Graph g = transformer(c, 1);
  for (const auto& [layer, window] : std::map<std::string, std::int64_t>{{"layer0", 3}, {"layer1", 0}, {"layer2", 3}, {"layer3", 0}})
    CHECK(std::get<Attention>(node(g, layer + ".attention.core").op).window == window);
  CHECK(node(g, "layer0.attention.residual").inputs[1].node == GraphNodeId(index_of(g, "layer0.norm1_behind")));
  c.global_every = 0;
  CHECK(std::get<Attention>(node(transformer(c, 1), "layer3.attention.core").op).window == 3);
  TransformerConfig falcon{.layers = 1, .hidden = 8, .heads = 2, .vocab = 11, .sequence_length = 6, .parallel_residual = true};
  const std::int64_t both = transformer(falcon, 1).parameters();
  falcon.single_norm = true;
  CHECK(transformer(falcon, 1).parameters() == both - 16);
}

TEST_CASE("multi-token prediction: one more layer on the next token, under the same head") {
  TransformerConfig c{.layers = 2, .hidden = 8, .heads = 2, .vocab = 11, .sequence_length = 5};
  c.tied_embeddings = false;
  const std::int64_t alone = transformer(c, 3).parameters();
  c.mtp_layers = 2;
  const Graph g = transformer(c, 3);
  REQUIRE(g.blocks().size() == 6);
  CHECK(g.blocks()[3] == Block{.name = "mtp 0", .weighty = true, .auxiliary = true});
  CHECK(g.results().size() == 3);
  CHECK(node(g, "mtp1.logits").inputs[1] == node(g, "head.logits").inputs[1]);
  CHECK(node(g, "mtp1.embedding").inputs[1] == node(g, "embedding.token").inputs[1]);
  // A layer of 12 h^2 + 13 h, the projection 2 h^2, norms of the embedding, of the hidden states and before the head.
  CHECK(g.auxiliary_parameters() == 2 * (12 * 64 + 13 * 8 + 2 * 64 + 3 * 16));
  CHECK(g.parameters() - g.auxiliary_parameters() == alone);
}

TEST_CASE("a table longer than the sequence is sliced") {
  const Graph g = transformer({.hidden = 8, .heads = 2, .vocab = 11, .sequence_length = 5, .positions = 9}, 1);
  CHECK(node(g, "embedding.position").outputs[0].sizes == std::vector<std::int64_t>{9, 8});
  CHECK(node(g, "embedding.position.slice").outputs[0].sizes == std::vector<std::int64_t>{5, 8});
}

TEST_CASE("mixtures of experts take every n-th MLP's place") {
  const Graph g =
      transformer({.layers = 4, .hidden = 8, .heads = 2, .ffn = 16, .vocab = 11, .sequence_length = 6, .experts = 4, .expert_every = 2}, 3);
  for (const std::string layer : {"layer0", "layer2"}) CHECK(std::holds_alternative<Linear>(node(g, layer + ".mlp.up").op));
  for (const std::string layer : {"layer1", "layer3"}) CHECK(std::holds_alternative<ExpertLinear>(node(g, layer + ".moe.up").op));
  // Capacity: top 2 of 6 tokens over 4 experts: 3 each.
  CHECK(node(g, "layer1.moe.up").outputs[0].sizes == std::vector<std::int64_t>{4, 3, 3, 16});
  // Router 8 * 4, experts 2 * 4 * 8 * 16 against an MLP of 2 * 8 * 16 + 16 + 8.
  CHECK(g.parameters() == 4 * (4 * 64 + 32 + 4 * 8) + 2 * (256 + 24) + 2 * (32 + 1024) + 88 + 48 + 16);
}

}  // namespace
}  // namespace pcg::models

TEST_CASE("places of experts that hold no token are no work of the model") {
  // 64 tokens of 2 experts each: 128 places of 8 experts are 16 each. What an imbalance or a capacity adds stays empty; a smaller capacity
  // drops tokens, which nobody computes.
  const auto flops = [](double imbalance, double capacity) {
    pcg::models::TransformerConfig c;
    c.layers = 2, c.hidden = 64, c.heads = 4, c.ffn = 128, c.vocab = 128, c.sequence_length = 64;
    c.experts = 8, c.top_k = 2, c.expert_imbalance = imbalance, c.capacity_factor = capacity;
    return pcg::models::transformer(c, 2).forward_flops().value();
  };
  for (const double more : {1.5, 2.0, 4.0}) {
    CHECK(flops(more, 1) == test::about(flops(1, 1)));
    CHECK(flops(1, more) == test::about(flops(1, 1)));
  }
  const double experts = 2 * 128 * 2.0 * 2 * (64 * 128 + 128 * 64);  // 128 tokens of 2 layers, of 2 experts each
  CHECK(flops(1, 1) - flops(1, 0.5) == test::about(experts / 2));
}
