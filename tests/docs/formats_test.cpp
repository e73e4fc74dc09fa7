// docs/formats.md names everything that ships.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "pcg/models/builtins.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/network_profile.hpp"
#include "topology/presets.hpp"

namespace {

std::string formats() {
  std::ifstream in(SOURCE_DIRECTORY "/docs/formats.md");
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

void check_named(const std::vector<std::string>& names) {
  const std::string text = formats();
  for (const std::string& name : names) CHECK_MESSAGE(text.find("`" + name + "`") != std::string::npos, name);
}

template <std::size_t... I>
std::vector<std::string> operator_names(std::index_sequence<I...>) {
  return {std::string(pcg::kind_name(pcg::Operator(std::in_place_index<I>)))...};
}

}  // namespace

TEST_CASE("every builtin model, preset, device profile and network profile is named") {
  check_named(pcg::models::builtin_names());
  check_named(topology::preset_names());
  check_named(profiles::device_names());
  check_named(profiles::network_names());
}

TEST_CASE("every operator has its row") { check_named(operator_names(std::make_index_sequence<std::variant_size_v<pcg::Operator>>{})); }
