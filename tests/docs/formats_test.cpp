// docs/formats names everything that ships.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <string>
#include <vector>

#include "pcg/models/load.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/network_profile.hpp"
#include "search/planners.hpp"
#include "tests/docs/file_text.hpp"
#include "topology/cluster.hpp"
#include "topology/load.hpp"

namespace {

void check_named(const std::vector<std::string>& names) {
  const std::string text = test::formats_text();
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

TEST_CASE("every planner has its row, and every option of those with tables, as the planner describes them") {
  const std::string text = test::formats_text();
  for (const search::Planner& p : search::planners()) {
    CHECK_MESSAGE(text.find(p.about) != std::string::npos, p.name());
    if (!test::has_option_tables(p.kind)) continue;
    for (const search::Option& o : p.options) {
      const std::string row = fmt::format("| `{}` | {} | {} | {} |", o.key, search::type_text(o), search::default_text(o), o.help);
      CHECK_MESSAGE(text.find(row) != std::string::npos, p.name(), ": ", row);
    }
  }
}

TEST_CASE("every operator has its row") { check_named(operator_names(std::make_index_sequence<std::variant_size_v<pcg::Operator>>{})); }
