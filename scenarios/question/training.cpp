#include "scenarios/question/training.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/yaml/parse.hpp"
#include "base/yaml/patch.hpp"
#include "base/yaml/reader.hpp"
#include "pcg/plan/low_precision.hpp"
#include "profiles/device_profile.hpp"

namespace scenarios {
namespace {

using base::Diagnostics;
using base::Yaml;

// `true`, or the largest norm, 0 standing for none: it changes no time.
bool clips_gradients(base::MapReader& in) {
  const base::Yaml* value = in.optional("clip_gradients");
  const bool is_number = value != nullptr && value->is_scalar() && value->scalar.find_first_of("0123456789") != std::string::npos;
  return is_number ? in.number("clip_gradients", 0, 1e308).value_or(0) > 0 : in.boolean("clip_gradients").value_or(false);
}

// Paths of the values in a map of maps, in order, and their text.
void collect(const Yaml& y, const std::string& path, std::vector<std::pair<std::string, std::string>>& values) {
  if (!y.is_map()) return values.emplace_back(path, y.scalar), void();
  for (const Yaml::Entry& e : y.entries) collect(e.value, path.empty() ? e.key : path + "." + e.key, values);
}

std::vector<std::string> changed_keys(const Yaml& before, const Yaml& after) {
  std::vector<std::pair<std::string, std::string>> old_values, new_values;
  collect(before, "", old_values);
  collect(after, "", new_values);
  const std::map<std::string, std::string> known(old_values.begin(), old_values.end());
  std::vector<std::string> changed;
  for (const auto& [key, value] : new_values)
    if (const auto at = known.find(key); at == known.end() || at->second != value) changed.push_back(key);
  return changed;
}

std::optional<pcg::Framework> named(const Yaml& word, const std::string& path, Diagnostics& sink) {
  const auto text = base::as_text(word, path, sink);
  if (!text) return std::nullopt;
  if (const auto known = pcg::named<pcg::Framework>(*text)) return known;
  const bool is_file = text->find_first_of("./") != std::string::npos;
  sink.add(word.mark, path, fmt::format("unknown framework \"{}\"", *text),
           is_file ? fmt::format("write {{file: {}}}", *text) : base::suggest(*text, pcg::names<pcg::Framework>()));
  return std::nullopt;
}

// The profile's map in a file; nullopt: it has problems.
std::optional<Yaml> section_of(const Yaml& file, const std::string& path, const std::filesystem::path& directory, Diagnostics& sink) {
  try {
    Yaml document = base::read_yaml(file, path, directory);
    (void)profiles::load_framework_profile(document);
    return std::move(*document.find("framework"));
  } catch (const base::InputError& e) { sink.add_all(e); }
  return std::nullopt;
}

// The profile that a map starts from; nullopt: what is wrong is said.
std::optional<Yaml> start_of(const Yaml& map, const std::string& path, const std::filesystem::path& directory, Diagnostics& sink) {
  const Yaml *name = map.find("name"), *file = map.find("file");
  if ((name == nullptr) == (file == nullptr)) {
    sink.add(map.mark, path, name == nullptr ? "neither name nor file" : "name and file are both given",
             "write e.g. {name: pytorch, prefetch_units: 2}, or {file: mine.yaml}");
    return std::nullopt;
  }
  if (name != nullptr) {
    const auto framework = named(*name, path + ".name", sink);
    return framework ? std::optional(profiles::framework_section(*framework)) : std::nullopt;
  }
  const auto text = base::as_text(*file, path + ".file", sink);
  return text ? section_of(*file, path + ".file", directory, sink) : std::nullopt;
}

pcg::Precision natural_precision(const topology::Cluster& cluster) {
  const std::set<std::string> types = device_types(cluster.devices());
  const auto is_quicker = [](const std::string& type, pcg::Precision p) {  // than in fp32: on tensor cores
    const auto& peak = profiles::device_profile(type).peak;
    const auto at = peak.find(p), fp32 = peak.find(pcg::Precision::fp32);
    return at != peak.end() && (fp32 == peak.end() || at->second > fp32->second * 1.5);
  };
  for (const pcg::Precision p : {pcg::Precision::bf16, pcg::Precision::fp16}) try {
      if (std::ranges::all_of(types, [&](const std::string& t) { return is_quicker(t, p); })) return p;
    } catch (const base::InputError&) { return p; }  // no such profile: reported where devices are checked
  return pcg::Precision::fp32;
}

}  // namespace

std::set<std::string> device_types(std::span<const topology::Device> devices) {
  std::set<std::string> types;
  for (const topology::Device& d : devices) types.insert(d.type);
  return types;
}

Training read_training(const base::Yaml& section, const std::string& path, const std::filesystem::path& directory,
                       const topology::Cluster* cluster, base::Diagnostics& sink) {
  base::MapReader in(section, path, sink);
  Training training;
  pcg::TrainingConfig& t = training.config;
  const auto per_gpu = in.integer("batch_per_gpu", 1, 1 << 30);
  const auto global = in.integer("global_batch", 1, std::int64_t{1} << 40);
  if (in.has("batch_per_gpu") && in.has("global_batch")) in.complain("global_batch", "batch_per_gpu is given as well", "keep one of them");
  else if (section.is_map() && !in.has("batch_per_gpu") && !in.has("global_batch"))
    sink.add(section.mark, path, "the batch is missing", "write batch_per_gpu: 4, or global_batch: 96");
  if (global) t.global_batch = *global;
  if (per_gpu) t.global_batch = *per_gpu * std::max(1, cluster != nullptr ? cluster->device_count() : 0);
  if (const auto precision = in.choice("precision", pcg::names<pcg::Precision>())) t.precision = static_cast<pcg::Precision>(*precision);
  else if (cluster != nullptr) t.precision = natural_precision(*cluster);
  t.fp8_recipe = static_cast<pcg::Fp8Scaling>(in.choice("fp8_recipe", pcg::names<pcg::Fp8Scaling>()).value_or(0));
  if (in.has("fp8_recipe") && t.precision != pcg::Precision::fp8)
    in.complain("fp8_recipe", fmt::format("of precision fp8, and the precision is {}", pcg::to_text(t.precision)),
                "leave it out, or write precision: fp8");
  t.fp8_attention = in.boolean("fp8_attention").value_or(false);
  if (t.fp8_attention && !pcg::has_fp8_attention(t.precision))
    in.complain("fp8_attention", fmt::format("of fp8 and mxfp8, and the precision is {}", pcg::to_text(t.precision)),
                "leave it out, or write precision: mxfp8");
  t.bf16_layers = pcg::read_bf16_layers(in, t.precision);
  t.optimizer = static_cast<pcg::Optimizer>(
      in.choice("optimizer", pcg::names<pcg::Optimizer>()).value_or(static_cast<std::size_t>(pcg::Optimizer::adam)));
  if (const base::Yaml* framework = in.optional("framework"))
    training.framework = read_framework(*framework, in.path_of("framework"), directory, sink);
  (void)in.boolean("fp32_gradients");
  t.clip_gradients = clips_gradients(in);
  t.constant_tokens = in.boolean("constant_tokens").value_or(false);
  training.memory_margin = in.number("memory_margin", 0, 0.5).value_or(sim::kMemoryMargin);
  in.finish();
  run_under(training.framework, section, t);
  return training;
}

void run_under(const Framework& framework, const base::Yaml& section, pcg::TrainingConfig& config) {
  config.framework = framework.profile.framework;
  // A framework does in low precision what it does in bf16: whose tensors are bf16 outside of products.
  const bool brain = config.precision == pcg::Precision::bf16 || pcg::casts_products(config.precision);
  base::Diagnostics reported_elsewhere;
  const base::Yaml* written = section.find("fp32_gradients");
  const auto said = written != nullptr ? base::as_boolean(*written, "fp32_gradients", reported_elsewhere) : std::nullopt;
  config.fp32_gradients = said.value_or(brain && framework.profile.fp32_gradients);
}

bool Framework::differs() const { return profile != profiles::framework_profile(profile.framework); }

const std::string& Framework::name() const { return pcg::name_of(profile.framework); }

base::Note Framework::note() const {
  std::string text = fmt::format("the framework is {}", name());
  if (named_by == NamedBy::entry) text += ", which the entry names for itself";
  if (!file.empty()) text += fmt::format(", as {} describes it", file);
  if (!changed.empty())
    text += fmt::format(", with {} own {}", named_by == NamedBy::entry ? "its" : "the scenario's", fmt::join(changed, ", "));
  return {base::NoteKind::detail, "framework", std::move(text)};
}

Framework read_framework(const Yaml& value, const std::string& path, const std::filesystem::path& directory, Diagnostics& sink) {
  Framework f;
  f.named_by = Framework::NamedBy::scenario;
  if (!value.is_map()) {
    const auto framework = named(value, path, sink);
    if (!framework) return f;
    f.profile = profiles::framework_profile(*framework);
    f.section = profiles::framework_section(*framework);
    return f;
  }
  const auto start = start_of(value, path, directory, sink);
  if (!start) return f;
  f.section = *start;
  for (const Yaml::Entry& e : value.entries)
    if (e.key != "name" && e.key != "file") base::patch_yaml(f.section, e.key, e.value, sink, path + "." + e.key, base::UnknownKey::add);
  f.changed = changed_keys(*start, f.section);
  f.profile = profiles::read_framework_section(f.section, path, sink);
  // Times that the scenario gives are not those that were fitted.
  const auto is_host_time = [](const std::string& key) { return key.starts_with("host.") && key != "host.basis"; };
  if (std::ranges::any_of(f.changed, is_host_time) && f.profile.host.basis == profiles::HostBasis::fitted &&
      std::ranges::find(f.changed, "host.basis") == f.changed.end())
    f.profile.host.basis = profiles::HostBasis::partly;
  if (const Yaml* file = value.find("file")) {
    f.file = file->scalar;
    f.section.erase("name");
    f.section.set("file", *file);
  }
  return f;
}

}  // namespace scenarios
