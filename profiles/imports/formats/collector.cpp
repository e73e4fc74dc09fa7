#include "profiles/imports/formats/formats.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/diagnostics.hpp"
#include "profiles/imports/sources/byte_source.hpp"
#include "profiles/imports/traces/trace.hpp"

namespace imports {
namespace {

using nlohmann::json;

std::optional<pcg::KernelKind> kind_named(const std::string& text) {
  using K = pcg::KernelKind;
  constexpr std::array kKinds = {K::matmul,  K::convolution, K::attention, K::softmax, K::norm,      K::elementwise, K::embedding,
                                 K::pooling, K::reduction,   K::copy,      K::loss,    K::optimizer, K::permutation, K::attention_gradient};
  return profiles::find_named(kKinds, text);
}

std::optional<pcg::Precision> precision_named(const std::string& text) {
  using P = pcg::Precision;
  return profiles::find_named(std::array{P::fp32, P::tf32, P::fp16, P::bf16, P::fp8}, text);
}

class CollectedReader {
 public:
  CollectedReader(const json& document, const std::string& file) : document_(&document), file_(&file) {
    trace_.format = TraceFormat::collector;
    trace_.file = file;
  }
  ImportedTrace read();

 private:
  // Every problem is collected; the value in place of a wrong one is never used.
  void complain(const std::string& path, const std::string& message);
  double number(const json& in, const char* key, const std::string& path);
  std::int64_t whole(const json& in, const char* key, const std::string& path);
  std::string text(const json& in, const char* key, const std::string& path);
  void each(const char* list, void (CollectedReader::*read_item)(const json& in, const std::string& path));
  bool timed(const json& in);
  void read_device();
  void read_kernel(const json& in, const std::string& path);
  void check_flops(const pcg::Kernel& k, const std::string& path);
  void read_operation(const json& in, const std::string& path);
  void read_copy(const json& in, const std::string& path);
  void read_collective(const json& in, const std::string& path);
  void read_iteration(const json& in, const std::string& path);
  void read_notes();

