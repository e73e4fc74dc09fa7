// Profiles that are files in place of those that ship.
#include "profiles/profile_files.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "profiles/device_profile.hpp"
#include "profiles/network_profile.hpp"

namespace {

const std::filesystem::path kFolder =
    std::filesystem::temp_directory_path() / ("foreshard-profile-files-test-" + std::to_string(::getpid()));

std::string written(const std::string& name, const std::string& text) {
  std::filesystem::create_directories(kFolder);
  std::ofstream(kFolder / name) << text;
  return (kFolder / name).string();
}

}  // namespace

TEST_CASE("a path is a profile of its own, read once, beside those that ship") {
  std::string text(profiles::device_text("a100-sxm-80gb"));
  const std::string memory = "memory: 80 GB";
  const std::size_t at = text.find("memory: ");
  text.replace(at, text.find('\n', at) - at, memory);
  const std::string device = written("ours.yaml", text),
                    network = written("net.yaml", std::string(profiles::network_text("a100-nvswitch")));
  const profiles::DeviceProfile& ours = profiles::device_profile(device);
  CHECK(ours.name == "a100-sxm-80gb");
  CHECK(ours.memory == base::Bytes(80e9));
  CHECK(profiles::device_profile("a100-sxm-80gb").memory != ours.memory);
  CHECK(profiles::network_profile(network).name == "a100-nvswitch");

  CHECK(profiles::device_title(device) == "a100-sxm-80gb (ours.yaml)");
  CHECK(profiles::device_title("a100-sxm-80gb") == "a100-sxm-80gb");
  CHECK(profiles::network_title(network) == "a100-nvswitch (net.yaml)");
  CHECK(profiles::network_title("") == "");

  std::filesystem::remove_all(kFolder);
  CHECK(&profiles::device_profile(device) == &ours);
}

TEST_CASE("what is wrong with a file is said, each time") {
  const std::string file = written("broken.yaml", "foreshard: 1\ndevice: {name: d, speed: 3}\n");
  for (int i = 0; i < 2; ++i)
    CHECK_THROWS_WITH_AS((void)profiles::device_profile(file), doctest::Contains("unknown key \"speed\""), base::InputError);
  CHECK_THROWS_WITH_AS((void)profiles::network_profile("/none.yaml"), doctest::Contains("/none.yaml"), base::InputError);
  std::filesystem::remove_all(kFolder);
}
