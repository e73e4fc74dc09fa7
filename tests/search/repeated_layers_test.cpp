#include "search/grid/repeated_layers.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "problem.hpp"

namespace {

pcg::Graph transformer(int layers, const std::string& more = {}) {
  const std::string section = fmt::format(
      "{{transformer: {{layers: {}, hidden: 64, heads: 4, ffn: 256, vocab: 96, sequence_length: 16, causal: true, attention: unfused{}}}}}",
      layers, more);
  return pcg::models::load_model(base::parse_yaml(section, "<test>"), "model", {}, 1);
}

}  // namespace

TEST_CASE("the layers of a transformer repeat, its embedding and its head do not") {
  const pcg::Graph five = transformer(5);
  const search::RepeatedLayers run = search::repeated_layers(five);
  CHECK(run.count == 5);
  CHECK(five.blocks()[run.first].weighty);
}

TEST_CASE("a transformer with fewer of its layers is the transformer of so many layers") {
  const pcg::Graph five = transformer(5);
  const search::RepeatedLayers run = search::repeated_layers(five);
  for (const int kept : {1, 2, 5}) {
    const pcg::Graph shorter = search::with_layers(five, run, static_cast<std::size_t>(kept)), right = transformer(kept);
    CHECK(std::ranges::equal(shorter.nodes(), right.nodes()));
    CHECK(std::ranges::equal(shorter.blocks(), right.blocks()));
  }
}

TEST_CASE("where dense layers and layers of experts take turns, two of them are what repeats") {
  const std::string turns = ", experts: 4, expert_every: 2";
  const pcg::Graph seven = transformer(7, turns);
  const search::RepeatedLayers run = search::repeated_layers(seven);
  CHECK(run.unit == 2);
  CHECK(run.count == 3);
  const pcg::Graph six = transformer(6, turns);
  for (const int kept : {1, 2}) {
    const pcg::Graph shorter = search::with_layers(six, search::repeated_layers(six), static_cast<std::size_t>(kept));
    const pcg::Graph right = transformer(2 * kept, turns);
    CHECK(std::ranges::equal(shorter.nodes(), right.nodes()));
    CHECK(std::ranges::equal(shorter.blocks(), right.blocks()));
  }
}