  const json* document_;
  const std::string* file_;
  base::Diagnostics problems_;
  ImportedTrace trace_;
  std::size_t untimed_ = 0;
};

void CollectedReader::complain(const std::string& path, const std::string& message) {
  constexpr std::size_t kEnough = 20;  // a file that is wrong throughout needs no thousand messages
  const auto source = std::make_shared<const base::Source>(base::Source{*file_, {}});
  if (problems_.size() < kEnough) problems_.add(base::Mark{source, 0, 0}, path, message);
}

double CollectedReader::number(const json& in, const char* key, const std::string& path) {
  const auto at = in.find(key);
  const bool sound = at != in.end() && at->is_number() && std::isfinite(at->get<double>()) && at->get<double>() >= 0;
  if (sound) return at->get<double>();
  complain(path + "." + key,
           at == in.end() ? "is missing" : fmt::format("expected a number that is not negative, found {}", at->dump().substr(0, 60)));
  return 0;
}

std::int64_t CollectedReader::whole(const json& in, const char* key, const std::string& path) {
  const double n = number(in, key, path);
  if (n == std::floor(n) && n < 9e15) return static_cast<std::int64_t>(n);
  complain(path + "." + key, fmt::format("expected a whole number, found {}", n));
  return 0;
}

std::string CollectedReader::text(const json& in, const char* key, const std::string& path) {
  const auto at = in.find(key);
  if (at != in.end() && at->is_string()) return at->get<std::string>();
  complain(path + "." + key, at == in.end() ? "is missing" : fmt::format("expected text, found {}", at->dump().substr(0, 60)));
  return {};
}

// A list may be absent: the collector leaves out what it could not measure on this machine.
void CollectedReader::each(const char* list, void (CollectedReader::*read_item)(const json& in, const std::string& path)) {
  const auto at = document_->find(list);
  if (at == document_->end()) return;
  if (!at->is_array()) return complain(list, "expected a list");
  for (std::size_t i = 0; i < at->size(); ++i) {
    const std::string path = fmt::format("{}[{}]", list, i);
    if (!(*at)[i].is_object()) complain(path, "expected an object");
    else if (timed((*at)[i])) (this->*read_item)((*at)[i], path);
  }
}

// The collector writes null for a time that it could not take.
bool CollectedReader::timed(const json& in) {
  const auto at = in.find("seconds");
  const bool there = at == in.end() || !at->is_null();
  if (!there) ++untimed_;
  return there;
}

void CollectedReader::read_device() {
  const auto at = document_->find("device");
  if (at == document_->end() || !at->is_object()) return complain("device", "is missing");
  ImportedDevice d{.name = text(*at, "name", "device")};
  if (at->contains("memory_bytes")) d.memory = base::Bytes(number(*at, "memory_bytes", "device"));
  trace_.devices.push_back(std::move(d));
}

// 2 FLOPs per multiply-add, of every kernel that is a matmul or amounts to one.
void CollectedReader::check_flops(const pcg::Kernel& k, const std::string& path) {
  if (k.m == 0 || pcg::is_attention(k.kind)) return;  // a causal attention skips half
  const double wanted = 2.0 * static_cast<double>(k.batch) * static_cast<double>(k.m) * static_cast<double>(k.n) * static_cast<double>(k.k);
  if (std::abs(k.flops.value() - wanted) > 1e-6 * wanted)
    complain(path + ".flops", fmt::format("{} contradicts 2 batch m n k = {}", k.flops.value(), wanted));
}

void CollectedReader::read_kernel(const json& in, const std::string& path) {
  const std::string kind_text = text(in, "kind", path), precision_text = text(in, "precision", path);
  const auto kind = kind_named(kind_text);
  const auto precision = precision_named(precision_text);
  if (!kind) complain(path + ".kind", fmt::format("unknown kind \"{}\"", kind_text));
  if (!precision) complain(path + ".precision", fmt::format("unknown precision \"{}\"", precision_text));
  pcg::Kernel work{.kind = kind.value_or(pcg::KernelKind::elementwise)};
  work.flops = base::Flops(number(in, "flops", path));
  work.bytes = base::Bytes(number(in, "bytes", path));
  work.batch = whole(in, "batch", path), work.m = whole(in, "m", path), work.n = whole(in, "n", path), work.k = whole(in, "k", path);
  work.tensor_cores = work.m > 0;
  check_flops(work, path);
  const double seconds = number(in, "seconds", path);
  if (!(seconds > 0)) complain(path + ".seconds", "a kernel takes time: it must be more than 0");
  const std::string name = in.contains("operation") ? text(in, "operation", path) : kind_text;
  trace_.operations.push_back({.name = name, .work = work, .precision = precision, .source = fmt::format("{}: {}", *file_, path)});
  trace_.kernels.push_back({.name = trace_.names.id(name),
                            .operation = static_cast<std::uint32_t>(trace_.operations.size() - 1),
                            .kind = kind,
                            .precision = precision,
                            .duration = base::Seconds(seconds)});
}

// The operations of PyTorch that are one kernel: eager parts and variants are for people (tools/collector/operation_cases.py).
void CollectedReader::read_operation(const json& in, const std::string& path) {
  const std::string how = text(in, "how", path);
  if (how == "fused" || how == "plain" || how == "cudnn" || how == "compiled") read_kernel(in, path);
}

void CollectedReader::read_copy(const json& in, const std::string& path) {
  std::string name = "Memcpy " + text(in, "direction", path);
  if (in.contains("memory")) name += " " + text(in, "memory", path);
  trace_.kernels.push_back({.name = trace_.names.id(name),
                            .kind = pcg::KernelKind::copy,
                            .duration = base::Seconds(number(in, "seconds", path)),
                            .moved = base::Bytes(number(in, "bytes", path))});
}

void CollectedReader::read_collective(const json& in, const std::string& path) {
  const std::string name = text(in, "collective", path);
  ImportedCollective c{.name = trace_.names.id(name), .kind = profiles::collective_kind(name)};
  if (!c.kind) complain(path + ".collective", fmt::format("unknown collective \"{}\"", name));
  const std::int64_t gpus = whole(in, "gpus", path);
  if (gpus < 1 || gpus > 1'000'000) complain(path + ".gpus", fmt::format("{} GPUs", gpus));
  else c.group_size = static_cast<int>(gpus);
  c.nodes = 1;  // the collector runs on one machine
  c.bytes = base::Bytes(number(in, "bytes", path));
  c.sent = c.kind == profiles::CollectiveKind::all_gather && c.group_size > 0 ? *c.bytes / c.group_size : *c.bytes;
  c.duration = base::Seconds(number(in, "seconds", path));
  if (!(c.duration.value() > 0)) complain(path + ".seconds", "a collective takes time: it must be more than 0");
  c.source = fmt::format("{}: {}", *file_, path);
  trace_.collectives.push_back(std::move(c));
}

void CollectedReader::read_iteration(const json& in, const std::string& path) {
  std::string name = text(in, "model", path);
  if (in.contains("batch")) name += fmt::format(", batch {}", whole(in, "batch", path));
  if (in.contains("precision")) name += ", " + text(in, "precision", path);
  trace_.iterations.push_back({.name = std::move(name), .duration = base::Seconds(number(in, "seconds", path))});
}

void CollectedReader::read_notes() {
  if (untimed_ > 0) trace_.notes.push_back(fmt::format("{} results have no time and are left out", untimed_));
  if (const auto at = document_->find("left_out"); at != document_->end() && at->is_array() && !at->empty())
    trace_.notes.push_back(fmt::format("the collector left out {} cases, the first: {}", at->size(), at->front().dump().substr(0, 200)));
}

ImportedTrace CollectedReader::read() {
  const auto version = document_->find("foreshard_collect");
  if (version == document_->end() || !version->is_number_integer() || version->get<double>() != 1)
    refuse(*file_, fmt::format("is a collector's file of version {}; this program reads version 1",
                               version == document_->end() ? "unknown" : version->dump().substr(0, 20)));
  read_device();
  each("kernels", &CollectedReader::read_kernel);
  each("operations", &CollectedReader::read_operation);
  each("copies", &CollectedReader::read_copy);
  each("collectives", &CollectedReader::read_collective);
  each("iterations", &CollectedReader::read_iteration);
  each("decoders", &CollectedReader::read_iteration);
  problems_.throw_if_any();
  read_notes();
  finish_trace(trace_);
  return std::move(trace_);
}

}  // namespace

ImportedTrace read_collected(const json& document, const std::string& file) { return CollectedReader(document, file).read(); }

}  // namespace imports
