// docs/formats.md names everything that ships, and nothing that does not.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "pcg/models/models.hpp"
#include "profiles/device_profile.hpp"
#include "topology/cluster.hpp"

namespace {

std::string formats() {
  std::ifstream in(SOURCE_DIRECTORY "/docs/formats.md");
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

// "`a` `b` `c`": what formats.md must hold word for word.
std::string in_code(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "`" : " `") + name + "`";
  return text;
}

template <std::size_t... I>
std::vector<std::string> operator_names(std::index_sequence<I...>) {
  return {std::string(pcg::kind_name(pcg::Operator(std::in_place_index<I>)))...};
}

}  // namespace

TEST_CASE("builtin models, presets and device profiles are listed, sorted") {
  const std::string text = formats();
  CHECK_MESSAGE(text.find(in_code(pcg::models::builtin_names())) != std::string::npos, in_code(pcg::models::builtin_names()));
  CHECK_MESSAGE(text.find(in_code(topology::preset_names())) != std::string::npos, in_code(topology::preset_names()));
  CHECK_MESSAGE(text.find(in_code(profiles::device_names())) != std::string::npos, in_code(profiles::device_names()));
}

TEST_CASE("every operator has its row") {
  const std::string text = formats();
  for (const std::string& name : operator_names(std::make_index_sequence<std::variant_size_v<pcg::Operator>>{}))
    CHECK_MESSAGE(text.find("`" + name + "`") != std::string::npos, name);
}
