#include "base/embedded/embedded_files.hpp"

#include <doctest/doctest.h>

#include <array>

#include "tests/base/input_error_text.hpp"

namespace {

constexpr std::array kFiles = {base::EmbeddedFile{"dgx-1", "gpus: 8\n"}, base::EmbeddedFile{"dgx-2", "gpus: 16\n"}};
constexpr base::EmbeddedFiles kMachines("machine profile", kFiles);

int gpus_of(const base::Yaml& document) { return std::stoi(document.find("gpus")->scalar); }

}  // namespace

TEST_CASE("files are found by name, and an unknown name gets the nearest one") {
  CHECK(kMachines.names() == std::vector<std::string>{"dgx-1", "dgx-2"});
  CHECK(kMachines.find("dgx-2") == "gpus: 16\n");
  CHECK_FALSE(kMachines.find("dgx").has_value());
  CHECK(input_error_text([] { kMachines.refuse("dgx-l"); }) == "no machine profile is called \"dgx-l\"\n       did you mean \"dgx-1\"?");
}

TEST_CASE("parsed files keep what each says, and its places name the file") {
  const base::ParsedFiles<int> gpus(kMachines, gpus_of);
  CHECK(gpus.at("dgx-2") == 16);
  CHECK(gpus.find("dgx-3") == nullptr);
  CHECK_THROWS_AS((void)gpus.at("dgx-3"), base::InputError);
  CHECK(kMachines.parse(kFiles[0]).find("gpus")->mark.source->name == "<machine dgx-1>");
}
