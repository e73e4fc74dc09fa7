#include "base/yaml/parse.hpp"
#include "profiles/fit/profile_text.hpp"

#include <doctest/doctest.h>

TEST_CASE("a network profile that ships is written as its file stands, comments included") {
  for (const std::string& name : profiles::network_names()) {
    const std::string text(profiles::network_text(name));
    CHECK(fit::with_fitted(text, profiles::network_profile(name)) == text);
  }
}

TEST_CASE("comments stay with their keys when numbers and forms change") {
  const std::string before =
      "# Ours.\n"
      "foreshard: 1\n"
      "network:\n"
      "  name: ours  # of the old rack\n"
      "  links:\n"
      "    # Cables of 2 m.\n"
      "    infiniband:\n"
      "      ring:\n"
      "        simple:  # the only one\n"
      "          latency: 9 us\n"
      "          # by a colleague\n"
      "          efficiency: 0.9\n"
      "          source: \"runs #1 to #3\"\n"
      "  calls: {send: {base: {simple: 4 us}}}  # not fitted\n"
      "# The end.\n";
  profiles::NetworkProfile profile = profiles::load_network_profile(base::parse_yaml(before, "n.yaml"));
  profile.links.at("infiniband").at(profiles::Algorithm::ring).at(profiles::Protocol::simple).latency = base::Seconds(7e-6);
  CHECK(fit::with_fitted(before, profile) ==
        "# Ours.\n"
        "foreshard: 1\n"
        "network:\n"
        "  name: ours  # of the old rack\n"
        "  links:\n"
        "    # Cables of 2 m.\n"
        "    infiniband:\n"
        "      ring:\n"
        "          # by a colleague\n"
        "        simple: {latency: 7 us, efficiency: 0.9, source: \"runs #1 to #3\"}  # the only one\n"
        "  calls:  # not fitted\n"
        "    send: {base: {simple: 4 us}}\n"
        "# The end.\n");
}
