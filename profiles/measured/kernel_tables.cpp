// Each public table says which device it was measured on; rows of a device that has no profile are left out with a note.
#include "profiles/measured/tables.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "profiles/device_profile.hpp"
#include "profiles/kinds.hpp"

namespace measured {
namespace {

using pcg::KernelKind;
using pcg::Precision;

constexpr std::string_view kKernelHeader = "device,precision,kind,batch,m,n,k,flops,bytes,seconds";

// The names that public tables give to devices that have a profile. The V100 of NeuSight has 32 GB; only the profile's memory differs.
const Names& foreign_devices() {
  static const Names kNames = {
      {"a100_sxm", "a100-sxm-80gb"},
      {"h100_sxm", "h100-sxm-80gb"},
      {"h200_sxm", "h200-sxm-141gb"},
      {"b200_sxm", "b200-sxm-180gb"},
      {"l40s", "l40s-48gb"},
      {"a100", "a100-sxm-80gb"},
      {"h100", "h100-sxm-80gb"},
      {"A100", "a100-sxm-80gb"},
      {"V100", "v100-sxm2-16gb"},
      {"T4", "t4-16gb"},
      {"Tesla T4", "t4-16gb"},
      {"NVIDIA L4", "l4-24gb"},
      {"Tesla V100-PCIE-32GB", "v100-pcie-16gb"},
      {"NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"},
      {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
      {"NVIDIA H100 80GB HBM3", "h100-sxm-80gb"},
      {"NVIDIA H200", "h200-sxm-141gb"},
      {"NVIDIA GB200", "gb200-186gb"},
      {"NVIDIA GB300", "gb300-288gb"},
  };
  return kNames;
}

pcg::Kernel product(KernelKind kind, double batch, double m, double n, double k, double element_bytes) {
  const auto whole = [](double x) { return static_cast<std::int64_t>(x); };
  return {.kind = kind,
          .flops = base::Flops(2 * batch * m * n * k),
          .bytes = base::Bytes(element_bytes * batch * (m * k + k * n + m * n)),
          .batch = whole(batch),
          .m = whole(m),
          .n = whole(n),
          .k = whole(k),
          .tensor_cores = true};
}
pcg::Kernel traffic(KernelKind kind, double bytes) { return {.kind = kind, .bytes = base::Bytes(bytes)}; }

// Adds the rows of one table to the measurements, or counts why not.
class KernelRows : public TableRows {
 public:
  using TableRows::TableRows;

  // Returns the profile's name, or nullopt, and then counts the row.
  std::optional<std::string> device(const std::string& name) { return ours(foreign_devices(), name, "no device profile for"); }
  // Calls use(row, device) for each row whose device, which a column names, has a profile; the other rows are counted.
  template <class Use>
  void each(std::string_view column, Use use) {
    for (const CsvRow& row : t_.rows())
      if (const auto known = device(t_.cell(row, column))) use(row, *known);
  }
  void add(const CsvRow& row, const std::string& device, Precision p, const pcg::Kernel& k, std::optional<double> seconds) {
    const bool product = k.kind == KernelKind::matmul || k.kind == KernelKind::convolution || pcg::is_attention(k.kind);
    if (product ? !profiles::is_product(k) : !(k.bytes.value() > 0)) return leave_out("a size is 0");
    if (!seconds || !(*seconds > 0)) return leave_out("no time");
    into_.kernels.push_back({device, p, k, base::Seconds(*seconds), t_.source(row)});
  }
};

double size_of(const CsvTable& t, const CsvRow& row, std::string_view column) {
  const auto x = t.number(row, column);
  if (!x || *x < 0 || *x > 1e15 || *x != static_cast<double>(static_cast<std::int64_t>(*x)))
    t.complain(row, fmt::format("{}: \"{}\" is no size", column, t.cell(row, column)));
  return *x;
}

void read_own_kernels(const CsvTable& t, KernelRows& c) {
  for (const CsvRow& row : t.rows()) {
    const auto precision = profiles::find_precision(t.cell(row, "precision"));
    if (!precision)
      t.complain(row, fmt::format("precision: \"{}\" is none of fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4", t.cell(row, "precision")));
    const auto kind = profiles::find_kind(t.cell(row, "kind"));
    if (!kind)
      t.complain(row, fmt::format("kind: \"{}\" is no kind of kernel", t.cell(row, "kind")), "e.g. matmul, attention, norm, elementwise");
    const bool sized = *kind == KernelKind::matmul || *kind == KernelKind::convolution || pcg::is_attention(*kind);
    pcg::Kernel k = traffic(*kind, 0);
    if (sized)
      k = product(*kind, size_of(t, row, "batch"), size_of(t, row, "m"), size_of(t, row, "n"), size_of(t, row, "k"),
                  pcg::element_bytes(pcg::Element::real, *precision).value());
    if (const auto flops = t.number(row, "flops")) k.flops = base::Flops(*flops);
    if (const auto bytes = t.number(row, "bytes")) k.bytes = base::Bytes(*bytes);
    if (k.flops.value() < 0 || k.bytes.value() < 0) t.complain(row, "negative work");
    c.add(row, t.cell(row, "device"), *precision, k, t.number(row, "seconds"));
  }
}

// aiconfigurator: the device is the folder that the source names, "... systems/data/a100_sxm/gemm/...".
void read_matmuls(const CsvTable& t, KernelRows& c) {
  for (const CsvRow& row : t.rows()) {
    const std::string& source = t.cell(row, "source");
    constexpr std::string_view kBefore = "systems/data/";
    const std::size_t at = source.find(kBefore);
    if (at == std::string::npos) t.complain(row, "source: names no system", "it should hold systems/data/SYSTEM/");
    const std::size_t from = at + kBefore.size();
    const auto device = c.device(source.substr(from, source.find('/', from) - from));
    if (!device) continue;
    const auto k = product(KernelKind::matmul, 1, size_of(t, row, "m"), size_of(t, row, "n"), size_of(t, row, "k"), 2);
    c.add(row, *device, Precision::bf16, k, t.number(row, "latency_ms", 1e-3));
  }
}

// aiconfigurator: fused causal attention, forward; fewer heads of keys and values where they are shared.
void read_attention(const CsvTable& t, KernelRows& c) {
  c.each("system", [&](const CsvRow& row, const std::string& device) {
    const double batch = size_of(t, row, "batch"), length = size_of(t, row, "seq_len"), heads = size_of(t, row, "num_heads");
    const double shared = size_of(t, row, "num_kv_heads_0=mha"), width = size_of(t, row, "head_dim");
    pcg::Kernel k = product(KernelKind::attention, batch * heads, length, length, width, 2);
    // Two products, half of each: 2 b s s d FLOPs, as k.flops is already. q and the output are read and written once, keys and values too.
    k.bytes = base::Bytes(2 * batch * length * width * (2 * heads + 2 * (shared > 0 ? shared : heads)));
    c.add(row, device, Precision::bf16, k, t.number(row, "latency_ms", 1e-3));
  });
}

// cuDNN's benchmark of fused attention in training (NVIDIA/cudnn-frontend, benchmark/attention_training): one pass a row. Other libraries'
// kernels are left out, and those that add gradients in a fixed order, which trainings ask for only when they must.
bool says(const CsvTable& t, const CsvRow& row, std::string_view column, std::string_view text) {
  return t.has_all({column}) && t.cell(row, column) == text;
}

void add_cudnn_kernel(const CsvTable& t, KernelRows& c, const CsvRow& row, const std::string& device) {
  const std::string& type = t.cell(row, "data_type");
  const auto precision = profiles::find_precision(type == "bfloat16" ? "bf16" : type == "float16" ? "fp16" : type);
  if (!precision) return c.leave_out("a data type that has no name here");
  const bool backward = t.cell(row, "profile_pass") == "bwd";
  const double batch = size_of(t, row, "batch_size"), heads = size_of(t, row, "num_q_heads"), shared = size_of(t, row, "num_kv_heads");
  const double queries = size_of(t, row, "q_seqlen"), keys = size_of(t, row, "kv_seqlen");
  const double query = size_of(t, row, "head_dim_qk"), value = size_of(t, row, "head_dim_vo");
  const double window = t.cell(row, "sliding_window_size").empty() ? 0 : size_of(t, row, "sliding_window_size");
  const double reach = window > 0 ? std::min(window, keys) : keys;
  const bool causal = !says(t, row, "attn_mask", "no_mask");
  // As pcg/work counts attention's FLOPs and bytes.
  pcg::Kernel k = product(backward ? KernelKind::attention_gradient : KernelKind::attention, batch * heads, queries, reach,
                          std::floor((query + value) / 2), 2);
  const double dims = backward ? 3 * query + 2 * value : query + value;
  k.flops = base::Flops(2 * batch * heads * queries * reach * (causal ? 1 - reach / (2 * keys) : 1) * dims);
  k.bytes = base::Bytes(2 * batch * (heads * queries + shared * keys) * (query + value) * (backward ? 2 : 1));
  c.add(row, device, *precision, k, t.number(row, "time_ms", 1e-3));
}

void read_cudnn_attention(const CsvTable& t, KernelRows& c) {
  c.each("gpu_name", [&](const CsvRow& row, const std::string& device) {
    if (says(t, row, "success", "False") || says(t, row, "skipped", "True")) c.leave_out("no time");
    else if (says(t, row, "deterministic_bwd", "True")) c.leave_out("gradients are added in a fixed order");
    else if (t.has_all({"backend"}) && !says(t, row, "backend", "cudnn")) c.leave_out("attention of another library than cuDNN");
    else add_cudnn_kernel(t, c, row, device);
  });
}

// NeuSight: B products of M x N x K; N and K are those of torch's matmul.
void read_neusight_products(const CsvTable& t, KernelRows& c) {
  c.each("device", [&](const CsvRow& row, const std::string& device) {
    const auto k = product(KernelKind::matmul, size_of(t, row, "B"), size_of(t, row, "M"), size_of(t, row, "N"), size_of(t, row, "K"), 4);
    c.add(row, device, Precision::fp32, k, t.number(row, "latency_ms", 1e-3));
  });
}

// NeuSight: operators over B x H elements; two operands for add, div, mul, pow (with a "u" at the end: one and a number).
void read_neusight_traffic(const CsvTable& t, KernelRows& c) {
  c.each("device", [&](const CsvRow& row, const std::string& device) {
    const std::string& op = t.cell(row, "op");
    const bool binary = op == "add" || op == "div" || op == "mul" || op == "pow";
    const KernelKind kind = op == "ln" ? KernelKind::norm : op == "softmax" ? KernelKind::softmax : KernelKind::elementwise;
    const double elements = size_of(t, row, "B") * size_of(t, row, "H");
    c.add(row, device, Precision::fp32, traffic(kind, 4 * elements * (binary ? 3 : 2)), t.number(row, "latency_ms", 1e-3));
  });
}

// NeuSight: forward convolutions, square windows and images. fp32, but cuDNN uses TF32 on an A100 by default.
void read_neusight_convolutions(const CsvTable& t, KernelRows& c) {
  c.each("Device", [&](const CsvRow& row, const std::string& device) {
    const double batch = size_of(t, row, "B"), in = size_of(t, row, "Input_Channel"), out = size_of(t, row, "Output_Channel");
    const double window = size_of(t, row, "Kernel_Szie"), side = size_of(t, row, "Input_Size"), stride = size_of(t, row, "Stride");
    if (!(stride > 0)) t.complain(row, "Stride: 0");
    const double result =
        std::max(0.0, static_cast<double>(static_cast<std::int64_t>((side + 2 * size_of(t, row, "Padding") - window) / stride)) + 1);
    pcg::Kernel k = product(KernelKind::convolution, 1, batch * result * result, out, in * window * window, 4);
    k.bytes = base::Bytes(4 * (batch * in * side * side + out * in * window * window + batch * out * result * result));
    const bool tf32 = profiles::device_profile(device).peak.contains(Precision::tf32);
    c.add(row, device, tf32 ? Precision::tf32 : Precision::fp32, k, t.number(row, "Latency", 1e-3));
  });
}

// DeepBench: a cell of JSON holds the fields of the sheet, whose names differ a little between sheets.
std::optional<double> json_number(const nlohmann::json& fields, std::string_view name, double unit = 1) {
  for (const auto& [key, value] : fields.items())
    if ((key == name || key.starts_with(std::string(name) + " (")) && value.is_number()) return value.get<double>() * unit;
  return std::nullopt;
}

double json_size(const CsvTable& t, const CsvRow& row, const nlohmann::json& fields, std::string_view name) {
  const auto x = json_number(fields, name);
  if (!x || *x < 0 || *x > 1e12) t.complain(row, fmt::format("fields_json: {} is missing or no size", name));
  return *x;
}

void add_deepbench_matmul(const CsvTable& t, KernelRows& c, const CsvRow& row, const nlohmann::json& f, bool half) {
  const auto device = c.device(t.cell(row, "device"));
  if (!device) return;
  // Its matrices are stored by columns: M are the features, N the samples, which we call n and m.
  const auto k =
      product(KernelKind::matmul, 1, json_size(t, row, f, "N"), json_size(t, row, f, "M"), json_size(t, row, f, "K"), half ? 2 : 4);
  c.add(row, *device, half ? Precision::fp16 : Precision::fp32, k, json_number(f, "Time (msec)", 1e-3));
}

// Forward, gradient of the input and gradient of the weights are three products of the same sizes, as pcg/work counts them.
void add_deepbench_convolution(const CsvTable& t, KernelRows& c, const CsvRow& row, const nlohmann::json& f, bool half) {
  const auto device = c.device(t.cell(row, "device"));
  if (!device) return;
  const auto size = [&](std::string_view name) { return json_size(t, row, f, name); };
  const double images = size("N"), out = size("K"), in = size("C");
  const double window = in * size("R") * size("S"), positions = images * size("P") * size("Q");
  const double element = half ? 2 : 4;
  const double bytes = element * (images * in * size("H") * size("W") + out * window + positions * out);
  const auto add = [&](double m, double n, double k, const char* time) {
    pcg::Kernel kernel = product(KernelKind::convolution, 1, m, n, k, element);
    kernel.bytes = base::Bytes(bytes);
    c.add(row, *device, half ? Precision::fp16 : Precision::fp32, kernel, json_number(f, time, 1e-3));
  };
  add(positions, out, window, "Forward (msec)");
  add(positions, window, out, "wrt Inputs (msec)");
  add(out, window, positions, "wrt Parameters (msec)");
}

void read_deepbench(const CsvTable& t, KernelRows& c) {
  for (const CsvRow& row : t.rows()) {
    const auto fields = nlohmann::json::parse(t.cell(row, "fields_json"), nullptr, false);
    if (!fields.is_object()) t.complain(row, "fields_json: no JSON object");
    const std::string& sheet = t.cell(row, "precision_sheet");
    const bool half = sheet.find("FP16") != std::string::npos;
    if (sheet.find("Psuedo") != std::string::npos) c.leave_out("computed in fp32 whatever is stored");
    else if (fields.contains("Time (msec)") && fields.contains("M")) add_deepbench_matmul(t, c, row, fields, half);
    else if (fields.contains("Forward (msec)")) add_deepbench_convolution(t, c, row, fields, half);
    else c.leave_out("neither a matmul nor a convolution");
  }
}

// Vidur: operators of a transformer's forward pass, in bf16. Times have a resolution of 1 us.
void add_vidur_operators(const CsvTable& t, KernelRows& c, const CsvRow& row, const std::string& device) {
  const double tokens = size_of(t, row, "num_tokens"), width = size_of(t, row, "n_embd"), tp = size_of(t, row, "tp");
  if (!(tp > 0)) t.complain(row, "tp: 0");
  const bool gated = t.cell(row, "gated_mlp") == "True";
  const double ffn = size_of(t, row, "n_expanded_embd") / tp, heads = size_of(t, row, "n_head");
  const double packed = width / heads * (heads + 2 * size_of(t, row, "n_kv_head")) / tp;
  const auto add = [&](const pcg::Kernel& k, const char* column) { c.add(row, device, Precision::bf16, k, t.number(row, column, 1e-3)); };
  add(product(KernelKind::matmul, 1, tokens, packed, width, 2), "attn_pre_proj_ms");
  add(product(KernelKind::matmul, 1, tokens, width, width / tp, 2), "attn_post_proj_ms");
  add(product(KernelKind::matmul, 1, tokens, (gated ? 2 : 1) * ffn, width, 2), "mlp_up_proj_ms");
  add(product(KernelKind::matmul, 1, tokens, width, ffn, 2), "mlp_down_proj_ms");
  add(traffic(KernelKind::norm, 2 * tokens * 2 * width), "input_layernorm_ms");
  add(traffic(KernelKind::elementwise, 2 * tokens * 3 * width), "add_ms");
  add(traffic(KernelKind::elementwise, 2 * tokens * (gated ? 3 : 2) * ffn), "mlp_act_ms");
  add(traffic(KernelKind::embedding, 2 * tokens * 2 * width), "emb_ms");
}

void read_vidur_operators(const CsvTable& t, KernelRows& c) {
  constexpr double kFewestTokens = 128;  // below it a kernel takes few of the clock's steps of 1 us, and rounding decides
  c.each("device", [&](const CsvRow& row, const std::string& device) {
    if (size_of(t, row, "num_tokens") < kFewestTokens) c.leave_out("kernels of a few microseconds, measured to 1 us");
    else add_vidur_operators(t, c, row, device);
  });
}

// LLMCompass: fp16 matmuls as milliseconds, softmax, norm and GELU as elements per second.
void read_llmcompass(const CsvTable& t, KernelRows& c) {
  c.each("device", [&](const CsvRow& row, const std::string& device) {
    const std::string& op = t.cell(row, "op");
    const double value = t.number(row, "value").value_or(0);
    const double first = size_of(t, row, "dim0"), second = t.number(row, "dim1").value_or(1);
    if (op == "matmul") {
      c.add(row, device, Precision::fp16, product(KernelKind::matmul, 1, first, second, size_of(t, row, "dim2"), 2), value * 1e-3);
    } else {
      const KernelKind kind = op == "softmax" ? KernelKind::softmax : op == "layernorm" ? KernelKind::norm : KernelKind::elementwise;
      c.add(row, device, Precision::fp16, traffic(kind, 4 * first * second),
            value > 0 ? std::optional(first * second / value * 1e-9) : std::nullopt);
    }
  });
}

}  // namespace

bool read_kernel_table(const CsvTable& t, Measurements& into) {
  static const KnownTables<KernelRows> kTables = {
      {{"m", "n", "k", "latency_ms", "tflops", "source"}, read_matmuls},
      {{"system", "seq_len", "num_kv_heads_0=mha", "head_dim", "latency_ms"}, read_attention},
      {{"gpu_name", "data_type", "q_seqlen", "head_dim_qk", "profile_pass", "time_ms", "sliding_window_size"}, read_cudnn_attention},
      {{"device", "op", "B", "M", "N", "K", "latency_ms"}, read_neusight_products},
      {{"device", "op", "B", "H", "latency_ms"}, read_neusight_traffic},
      {{"Latency", "Device", "Kernel_Szie", "Padding"}, read_neusight_convolutions},
      {{"device", "precision_sheet", "fields_json"}, read_deepbench},
      {{"device", "num_tokens", "mlp_act_ms", "gated_mlp"}, read_vidur_operators},
      {{"device", "op", "dim0", "dim1", "dim2", "metric", "value"}, read_llmcompass},
  };
  if (fmt::format("{}", fmt::join(t.columns(), ",")) != kKernelHeader) return read_known(kTables, t, into);
  KernelRows rows(t, into);
  read_own_kernels(t, rows);
  return true;
}

std::string to_csv(const std::vector<KernelMeasurement>& kernels) {
  std::string text = std::string(kKernelHeader) + "\n";
  for (const KernelMeasurement& x : kernels) {
    const pcg::Kernel& k = x.kernel;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", x.device, pcg::to_text(x.precision), pcg::to_text(k.kind), k.batch, k.m, k.n,
                        k.k, k.flops.value(), k.bytes.value(), x.time.value());
  }
  return text;
}

}  // namespace measured
