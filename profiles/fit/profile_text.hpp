#pragma once
// A YAML file as people wrote it, comments included, in which fitted numbers take their places. It changes lines, not a tree, so that
// everything else stays as it is.

#include <string>
#include <string_view>
#include <vector>

#include "base/yaml/tree.hpp"
#include "profiles/fitted.hpp"
#include "profiles/network_profile.hpp"

namespace fit {

class CommentedYaml {
 public:
  // `root` is the file's main key, "device" or "framework".
  // Throws: base::InputError when the text is no YAML or the map of `root` is written in braces, so that its keys have no lines of their
  // own.
  // Requires: the text has `root`.
  CommentedYaml(const std::string& text, std::string root);

  [[nodiscard]] std::string text() const;

  // Sets ROOT.SECTION.NAME, with comment lines above it that take the place of an earlier calibration's, which begin as kCalibrated. A
  // section in braces is written out, a key a line.
  void set(const std::string& section, const std::string& name, const std::string& value, const std::vector<std::string>& comments);
  // Puts ROOT.KEY at the end, `comment` above it; `block` is its text with the key, two blanks deep. What the key held before goes, its
  // comment too.
  // Requires: no other key comes after it.
  void put_last(const std::string& key, const std::string& comment, const std::string& block);

 private:
  [[nodiscard]] base::Yaml parse() const;
  [[nodiscard]] std::vector<std::string>::iterator place(std::size_t line) { return lines_.begin() + static_cast<std::ptrdiff_t>(line); }
  [[nodiscard]] std::size_t without_earlier(std::size_t line);
  void ensure_block(const std::string& section);

  std::string root_;
  std::vector<std::string> lines_;
};

[[nodiscard]] std::vector<std::string> lines_of(const std::string& text);

// How the comments of a calibration begin, and the lines that go on.
inline constexpr std::string_view kCalibrated = "# foreshard calibrate", kWritten = "# Written by `foreshard calibrate`", kMore = "#   ";

// A device profile's file with fitted models in it. Text that people wrote stays as it is, comments included; fitted models follow it.
// Returns `profile` with its part `fitted:` (always the last one) replaced by `fitted`; keys after it are lost.
// Throws: base::InputError when the text is no YAML or `device` is written in braces.
[[nodiscard]] std::string with_fitted(const std::string& profile, const profiles::Fitted& fitted);

// A network profile's file with fitted numbers in it. A fit may change every number, so the file is written anew; comments that people
// wrote stay where they were.
// Returns the text form of `profile` with the comments of `before`, the file that the fit started from: each above or after the key that
// it was above or after, those after the last key at the end. Comments on keys that the profile no longer has are lost.
// Throws: base::InputError when `before` is no YAML.
[[nodiscard]] std::string with_fitted(const std::string& before, const profiles::NetworkProfile& profile);

}  // namespace fit
