// Damaged topology files: refused as bad input, or taken for a cluster that holds together; never anything else.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "base/random.hpp"
#include "imports_samples.hpp"

using namespace topology_test;

namespace {

// A few characters changed, removed, doubled or moved, or the end cut off.
std::string damaged(std::string text, base::Random& random) {
  static const std::string kLikely = "0123456789 \t\n[],-=<>\"/XNVPSGU#\\\x1B";
  const auto edits = 1 + random.below(4);
  for (std::uint64_t i = 0; i < edits && !text.empty(); ++i) {
    const auto at = random.below(text.size());
    const auto length = std::min<std::uint64_t>(random.below(40), text.size() - at);
    switch (random.below(6)) {
      case 0: text[at] = kLikely[random.below(kLikely.size())]; break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(at, text.substr(at, length)); break;
      case 3: text.insert(random.below(text.size()), text.substr(at, length)); break;
      case 4: text[at] = static_cast<char>(random.below(256)); break;
      default: text.resize(at); break;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("a damaged file is refused or gives a cluster that our own loader takes") {
  const std::vector<std::string> samples = {kDgx1,
                                            everywhere(8, 18),
                                            everywhere(4, 4),
                                            kPcieBox,
                                            kPower9,
                                            kHgx,
                                            kSlurmTree,
                                            kSlurmYaml,
                                            kRocm,
                                            with(with(kHgx, "<nvlink", "<xgmi"), "0x068000", "0x120000"),
                                            "BlockName=b1 Nodes=node[01-18]\nBlockSizes=18,36\n"};
  int sound = 0, refused = 0;
  CHECK(rc::check([&] {
    base::Random random(*rc::gen::arbitrary<std::uint64_t>());
    for (const auto& sample : samples) {
      for (int i = 0; i < 5; ++i) {
        const auto text = damaged(sample, random);
        std::optional<topology::ImportedTopology> found;
        try {
          found = topology::import_topology(text, "damaged");
        } catch (const base::InputError& e) {
          RC_ASSERT(!e.diagnostics().empty());
          RC_ASSERT(!e.diagnostics()[0].message.empty());
          ++refused;
          continue;
        }
        if (!found) continue;
        ++sound;
        const auto c = load(*found);
        RC_ASSERT(c.nodes() == found->nodes);
        RC_ASSERT(!found->notes.empty());
        if (c.device_count() > 1) RC_ASSERT(c.route(gpu(0), gpu(c.device_count() - 1)).bandwidth.value() > 0);
      }
    }
  }));
  CHECK(sound > 100);  // both ways out are taken
  CHECK(refused > 100);
}

TEST_CASE("a file with any text before it, and the same text twice, is handled") {
  for (const auto& sample : {kDgx1, kPcieBox}) CHECK(load(import("\n\n  some prompt $ nvidia-smi topo -m\n" + sample)).device_count() > 0);
  for (const auto& sample : {kDgx1, kPcieBox, kPower9, kSlurmTree}) CHECK(import_errors(sample + sample) != "none");
}
