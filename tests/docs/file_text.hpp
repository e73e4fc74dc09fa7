#pragma once
// Documents as text.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace test {

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  REQUIRE_MESSAGE(in, file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

// The pages of docs/formats, one after the other, in the order of their names.
inline std::string formats_text() {
  std::vector<std::filesystem::path> pages;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(SOURCE_DIRECTORY) / "docs" / "formats"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  std::ranges::sort(pages);
  std::string all;
  for (const std::filesystem::path& page : pages) all += text_of(page) + "\n";  // so that no table goes on in the next page
  return all;
}

// Whether docs/formats/plans.md has tables of a planner's options; `show planners` prints those of the others.
inline bool has_option_tables(std::string_view kind) { return kind == "data-parallel" || kind == "megatron" || kind == "fsdp"; }

}  // namespace test
