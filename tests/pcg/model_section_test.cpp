// `model:` sections: what they give, and every message they can answer with.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "base/yaml/parse.hpp"
#include "pcg/models/families/transformer.hpp"
#include "pcg/models/load.hpp"

namespace pcg::models {
namespace {

Graph load(const std::string& yaml, std::int64_t batch = 1, const std::filesystem::path& folder = ".") {
  return load_model(base::parse_yaml(yaml, "m.yaml"), "model", folder, batch);
}
std::string problems_of(const std::string& yaml) {
  try {
    (void)load(yaml);
  } catch (const base::InputError& e) {
    std::string all;
    for (const base::Diagnostic& d : e.diagnostics()) all += base::render(d) + "\n";
    return all;
  }
  return "";
}
bool mentions(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// A folder of files that goes when the test ends.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "foreshard_model_section_test") { std::filesystem::create_directories(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

const std::string kSmall = "transformer: {layers: 2, hidden: 8, heads: 2, vocab: 11, sequence_length: 5}";

TEST_CASE("a transformer by its numbers; keys beside it override") {
  const Graph g = load(kSmall, 3);
  CHECK(g == transformer({.layers = 2, .hidden = 8, .heads = 2, .vocab = 11, .sequence_length = 5}, 3));
  const Graph longer = load(kSmall + "\nsequence_length: 7\nattention: unfused\ndropout: 0.1\n");
  CHECK(longer ==
        transformer(
            {.layers = 2, .hidden = 8, .heads = 2, .vocab = 11, .sequence_length = 7, .attention = AttentionKind::unfused, .dropout = 0.1},
            1));
}

TEST_CASE("every key of the transformer section") {
  const Graph g = load(
      "transformer: {name: x, layers: 2, hidden: 8, heads: 4, kv_heads: 2, head_dim: 4, ffn: 20, vocab: 128, sequence_length: 6, "
      "token_types: 2, gated: true,\n"
      "  causal: false, rms_norm: true, rope: true, biases: false, qkv_biases: true, tied_embeddings: false, post_norm: false, "
      "embedding_norm: true,\n"
      "  final_norm: true, parallel_residual: true, activation: gelu, experts: 4, top_k: 1, expert_every: 2, capacity_factor: 1.5, "
      "attention: unfused,\n"
      "  dropout: 0.1, head: true, head_transform: true, pooler: true, embedding_width: 4, positions: none}");
  TransformerConfig c{.name = "x",
                      .layers = 2,
                      .hidden = 8,
                      .heads = 4,
                      .kv_heads = 2,
                      .ffn = 20,
                      .head_dim = 4,
                      .vocab = 128,
                      .sequence_length = 6,
                      .positions = -1,
                      .token_types = 2,
                      .embedding_width = 4,
                      .gated = true,
                      .causal = false,
                      .rms_norm = true,
                      .rope = true,
                      .biases = false,
                      .tied_embeddings = false};
  c.embedding_norm = c.qkv_biases = c.parallel_residual = c.head_transform = c.pooler = true;
  c.experts = 4;
  c.top_k = 1;
  c.expert_every = 2;
  c.capacity_factor = 1.5;
  c.attention = AttentionKind::unfused;
  c.dropout = 0.1;
  CHECK(g == transformer(c, 1));
}

TEST_CASE("keys of latent attention, of mixtures and of layers that differ") {
  const Graph g = load(
      "transformer: {layers: 4, hidden: 32, heads: 4, head_dim: 8, ffn: 48, vocab: 96, sequence_length: 16, rope: true, biases: false,\n"
      "  query_rank: 24, kv_rank: 16, rope_dim: 4, value_dim: 6, sinks: true, repeated_keys: true, window: 8, global_every: 2, chunked: "
      "true, experts: 4, \n"
      "  expert_ffn: 20, shared_experts: 2, shared_gate: true, dense_layers: 1, expert_biases: true, router: sigmoid, mtp_layers: 1, \n"
      "  expert_groups: 2, groups_per_token: 1, expert_imbalance: 1.25, \n"
      "  sandwich_norm: true, softcap: true, out_biases: true, mlp_biases: true, activation: relu2}");
  TransformerConfig c{.layers = 4, .hidden = 32, .heads = 4, .ffn = 48, .head_dim = 8, .vocab = 96, .sequence_length = 16, .positions = -1};
  c.rope = c.out_biases = c.mlp_biases = c.sandwich_norm = c.softcap = c.sinks = c.repeated_keys = c.chunked = c.shared_gate = true;
  c.expert_biases = c.sigmoid_router = true;
  c.biases = false;
  c.query_rank = 24;
  c.kv_rank = 16;
  c.rope_dim = 4;
  c.value_dim = 6;
  c.window = 8;
  c.global_every = 2;
  c.experts = 4;
  c.expert_groups = 2;
  c.expert_imbalance = 1.25;
  c.expert_ffn = 20;
  c.shared_ffn = 40;
  c.dense_layers = c.mtp_layers = 1;
  c.activation = Unary::Kind::relu2;
  CHECK(g == transformer(c, 1));
  TransformerConfig h{.layers = 3, .hidden = 32, .heads = 4, .vocab = 96, .sequence_length = 16, .experts = 4};
  h.pattern = "ME*";
  h.mtp_pattern = "*E";
  h.mtp_layers = 2;
  h.mtp_shared = true;
  h.mamba_heads = 6;
  h.mamba_head_dim = 4;
  h.mamba_groups = 3;
  h.mamba_state = 5;
  h.mamba_kernel = 2;
  h.mamba_chunk = 8;
  h.expert_latent = 12;
  CHECK(load("transformer: {layers: 3, hidden: 32, heads: 4, vocab: 96, sequence_length: 16, experts: 4, expert_latent: 12, pattern: ME*, "
             "mtp_pattern: '*E', mtp_layers: 2, mtp_shared: true, mamba_heads: 6, mamba_head_dim: 4, mamba_groups: 3, mamba_state: 5, "
             "mamba_kernel: 2, mamba_chunk: 8}") == transformer(h, 1));
  const std::string sizes = "transformer: {layers: 1, hidden: 8, heads: 2, vocab: 11, sequence_length: 5, ";
  CHECK(load(sizes + "qk_norm: true, parallel_residual: true, single_norm: true}") ==
        transformer(
            {.hidden = 8, .heads = 2, .vocab = 11, .sequence_length = 5, .parallel_residual = true, .single_norm = true, .qk_norm = true},
            1));
  // Gains and biases of 8 queries' numbers and of 8 keys'; a number for each of 11 tokens.
  CHECK(load(sizes + "wide_qk_norm: true, reordered_norm: true, head_bias: true}").parameters() ==
        load(sizes + "rope: false}").parameters() + 2 * (8 + 8) + 11);
  for (const auto& [keys, message] : std::vector<std::pair<std::string, std::string>>{
           {"wide_qk_norm: true, qk_norm: true", "wide_qk_norm excludes qk_norm and kv_rank"},
           {"reordered_norm: true, parallel_residual: true", "reordered_norm has no norm before the parts"},
           {"kv_rank: 4", "latent attention (kv_rank) needs rope_dim and value_dim beside head_dim"},
           {"query_rank: 4", "query_rank, rope_dim and value_dim are of latent attention, which has a kv_rank"},
           {"kv_rank: 4, rope_dim: 2, value_dim: 4, qk_norm: true", "no kv_heads, no qk_norm"},
           {"window: 4, causal: false", "a window is of causal attention"},
           {"global_every: 2", "global_every and chunked are of layers with a window"},
           {"shared_ffn: 4", "are of a mixture, which has experts"},
           {"experts: 4, shared_gate: true", "shared_gate is of a shared expert, which has a width"},
           {"expert_groups: 2, groups_per_token: 1", "expert_groups and groups_per_token are of a mixture, which has experts"},
           {"experts: 4, expert_groups: 3, groups_per_token: 1", "4 experts do not divide into 3 expert_groups"},
           {"experts: 4, expert_groups: 2, groups_per_token: 3", "groups_per_token 3 of 2 expert_groups"},
           {"experts: 4, expert_groups: 4, groups_per_token: 1", "top_k 2 of the 1 experts in 1 of 4 expert_groups"},
           {"expert_imbalance: 1.1", "expert_imbalance is of a mixture, which has experts"},
           {"experts: 4, expert_imbalance: 1.1, capacity_factor: 2", "expert_imbalance is of routing that drops no token"},
           {"experts: 4, dense_layers: 2", "2 dense_layers of 1 layers"},
           {"experts: 4, shared_ffn: 4, shared_experts: 1", "shared_ffn is given, too"},
           {"single_norm: true", "single_norm is of a parallel_residual"},
           {"post_norm: true, sandwich_norm: true", "post_norm, sandwich_norm and reordered_norm exclude each other"},
           {"mtp_layers: 1, head: false", "mtp_layers predict tokens: they need a head"},
           {"mtp_layers: 1, mtp_shared: true", "mtp_shared is of several mtp_layers"},
           {"mamba_heads: 4", "mamba_heads and mtp_pattern are of a hybrid, which has a pattern"},
           {"expert_latent: 4", "are of a mixture, which has experts"},
           {"pattern: m", "pattern \"m\": \"m\" is no layer; write M (Mamba), * (attention), - (MLP) or E (experts)"},
           {"pattern: E", "pattern has layers of experts (E): experts says how many they are"},
           {"pattern: M", "pattern has Mamba layers (M), which need mamba_heads"},
           {"pattern: M-, mamba_heads: 8", "pattern has 2 letters for 1 layers"},
           {"pattern: M, mamba_heads: 6", "6 mamba_heads do not divide into 8 mamba_groups"},
           {"pattern: M, mamba_heads: 8, mtp_layers: 1", "mtp_layers of a hybrid need mtp_pattern"},
           {"pattern: M, mamba_heads: 8, window: 4", "a pattern says which layers have experts"}})
    CHECK_MESSAGE(mentions(problems_of(sizes + keys + "}"), message), keys << "\n" << problems_of(sizes + keys + "}"));
}

TEST_CASE("gated MLPs are SwiGLU unless another activation is named") {
  const Graph g = load("transformer: {layers: 1, hidden: 8, heads: 2, vocab: 11, sequence_length: 5, gated: true}");
  for (const GraphNode& n : g.nodes())
    if (const Unary* u = std::get_if<Unary>(&n.op)) CHECK(u->kind == Unary::Kind::silu);
}

TEST_CASE("messages, whole") {
  CHECK(problems_of("builtin: bert-lage") ==
        "m.yaml:1:10: model.builtin: unknown model \"bert-lage\"\n"
        "    1 | builtin: bert-lage\n"
        "      |          ^~~ did you mean \"bert-large\"?\n");
  CHECK(problems_of("transformer: {layers: 2, hiden: 8, heads: 0, vocab: 11.5}") ==
        "m.yaml:1:14: model.transformer: missing key \"hidden\"\n"
        "    1 | transformer: {layers: 2, hiden: 8, heads: 0, vocab: 11.5}\n"
        "      |              ^\n"
        "m.yaml:1:14: model.transformer: missing key \"sequence_length\"\n"
        "    1 | transformer: {layers: 2, hiden: 8, heads: 0, vocab: 11.5}\n"
        "      |              ^\n"
        "m.yaml:1:26: model.transformer: unknown key \"hiden\"\n"
        "    1 | transformer: {layers: 2, hiden: 8, heads: 0, vocab: 11.5}\n"
        "      |                          ^~~ did you mean \"hidden\"?\n"
        "m.yaml:1:43: model.transformer.heads: heads must be at least 1, found 0\n"
        "    1 | transformer: {layers: 2, hiden: 8, heads: 0, vocab: 11.5}\n"
        "      |                                           ^\n"
        "m.yaml:1:53: model.transformer.vocab: expected an integer, found \"11.5\"\n"
        "    1 | transformer: {layers: 2, hiden: 8, heads: 0, vocab: 11.5}\n"
        "      |                                                     ^\n");
  CHECK(problems_of("transformer: {layers: 2, hidden: 8, heads: 3, vocab: 11, sequence_length: 5}") ==
        "m.yaml:1:14: model.transformer: hidden 8 does not divide into 3 heads\n"
        "    1 | transformer: {layers: 2, hidden: 8, heads: 3, vocab: 11, sequence_length: 5}\n"
        "      |              ^\n");
}

TEST_CASE("messages, in part") {
  CHECK(mentions(problems_of("onnx: m.onnx"), "no file is called \"m.onnx\""));
  CHECK(mentions(problems_of("{}"), "says no model"));
  CHECK(mentions(problems_of("builtin: mlp\nonnx: x"), "has builtin already"));
  CHECK(mentions(problems_of("builtin: mlp\nbatch: 3"), "unknown key \"batch\""));
  CHECK(mentions(problems_of("builtin: mlp\nattention: flash"), "this model has no such setting"));
  CHECK(mentions(problems_of("builtin: vit-huge\nsequence_length: 3"), "it follows from the image"));
  CHECK(mentions(problems_of("builtin: swin-huge\nsequence_length: 3"), "it follows from the image"));
  CHECK(mentions(problems_of("builtin: bert-large\nattention: flsh"), "did you mean \"flash\"?"));
  CHECK(mentions(problems_of("huggingface: nowhere/config.json"), "no file is called \"nowhere/config.json\""));
  CHECK(mentions(problems_of(kSmall.substr(0, kSmall.size() - 1) + ", experts: 2, top_k: 3}"), "top_k 3 of 2 experts"));
  for (const char* key : {"top_k", "expert_ffn", "shared_experts"})
    CHECK(mentions(problems_of(kSmall.substr(0, kSmall.size() - 1) + ", " + key + ": 2}"), "the model has no experts"));
  CHECK(mentions(problems_of(kSmall.substr(0, kSmall.size() - 1) + ", activation: swiglu}"), "write gated: true, activation: silu"));
  CHECK(mentions(problems_of(kSmall.substr(0, kSmall.size() - 1) + ", positions: 4}"),
                 "sequence_length 5 is longer than the table of 4 positions"));
  CHECK(mentions(problems_of("transformer: {layers: 1, hidden: 1000000000, heads: 1, vocab: 1000000000, sequence_length: 2}"),
                 "is too large"));
  CHECK(mentions(problems_of("graph: {name: x, blocks: [{name: b, nodes: [{name: r, op: unary, function: relu, inputs: [y]}]}]}"),
                 "no node before this one is called \"y\""));
}

TEST_CASE("files: a Hugging Face config, a graph, a document that names a model") {
  const Folder folder;
  folder.write("config.json", R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 2, "vocab_size": 11, "n_positions": 5})");
  const Graph gpt = load("huggingface: config.json\nsequence_length: 4", 2, folder.path());
  CHECK(gpt.batch() == 2);
  CHECK(gpt.parameters() == (12 * 64 + 13 * 8) + 11 * 8 + 5 * 8 + 16);
  CHECK(load("huggingface: " + folder.path().string(), 1).name() == "foreshard_model_section_test");

  folder.write("g.yaml", write_graph(gpt));
  CHECK(load("graph: g.yaml", 2, folder.path()) == gpt);
  CHECK(load("graph: g.yaml", 5, folder.path()) == with_batch(gpt, 5));

  const std::filesystem::path document = folder.write("m.yaml", "foreshard: 1\nmodel: {graph: g.yaml}\n");
  CHECK(load_model_argument(document.string(), 2) == gpt);
  CHECK(load_model_argument((folder.path() / "g.yaml").string(), 2) == gpt);
  CHECK(load_model_argument((folder.path() / "config.json").string(), 2).parameters() == gpt.parameters());
  CHECK(load_model_argument("mlp-mnist", 2) == builtin("mlp-mnist", 2));
}

TEST_CASE("words that name no model") {
  const auto message = [](const std::string& word) {
    try {
      (void)load_model_argument(word, 1);
    } catch (const base::InputError& e) { return base::render(e.diagnostics().at(0)); }
    return std::string();
  };
  CHECK(mentions(message("bert-lrge"), "\"bert-lrge\" is neither a builtin model nor a file"));
  CHECK(mentions(message("bert-lrge"), "did you mean \"bert-large\"?"));
  const Folder folder;
  CHECK(mentions(message(folder.write("x.yaml", "a: 1\n").string()), "is no model"));
  CHECK(mentions(message(folder.write("v.yaml", "foreshard: 7\nmodel: {builtin: mlp-mnist}\n").string()), "format 7 is not known"));
}

}  // namespace
}  // namespace pcg::models
