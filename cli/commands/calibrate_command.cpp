#include "cli/commands/command.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "base/files/used_files.hpp"
#include "base/yaml/parse.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "profiles/fit/kernel_calibration.hpp"
#include "profiles/fit/network_fit.hpp"
#include "profiles/fit/profile_text.hpp"
#include "profiles/kinds.hpp"
#include "profiles/measured/measurements.hpp"
#include "reports/calibration/calibration.hpp"
#include "scenarios/confidence/fit/framework_fit.hpp"

namespace cli {
namespace {

constexpr int kDefaultEvaluations = 100;

struct CalibrateFlags {
  std::string device, network, framework;  // one of them: a name, or a file to start from
  std::vector<std::string> files, rows_of, kinds;
  std::vector<std::string> constants;  // of a framework; empty: all that a profile has
  std::string output, json;            // the fitted profile, and the errors: files, "" nowhere, "-" standard output
  int evaluations = kDefaultEvaluations, jobs = 1;
  bool fresh = false, keep_table = false;
  base::Verbosity verbosity = base::Verbosity::usual;
};

bool is_there(const std::string& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

// A fit starts from the file that is given, else from what an earlier fit left at the output, else from what ships.
bool goes_on(const CalibrateFlags& f) { return !f.output.empty() && f.output != "-" && is_there(f.output); }

// Unless it is to be quiet or standard output is for one of the files.
bool prints(const CalibrateFlags& f) { return f.verbosity == base::Verbosity::usual && f.json != "-" && f.output != "-"; }

// Files without their folders: the same on every machine.
std::string command_line(const char* option, const std::string& profile, const std::string& options,
                         const std::vector<std::string>& files) {
  const auto name = [](const std::string& file) { return std::filesystem::path(file).filename().string(); };
  std::string text = fmt::format("foreshard calibrate {} {}{}", option, name(profile), options);
  for (const std::string& file : files) text += " " + name(file);
  return text;
}

struct Start {
  std::string file, text;  // file: of a framework empty where it ships
};

Start start_of(const CalibrateFlags& f) {
  if (const auto named = pcg::named<pcg::Framework>(f.framework)) {
    if (goes_on(f)) return {f.output, read_to_renew(f.output)};
    return {"", std::string(profiles::framework_text(*named))};
  }
  if (is_there(f.framework)) return {f.framework, read_start(f.framework, f.output)};
  base::refuse("--framework", fmt::format("\"{}\" is neither a framework nor a file", f.framework),
               base::suggest(f.framework, pcg::names<pcg::Framework>()));
}

std::vector<measured::Point> points_of(const CalibrateFlags& f, const std::string& framework) {
  std::vector<measured::Point> points;
  for (const std::string& file : f.files)
    for (measured::Point& p : measured::read_points(read_text(file), file))
      if (p.framework == framework && p.measured) points.push_back(std::move(p));
  return points;
}

std::string framework_command(const CalibrateFlags& f) {
  std::string options;
  for (const std::string& constant : f.constants) options += fmt::format(" --constant {}", constant);
  if (f.evaluations != kDefaultEvaluations) options += fmt::format(" --evaluations {}", f.evaluations);
  return command_line("--framework", f.framework, options, f.files);
}

// Throws: base::InputError: an unknown framework or constant, too few points of it.
int calibrate_framework(const CalibrateFlags& f) {
  const Start start = start_of(f);
  const profiles::FrameworkProfile profile =
      profiles::load_framework_profile(base::parse_yaml(start.text, start.file.empty() ? f.framework : start.file));
  const std::string name = pcg::name_of(profile.framework);
  base::ProgressLine line(f.verbosity);
  confidence::FrameworkFitConfig config{
      .file = start.file, .constants = f.constants, .jobs = f.jobs, .evaluations = f.evaluations, .progress = {}};
  config.progress = [&line](int evaluation, double error) {
    line.show(fmt::format("evaluation {}: mean error {:.1f} %", evaluation, 100 * error));
  };
  const confidence::FrameworkFit fit = confidence::fit_framework(profile, points_of(f, name), config);
  if (prints(f)) print(reports::framework_fit_text(name, fit));
  if (!f.json.empty()) write_text(f.json, reports::framework_fit_json(name, fit));
  if (!f.output.empty()) write_text(f.output, confidence::with_fitted(start.text, fit, framework_command(f)));
  return std::ranges::any_of(fit.constants, &confidence::FittedConstant::identifiable) ? kAnswered : kNo;
}

measured::Measurements read_all(const std::vector<std::string>& files) {
  measured::Measurements all;
  for (const std::string& file : files) {
    const measured::Measurements m = measured::read_measurements(read_text(file), file);
    all.kernels.insert(all.kernels.end(), m.kernels.begin(), m.kernels.end());
    all.collectives.insert(all.collectives.end(), m.collectives.begin(), m.collectives.end());
    all.notes.insert(all.notes.end(), m.notes.begin(), m.notes.end());
  }
  return all;
}

profiles::NetworkProfile network_profile(const Start& start) {
  return profiles::load_network_profile(base::parse_yaml(start.text, start.file));
}

Start network_start_of(const CalibrateFlags& f) {
  if (is_there(f.network)) return {f.network, read_start(f.network, f.output)};
  const Start shipped{f.network, std::string(profiles::network_text(f.network))};
  if (!goes_on(f)) return shipped;
  const Start there{f.output, read_to_renew(f.output)};
  if (const std::string name = network_profile(there).name; name != f.network)
    base::refuse("--output", fmt::format("{} holds the network profile {}", f.output, name),
                 fmt::format("name another file, or start from it: --network {}", f.output));
  return there;
}

int calibrate_network(const CalibrateFlags& f) {
  const measured::Measurements rows = read_all(f.files);
  const Start start = network_start_of(f);
  const profiles::NetworkProfile profile = network_profile(start);
  for (const std::string& note : rows.notes) tell(fmt::format("note: {}\n", note));
  const fit::NetworkFit fit = fit::fit_network(profile, rows.collectives);
  for (const std::string& note : fit.notes) tell(fmt::format("note: {}\n", note));
  const nlohmann::ordered_json errors = reports::network_fit_json(f.network, fit.residuals);
  if (prints(f)) print(reports::network_fit_text(errors));
  if (!f.json.empty()) write_text(f.json, errors.dump(2) + "\n");
  if (!f.output.empty()) write_text(f.output, fit::with_fitted(start.text, fit.profile));
  return kAnswered;
}

std::vector<pcg::KernelKind> kinds_of(const std::vector<std::string>& names) {
  std::vector<pcg::KernelKind> kinds;
  base::Diagnostics sink;
  for (const std::string& name : names) {
    if (const auto kind = profiles::find_kind(name)) kinds.push_back(*kind);
    else sink.add({}, "--kind", fmt::format("\"{}\" is no kind of kernel", name), "e.g. matmul, attention, norm, elementwise");
  }
  sink.throw_if_any();
  return kinds;
}

std::string device_command(const CalibrateFlags& f) {
  std::string options;
  for (const std::string& name : f.rows_of) options += fmt::format(" --rows-of {}", name);
  for (const std::string& name : f.kinds) options += fmt::format(" --kind {}", name);
  return command_line("--device", f.device, options, f.files);
}

std::string profile_text(const CalibrateFlags& f) {
  if (is_there(f.device)) return read_start(f.device, f.output);
  return goes_on(f) ? read_to_renew(f.output) : std::string(profiles::device_text(f.device));
}

int calibrate_device(const CalibrateFlags& f) {
  const std::string before = profile_text(f);
  profiles::DeviceProfile device = profiles::load_device_profile(base::parse_yaml(before, f.device));
  if (f.fresh) device.fitted = {};
  const measured::Measurements rows = read_all(f.files);
  for (const std::string& note : rows.notes) tell(fmt::format("note: {}\n", note));
  const fit::CalibrationConfig config{
      .devices = f.rows_of, .kinds = kinds_of(f.kinds), .command = device_command(f), .keep_table = f.keep_table};
  const auto result = fit::calibrate_kernels(device, rows.kernels, config);
  if (prints(f)) print(fmt::format("Fits; errors are means of |predicted / measured - 1|\n{}", reports::fits_text(result.fits)));
  if (!f.json.empty()) {
    const nlohmann::ordered_json j = {{"foreshard", 1}, {"device", device.name}, {"fits", reports::fits_json(result.fits)}};
    write_text(f.json, j.dump(2) + "\n");
  }
  if (!f.output.empty()) write_text(f.output, fit::with_fitted(before, result.fitted));
  return std::ranges::any_of(result.fits, [](const auto& fit) { return fit.refusal.empty(); }) ? kAnswered : kNo;
}

int calibrate(const CalibrateFlags& f) {
  check_outputs({{"--json", f.json}, {"--output", f.output}});
  for (const std::string& file : f.files) base::note_input(file);  // before the output is taken for the profile where the fit starts
  return !f.framework.empty() ? calibrate_framework(f) : !f.network.empty() ? calibrate_network(f) : calibrate_device(f);
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  const auto f = std::make_shared<CalibrateFlags>();
  CLI::App* c = app.add_subcommand(
      "calibrate", "Fit a device profile to kernels, a network profile to collectives, or a framework profile to iterations, all measured");
  c->add_option("data", f->files, "Tables of measurements, or of points with --framework")->required();
  CLI::Option* device = c->add_option("--device", f->device, "The device profile to fit: a name, or a file to start from");
  CLI::Option* network = c->add_option("--network", f->network, "The network profile to fit instead: a name, or a file to start from");
  network->excludes(device);
  CLI::Option* framework = c->add_option("--framework", f->framework,
                                         "The framework whose constants to fit to points tables instead: a name, or a file to start from");
  framework->excludes(device)->excludes(network);
  c->add_option("--constant", f->constants, "Fit only these constants, e.g. host.forward_kernel, sustained.a100")
      ->allow_extra_args(false)
      ->needs(framework);
  c->add_option("--evaluations", f->evaluations, "Most simulations of all points")->check(CLI::Range(1, 100000))->needs(framework);
  c->add_option("--jobs", f->jobs, "Worker processes")->check(CLI::Range(1, 1024))->needs(framework);
  c->add_option("--rows-of", f->rows_of, "Take rows of these devices instead of the profile's own")->allow_extra_args(false);
  c->add_option("--kind", f->kinds, "Fit only these kinds of kernels")->allow_extra_args(false);
  c->add_option("--output", f->output,
                "Write the profile here; what people wrote in it stays, and what is there already is where the fit starts");
  c->add_flag("--fresh", f->fresh, "Forget what earlier calibrations found");
  c->add_flag("--keep-table", f->keep_table, "Keep the measured kernels in the profile: times of those and in between come from them");
  c->add_option("--json", f->json, "Write the errors as JSON");
  add_quiet(*c, f->verbosity, "Neither table nor progress");
  c->callback([f, &action] {
    if (f->device.empty() && f->network.empty() && f->framework.empty()) throw CLI::RequiredError("--device, --network or --framework");
    action = [f] { return calibrate(*f); };
  });
}

}  // namespace cli
