#include "tools/collector/options.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ostream>

#include "tools/collector/schedule.hpp"

namespace collector {
namespace {

std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

// Takes the value of an option that has one; false: it is not what the option holds.
bool take_value(Options& o, const std::string& name, const std::string& value) {
  const std::optional<double> n = number(value);
  const bool whole = n && *n == std::floor(*n) && *n < 1e9;
  if (name == "--out" && !value.empty()) return o.out = value, true;
  if (name == "--budget" && n && *n > 0 && *n <= 86400) return o.budget_s = *n, true;
  if (name == "--seed" && whole) return o.seed = static_cast<std::uint64_t>(*n), true;
  if (name == "--device" && whole) return o.device = static_cast<int>(*n), true;
  if (name == "--cache" && (value == "cold" || value == "warm")) return o.cold = value == "cold", true;
  return false;
}

bool has_value(const std::string& name) {
  return name == "--out" || name == "--budget" || name == "--seed" || name == "--device" || name == "--cache";
}

std::string group_line(const std::string& name, std::size_t some, std::size_t all, double seconds) {
  char text[160];
  std::snprintf(text, sizeof text, "  %-20s %5zu of %5zu cases %8.1f s\n", name.c_str(), some, all, seconds);
  return text;
}

void print_case(const Scheduled& s, double launch_s, std::ostream& out) {
  const Work w = work_of(s.what);
  char text[256];
  std::snprintf(text, sizeof text, "%8.2f s  %-23s %-4s  batch %lld m %lld n %lld k %lld  %.4g FLOP %.4g B  about %.3g us\n", s.starts_at_s,
                std::string(to_text(s.what.operation)).c_str(), std::string(to_text(s.what.precision)).c_str(),
                static_cast<long long>(w.batch), static_cast<long long>(w.m), static_cast<long long>(w.n), static_cast<long long>(w.k),
                w.flops, w.bytes, launch_s * 1e6);
  out << text;
}

}  // namespace

std::optional<Options> parse_options(const std::vector<std::string>& arguments, std::string& problem) {
  Options o;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--dry-run") {
      o.dry_run = true;
    } else if (name == "--list") {
      o.list = o.dry_run = true;
    } else if (name == "--help") {
      o.help = true;
    } else if (!has_value(name)) {
      return problem = "unknown option " + name + "; --help lists them", std::nullopt;
    } else if (i + 1 == arguments.size()) {
      return problem = name + " needs a value; --help says which", std::nullopt;
    } else if (!take_value(o, name, arguments[++i])) {
      return problem = name + " cannot be \"" + arguments[i] + "\"; --help says what it can be", std::nullopt;
    }
  }
  return o;
}

std::string usage() {
  return "measures kernels, copies and launches of one GPU, and collectives where there are several\n"
         "  --out FILE          where the result goes (collect.json)\n"
         "  --budget SECONDS    time for everything (240)\n"
         "  --cache cold|warm   operands from memory (cold), or where the last launch left them\n"
         "  --seed N            other shapes of the same ranges (0)\n"
         "  --device N          which GPU (0)\n"
         "  --dry-run           says what would be measured and for how long; needs no GPU\n"
         "  --list              a dry run with every case\n";
}

void print_dry_run(const Options& options, const Device& d, std::ostream& out) {
  const std::vector<Group> groups = grid(d, options.seed);
  const std::vector<Scheduled> order = schedule(d, groups);
  const Shares shares = shares_of(options.budget_s, d.count);
  const std::size_t planned = within_budget(order, shares.kernels);
  std::vector<std::size_t> some(groups.size(), 0);
  std::vector<double> seconds(groups.size(), 0);
  double total = 0;
  for (std::size_t i = 0; i < planned; ++i) {
    const double launch_s = predicted_seconds(d, order[i].what);
    const double takes = measuring_seconds(launch_s);
    ++some[order[i].group];
    seconds[order[i].group] += takes;
    total += takes;
    if (options.list) print_case(order[i], launch_s, out);
  }
  out << "dry run for " << d.name << ": nothing is measured\n";
  for (std::size_t g = 0; g < groups.size(); ++g) out << group_line(groups[g].name, some[g], groups[g].cases.size(), seconds[g]);
  out << group_line("kernels in all", planned, order.size(), total);
  char rest[200];
  std::snprintf(rest, sizeof rest, "  launches %.1f s, copies %.1f s, overlap %.1f s, collectives %.1f s\n  predicted duration: %.0f s\n",
                shares.launch, shares.copies, shares.overlap, shares.collectives,
                total + shares.launch + shares.copies + shares.overlap + shares.collectives);
  out << rest;
}

}  // namespace collector
