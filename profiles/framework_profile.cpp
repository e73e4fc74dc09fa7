#include "profiles/framework_profile.hpp"

#include <fmt/core.h>

#include <limits>

#include "base/check.hpp"
#include "base/diagnostics.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/framework_files.hpp"

namespace profiles {
namespace {

HostCosts read_host(const base::Yaml& node, const std::string& path, base::Diagnostics& sink) {
  base::MapReader map(node, path, sink);
  HostCosts h;
  const auto read = [&map](const char* key) {
    const base::Seconds s = map.seconds(key).value_or(base::Seconds(0));
    if (s.value() < 0) map.complain(key, "cannot be negative");
    return s;
  };
  h.forward_kernel = read("forward_kernel");
  h.backward_kernel = read("backward_kernel");
  h.collective = read("collective");
  h.launch_jitter = read("launch_jitter");
  h.recomputed_block = read("recomputed_block");
  h.micro_batch = read("micro_batch");
  h.iteration = read("iteration");
  if (const auto basis = map.choice("basis", host_basis_names())) h.basis = static_cast<HostBasis>(*basis);
  map.finish();
  return h;
}

LossCost read_loss(const base::Yaml& node, const std::string& path, base::Diagnostics& sink) {
  base::MapReader map(node, path, sink);
  LossCost l;
  l.forward_kernels = static_cast<int>(map.integer("forward_kernels", 1, 100).value_or(1));
  l.backward_kernels = static_cast<int>(map.integer("backward_kernels", 1, 100).value_or(1));
  l.forward = map.bytes("forward_bytes").value_or(base::Bytes(0));
  l.backward = map.bytes("backward_bytes").value_or(base::Bytes(0));
  for (const char* key : {"forward_kernels", "backward_kernels", "forward_bytes", "backward_bytes"}) map.require(key);
  map.finish();
  return l;
}

std::map<std::string, double> read_shares(const base::Yaml& node, const std::string& path, base::Diagnostics& sink) {
  base::MapReader map(node, path, sink);
  std::map<std::string, double> shares;
  for (const std::string& device : device_names()) {
    const std::string generation = device.substr(0, device.find('-'));
    if (shares.contains(generation)) continue;
    if (const auto share = map.number(generation, 0.01, 1)) shares[generation] = *share;
  }
  map.finish();
  return shares;
}

base::Bytes read_bucket(base::MapReader& map) {
  const base::Yaml* bucket = map.optional("gradient_bucket");
  if (bucket != nullptr && bucket->is_scalar() && bucket->scalar == "all") return base::Bytes(std::numeric_limits<double>::infinity());
  const base::Bytes bytes = map.bytes("gradient_bucket").value_or(base::Bytes(0));
  map.require("gradient_bucket");
  if (bytes.value() < 0) map.complain("gradient_bucket", "cannot be negative", "write a size, or \"all\" for one bucket at the end");
  return bytes;
}

struct Shipped {
  std::string_view text;
  base::Yaml section;
  FrameworkProfile profile;
};

std::map<pcg::Framework, Shipped> load_shipped() {
  std::map<pcg::Framework, Shipped> profiles;
  for (const auto& [name, text] : framework_files()) {
    base::Yaml document = base::parse_yaml(std::string(text), fmt::format("<framework {}>", name));
    const FrameworkProfile f = load_framework_profile(document);
    profiles.emplace(f.framework, Shipped{text, std::move(*document.find("framework")), f});
  }
  return profiles;
}

const Shipped& shipped(pcg::Framework f) {
  static const auto kShipped = load_shipped();  // constant data, read once
  const auto at = kShipped.find(f);
  BASE_CHECK(at != kShipped.end(), "no profile ships for framework {}", static_cast<int>(f));
  return at->second;
}

}  // namespace

FrameworkProfile read_framework_section(const base::Yaml& section, const std::string& path, base::Diagnostics& sink) {
  base::MapReader map(section, path, sink);
  FrameworkProfile f;
  if (const auto which = map.choice("name", pcg::framework_names())) f.framework = static_cast<pcg::Framework>(*which);
  map.require("name");
  f.gradient_bucket = read_bucket(map);
  f.overlap_gradients = map.boolean("overlap_gradients").value_or(true);
  f.overlap_input_gradient = map.boolean("overlap_input_gradient").value_or(true);
  f.fused_gradient_accumulation = map.boolean("fused_gradient_accumulation").value_or(false);
  f.fp32_gradients = map.boolean("fp32_gradients").value_or(false);
  f.overlap_stage_boundary = map.boolean("overlap_stage_boundary").value_or(true);
  f.host_waits_for_stage = map.boolean("host_waits_for_stage").value_or(false);
  f.host_waits_for_batch = map.boolean("host_waits_for_batch").value_or(false);
  f.prefetch_units = static_cast<int>(map.integer("prefetch_units", 0, 1000).value_or(f.prefetch_units));
  f.transformer_dropout = map.number("transformer_dropout", 0, 1).value_or(0);
  if (const base::Yaml* attention = map.optional("attention")) f.attention = read_shares(*attention, map.path_of("attention"), sink);
  if (const base::Yaml* sustained = map.optional("sustained")) f.sustained = read_shares(*sustained, map.path_of("sustained"), sink);
  if (const base::Yaml* loss = map.optional("loss")) f.loss = read_loss(*loss, map.path_of("loss"), sink);
  if (const base::Yaml* host = map.required("host")) f.host = read_host(*host, map.path_of("host"), sink);
  map.finish();
  return f;
}

FrameworkProfile load_framework_profile(const base::Yaml& document) {
  base::Diagnostics sink;
  base::MapReader map(document, "", sink);
  map.format();
  FrameworkProfile f;
  if (const base::Yaml* framework = map.required("framework")) f = read_framework_section(*framework, "framework", sink);
  map.finish();
  sink.throw_if_any();
  return f;
}

const std::vector<std::string>& host_basis_names() {
  static const std::vector<std::string> kNames = {"assumed", "partly", "fitted"};
  return kNames;
}

const FrameworkProfile& framework_profile(pcg::Framework f) { return shipped(f).profile; }
std::string_view framework_text(pcg::Framework f) { return shipped(f).text; }
const base::Yaml& framework_section(pcg::Framework f) { return shipped(f).section; }

}  // namespace profiles
