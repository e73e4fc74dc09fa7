#include "calibration/framework_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/check.hpp"
#include "base/diagnostics.hpp"

namespace calibration {
namespace {

using base::Yaml;

constexpr std::string_view kMark = "# foreshard calibrate", kMore = "#   ";

// A file as lines, changed one key at a time; keys are found by reading it again.
class ProfileText {
 public:
  explicit ProfileText(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
    const Yaml document = parse();
    const Yaml& framework = *document.find("framework");
    if (framework.mark.line == key(document, "framework").key_mark.line)
      throw base::InputError({{framework.mark, "framework", "is written in braces", "write its keys on lines of their own"}});
  }

  [[nodiscard]] std::string text() const { return fmt::format("{}\n", fmt::join(lines_, "\n")); }

  // Sets framework.SECTION.KEY, with comment lines above it in place of those of an earlier calibration.
  void set(const std::string& section, const std::string& name, const std::string& value, const std::vector<std::string>& comments) {
    ensure_block(section);
    const Yaml document = parse();
    const Yaml& framework = *document.find("framework");
    const Yaml::Entry& parent = key(framework, section);
    std::size_t at = line_of(parent.key_mark) + 1;  // where the key's line is, or comes
    std::string indent(static_cast<std::size_t>(parent.key_mark.column) + 1, ' ');
    if (parent.value.is_map() && !parent.value.entries.empty()) {
      const Yaml::Entry& last = parent.value.entries.back();
      indent.assign(static_cast<std::size_t>(last.key_mark.column) - 1, ' ');
      at = line_of(last.key_mark) + 1;
    }
    if (const Yaml* there = parent.value.find(name)) {
      at = line_of(there->mark);
      lines_[at].replace(static_cast<std::size_t>(there->mark.column) - 1, there->scalar.size(), value);
      at = without_earlier(at);
    } else {
      lines_.insert(place(at), fmt::format("{}{}: {}", indent, name, value));
    }
    for (std::size_t i = 0; i < comments.size(); ++i) lines_.insert(place(at + i), indent + comments[i]);
  }

 private:
  [[nodiscard]] Yaml parse() const { return base::parse_yaml(text(), "<framework profile>"); }
  static const Yaml::Entry& key(const Yaml& map, const std::string& name) {
    const auto at = std::ranges::find(map.entries, name, &Yaml::Entry::key);
    BASE_CHECK(at != map.entries.end(), "no key {}", name);
    return *at;
  }
  static std::size_t line_of(const base::Mark& m) { return static_cast<std::size_t>(m.line) - 1; }
  [[nodiscard]] std::vector<std::string>::iterator place(std::size_t line) { return lines_.begin() + static_cast<std::ptrdiff_t>(line); }

  // Takes away what an earlier calibration wrote above a line; returns the line's new number.
  std::size_t without_earlier(std::size_t line) {
    const auto begins = [&](std::size_t i, std::string_view what) {
      const std::size_t first = lines_[i].find_first_not_of(' ');
      return first != std::string::npos && lines_[i].substr(first).starts_with(what);
    };
    std::size_t first = line;
    while (first > 0 && begins(first - 1, kMore)) --first;
    if (first == 0 || !begins(first - 1, kMark)) return line;
    lines_.erase(place(first - 1), place(line));
    return first - 1;
  }

  // Makes the section a map of one key a line, empty if the file does not have it.
  void ensure_block(const std::string& section) {
    const Yaml document = parse();
    const Yaml& framework = *document.find("framework");
    const std::size_t indent = static_cast<std::size_t>(framework.entries.front().key_mark.column) - 1;
    if (framework.find(section) == nullptr) {
      lines_.push_back(fmt::format("{}{}: {{}}", std::string(indent, ' '), section));
      return ensure_block(section);
    }
    const Yaml::Entry& entry = key(framework, section);
    const std::size_t first = line_of(entry.key_mark);
    if (entry.value.mark.line != entry.key_mark.line) return;
    // From the opening brace to the one that closes it.
    std::size_t last = first, column = static_cast<std::size_t>(entry.value.mark.column) - 1;
    while (lines_[last].find('}', column) == std::string::npos) ++last, column = 0;
    const std::string behind = lines_[last].substr(lines_[last].find('}', column) + 1);
    std::vector<std::string> block{fmt::format("{}{}:{}", std::string(indent, ' '), section, behind)};
    for (const Yaml::Entry& e : entry.value.entries)
      block.push_back(fmt::format("{}{}: {}", std::string(indent + 2, ' '), e.key, e.value.scalar));
    lines_.erase(place(first), place(last + 1));
    lines_.insert(place(first), block.begin(), block.end());
  }

  std::vector<std::string> lines_;
};

std::vector<std::string> comments_on(const FittedConstant& c, const FrameworkFit& fit, const std::string& command) {
  std::string rows;
  for (const GroupError& g : fit.groups)
    rows += fmt::format("{}{} {:.1f} % on {}", rows.empty() ? "" : ", ", g.group, 100 * g.error, g.points);
  return {fmt::format("# {}", command),
          fmt::format("{}mean error {:.1f} % on {} points ({:.1f} % before), each half by the other {:.1f} %: {}", kMore, 100 * fit.error,
                      fit.points, 100 * fit.error_before, 100 * fit.cross_validated, rows),
          fmt::format("{}{}; a tenth less: {:.1f} %, a tenth more: {:.1f} %", kMore,
                      c.before > 0 ? "was " + constant_text(c.name, c.before) : "was not set", 100 * c.error_less, 100 * c.error_more)};
}

// Whether all, some or none of the host's times that are not 0 were fitted.
profiles::HostBasis basis_after(const FrameworkFit& fit) {
  const bool all_before = fit.profile.host.basis == profiles::HostBasis::fitted;
  int fitted = 0, others = 0;
  const profiles::HostCosts& h = fit.profile.host;
  const std::pair<const char*, base::Seconds> times[] = {{"host.forward_kernel", h.forward_kernel},
                                                         {"host.backward_kernel", h.backward_kernel},
                                                         {"host.collective", h.collective},
                                                         {"host.launch_jitter", h.launch_jitter},
                                                         {"host.recomputed_block", h.recomputed_block},
                                                         {"host.micro_batch", h.micro_batch},
                                                         {"host.iteration", h.iteration}};
  for (const auto& [name, time] : times) {
    const auto at = std::ranges::find(fit.constants, name, &FittedConstant::name);
    if (at != fit.constants.end() && at->told) ++fitted;
    else if (time > base::Seconds(0) && !all_before) ++others;
  }
  if (fitted == 0) return h.basis;
  return others == 0 ? profiles::HostBasis::fitted : profiles::HostBasis::partly;
}

}  // namespace

std::string constant_text(const std::string& constant, double value) {
  return constant.starts_with("host.") ? base::to_text(base::Seconds(value)) : fmt::format("{:.3f}", value);
}

std::string with_fitted(std::string text, const FrameworkFit& fit, const std::string& command) {
  ProfileText profile(text);
  for (const FittedConstant& c : fit.constants) {
    if (!c.told) continue;
    const std::size_t dot = c.name.find('.');
    profile.set(c.name.substr(0, dot), c.name.substr(dot + 1), constant_text(c.name, c.value), comments_on(c, fit, command));
  }
  const profiles::HostBasis basis = basis_after(fit);
  if (basis != fit.profile.host.basis) profile.set("host", "basis", profiles::host_basis_names()[static_cast<std::size_t>(basis)], {});
  text = profile.text();
  (void)profiles::load_framework_profile(base::parse_yaml(text, "<fitted profile>"));
  return text;
}

}  // namespace calibration
