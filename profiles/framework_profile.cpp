#include "profiles/framework_profile.hpp"

#include <fmt/core.h>

#include <limits>

#include "base/check.hpp"
#include "base/diagnostics.hpp"
#include "profiles/framework_files.hpp"

namespace profiles {
namespace {

HostCosts read_host(const base::Yaml& node, base::Diagnostics& sink) {
  base::MapReader map(node, "framework.host", sink);
  HostCosts h;
  const auto read = [&map](const char* key) {
    const base::Seconds s = map.seconds(key).value_or(base::Seconds(0));
    if (s.value() < 0) map.complain(key, "cannot be negative");
    return s;
  };
  h.forward_kernel = read("forward_kernel");
  h.backward_kernel = read("backward_kernel");
  h.collective = read("collective");
  h.straggling = read("straggling");
  h.recomputed_block = read("recomputed_block");
  h.micro_batch = read("micro_batch");
  h.iteration = read("iteration");
  map.finish();
  return h;
}

base::Bytes read_bucket(base::MapReader& map) {
  const base::Yaml* bucket = map.optional("gradient_bucket");
  if (bucket != nullptr && bucket->is_scalar() && bucket->scalar == "all") return base::Bytes(std::numeric_limits<double>::infinity());
  const base::Bytes bytes = map.bytes("gradient_bucket").value_or(base::Bytes(0));
  map.require("gradient_bucket");
  if (bytes.value() < 0) map.complain("gradient_bucket", "cannot be negative", "write a size, or \"all\" for one bucket at the end");
  return bytes;
}

FrameworkProfile read_framework(const base::Yaml& node, base::Diagnostics& sink) {
  base::MapReader map(node, "framework", sink);
  FrameworkProfile f;
  if (const auto which = map.choice("name", pcg::framework_names())) f.framework = static_cast<pcg::Framework>(*which);
  map.require("name");
  f.gradient_bucket = read_bucket(map);
  f.overlap_gradients = map.boolean("overlap_gradients").value_or(true);
  f.overlap_input_gradient = map.boolean("overlap_input_gradient").value_or(true);
  f.fused_gradient_accumulation = map.boolean("fused_gradient_accumulation").value_or(false);
  f.host_waits_for_stage = map.boolean("host_waits_for_stage").value_or(false);
  if (const base::Yaml* host = map.required("host")) f.host = read_host(*host, sink);
  map.finish();
  return f;
}

std::map<pcg::Framework, FrameworkProfile> load_shipped() {
  std::map<pcg::Framework, FrameworkProfile> profiles;
  for (const auto& [name, text] : framework_files()) {
    const FrameworkProfile f = load_framework_profile(base::parse_yaml(std::string(text), fmt::format("<framework {}>", name)));
    profiles.emplace(f.framework, f);
  }
  return profiles;
}

}  // namespace

FrameworkProfile load_framework_profile(const base::Yaml& document) {
  base::Diagnostics sink;
  base::MapReader map(document, "", sink);
  if (const auto version = map.integer("foreshard"); version && *version != 1)
    map.complain("foreshard", fmt::format("format {} is not known", *version), "this program reads format 1");
  map.require("foreshard");
  FrameworkProfile f;
  if (const base::Yaml* framework = map.required("framework")) f = read_framework(*framework, sink);
  map.finish();
  sink.throw_if_any();
  return f;
}

const FrameworkProfile& framework_profile(pcg::Framework f) {
  static const auto kShipped = load_shipped();  // constant data, read once
  const auto at = kShipped.find(f);
  BASE_CHECK(at != kShipped.end(), "no profile ships for framework {}", static_cast<int>(f));
  return at->second;
}

}  // namespace profiles
