// Damaged files: cut anywhere, bytes changed anywhere. Each is refused or gives a sound value; nothing crashes (run it with
// FORESHARD_SANITIZE=ON).
#include <doctest/doctest.h>

#include <cmath>

#include "base/diagnostics.hpp"
#include "base/random.hpp"
#include "made_files.hpp"
#include "profiles/imports/import.hpp"

namespace {

void check_sound(const imports::ImportedTrace& t) {
  for (const auto& k : t.kernels) {
    REQUIRE(k.name < t.names.size());
    REQUIRE((k.operation == imports::kNoOperation || k.operation < t.operations.size()));
    REQUIRE(std::isfinite(k.duration.value()));
    REQUIRE(k.duration.value() >= 0);
  }
  for (const auto& c : t.collectives) {
    REQUIRE(c.name < t.names.size());
    REQUIRE(c.duration.value() >= 0);
    REQUIRE((!c.bytes || (std::isfinite(c.bytes->value()) && c.bytes->value() >= 0)));
  }
  (void)imports::summarise(t);
  (void)imports::to_measurements(t, {.device = "x", .cluster = "y"});
}

void try_one(const made::Folder& folder, const std::string& bytes) {
  try {
    check_sound(imports::import_trace(folder.write("f", bytes)));
  } catch (const base::InputError& e) { REQUIRE(!e.diagnostics().empty()); }
}

void mutate(const std::string& whole, std::size_t cut_every, int flips, std::uint64_t seed) {
  const made::Folder folder;
  for (std::size_t n = 0; n < whole.size(); n += cut_every) try_one(folder, whole.substr(0, n));
  base::Random random(seed);
  for (int i = 0; i < flips; ++i) {
    std::string changed = whole;
    for (std::uint64_t times = 1 + random.below(3); times > 0; --times)
      changed[random.below(changed.size())] = static_cast<char>(random.below(256));
    try_one(folder, changed);
  }
}

}  // namespace

TEST_CASE("damaged Kineto traces") { mutate(made::kineto(), 7, 1500, 1); }
TEST_CASE("damaged Kineto traces in gzip") { mutate(made::gzipped(made::kineto()), 3, 1000, 2); }
TEST_CASE("damaged exports of Nsight Systems") { mutate(made::nsys(), 97, 1500, 3); }
TEST_CASE("damaged output of nccl-tests") { mutate(made::nccl_tests(), 3, 1500, 4); }
TEST_CASE("damaged Chakra traces") { mutate(made::chakra(), 1, 3000, 5); }
