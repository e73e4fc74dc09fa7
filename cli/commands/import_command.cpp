#include "cli/commands/command.hpp"

#include <fmt/core.h>

#include <fstream>
#include <memory>

#include "base/files/text_file.hpp"
#include "base/files/used_files.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/imports/import.hpp"
#include "profiles/measured/tables.hpp"
#include "reports/imports/import_report.hpp"
#include "topology/imports/imports.hpp"

namespace cli {
namespace {

struct ImportFlags {
  std::string file, network, json, output, device, cluster;
  base::Verbosity verbosity = base::Verbosity::usual;
};

// Whether standard output is for the summary.
bool prints(const ImportFlags& f) { return f.verbosity == base::Verbosity::usual && f.json != "-" && f.output != "-"; }

// Topologies are small texts that are no JSON.
bool may_be_topology(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return text.find('\0') == std::string::npos && first != std::string::npos && text[first] != '{' && !text.starts_with("\x1f\x8b");
}

// nullopt for everything else, and for what cannot be read (the trace importers say why).
std::optional<std::string> small_text(const std::string& file) {
  if (base::is_standard_input(file)) {
    std::string given = base::read_text_file(file);
    if (may_be_topology(given)) return given;
    base::refuse("standard input", "no topology, and a trace is read from a file", "give the file's name");
  }
  constexpr std::size_t kMost = 16 << 20;  // a topology.conf of 100,000 nodes takes a few MB
  std::error_code unreadable;
  const auto size = std::filesystem::file_size(file, unreadable);
  if (unreadable || size > kMost) return std::nullopt;
  base::note_input(file);
  std::ifstream in(file, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  return in && may_be_topology(text) ? std::optional(std::move(text)) : std::nullopt;
}

int write_topology(const topology::ImportedTopology& t, const ImportFlags& f) {
  if (!f.json.empty()) write_text(f.json, reports::topology_json(t, f.file));
  if (!f.output.empty()) write_text(f.output, t.yaml);
  if (prints(f)) print(reports::topology_text(t, f.file));
  return kAnswered;
}

// Kernels and collectives have tables of their own; where a trace has both, the second goes beside the first.
void write_measurements(const measured::Measurements& m, const std::filesystem::path& output) {
  const bool both = !m.kernels.empty() && !m.collectives.empty();
  std::filesystem::path second = output;
  if (both && output != "-") second.replace_filename(output.stem().string() + "-collectives" + output.extension().string());
  if (both) check_outputs({{"--output", second.string()}});  // not known before
  if (!m.kernels.empty()) write_text(output, measured::to_csv(m.kernels));
  if (!m.collectives.empty()) write_text(second, measured::to_csv(m.collectives));
}

int write_trace(const imports::ImportedTrace& t, const ImportFlags& f) {
  if (!f.output.empty()) {
    const measured::Measurements m = imports::to_measurements(t, {.device = f.device, .cluster = f.cluster});
    for (const std::string& note : m.notes) tell(fmt::format("note: {}\n", note));
    if (m.kernels.empty() && m.collectives.empty()) {
      tell(fmt::format("{}: nothing in it can be a measurement; no {} was written\n", f.file, f.output));
      return kNo;
    }
    write_measurements(m, f.output);
  }
  if (!f.json.empty()) write_text(f.json, reports::import_json(t));
  if (prints(f)) print(reports::import_text(t));
  return kAnswered;
}

int import(const ImportFlags& f) {
  check_outputs({{"--json", f.json}, {"--output", f.output}});
  const auto read = [&](const std::string& file, const topology::ImportedTopology* node) {
    const auto text = small_text(file);
    const topology::ImportConfig config{.gpu = f.device, .preset = node == nullptr ? f.cluster : "", .node = node};
    return text ? topology::import_topology(*text, base::name_of_input(file), config) : std::nullopt;
  };
  auto found = read(f.file, nullptr);
  if (!f.network.empty()) found = found && found->gpus > 0 ? read(f.network, &*found) : std::nullopt;
  if (!found && !f.network.empty())
    base::refuse(f.network, "is no topology of Slurm's behind the file of a node", "the node's file goes first");
  if (found) {
    if (!f.device.empty()) (void)profiles::device_profile(f.device);  // what has no profile no cluster can have
    return write_topology(*found, f);
  }
  return write_trace(imports::import_trace(f.file), f);
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  const auto f = std::make_shared<ImportFlags>();
  CLI::App* c = app.add_subcommand("import", "Read what other tools wrote: traces, collective tables, topologies");
  c->add_option("file", f->file,
                "A Kineto trace, Nsight Systems SQLite export, nccl-tests output, Chakra trace; nvidia-smi topo -m, rocm-smi "
                "--showtopo, NCCL's XML, topology.conf, topology.yaml")
      ->required();
  c->add_option("network", f->network, "Behind a node's file: Slurm's topology of a cluster of such nodes");
  c->add_option("--json", f->json, "Write what was read as JSON; - is standard output");
  c->add_option("--output", f->output, "Write measurements (CSV), of a topology a cluster file (YAML)");
  c->add_option("--device,--gpu", f->device, "Device profile that the measurements are of; GPU type of a topology");
  c->add_option("--cluster,--preset", f->cluster, "Preset that the collectives were measured on; what a node of Slurm's topology is");
  add_quiet(*c, f->verbosity, "No summary");
  set_action(*c, action, [f] { return import(*f); });
}

}  // namespace cli
