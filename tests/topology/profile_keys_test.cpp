// `node.gpus.file` and `network_profile: {file: ...}`: whole paths, and one of name and file.
#include "topology/profile_keys.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "base/yaml/parse.hpp"
#include "base/yaml/patch.hpp"
#include "clusters.hpp"
#include "topology/drawing.hpp"
#include "topology/load.hpp"

using namespace topology_test;

namespace {

topology::Cluster loaded(const std::string& section, const std::filesystem::path& directory = "/a") {
  return topology::load_cluster(topology::expand_cluster(base::parse_yaml(section, "c.yaml"), "cluster", directory), "cluster");
}

std::string problem(const std::string& section) {
  try {
    (void)loaded(section);
  } catch (const base::InputError& e) { return e.what(); }
  return "";
}

}  // namespace

TEST_CASE("a file beside a preset takes the place of its names, and starts at the folder of whoever names it") {
  const auto c = loaded("{preset: dgx-a100-80gb, node.gpus.file: b/ours.yaml, network_profile: {file: ../net.yaml}}");
  CHECK(c.device(gpu(0)).type == "/a/b/ours.yaml");
  CHECK(c.network_profile() == "/net.yaml");
  CHECK(loaded("{preset: dgx-a100-80gb, network_profile.file: net.yaml}").network_profile() == "/a/net.yaml");
  CHECK(loaded("{preset: dgx-a100-80gb, node: {gpus: {file: /x/ours.yaml, count: 4}}}").device(gpu(0)).type == "/x/ours.yaml");
  CHECK(topology::to_dot(c).find("8 x ours.yaml\"") != std::string::npos);
}

TEST_CASE("a cluster's file names profiles from its own folder, and what overrides it from another") {
  const auto folder = std::filesystem::temp_directory_path() / ("foreshard-profile-keys-test-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "inner");
  std::ofstream(folder / "inner" / "own.yaml") << "foreshard: 1\ncluster: {preset: dgx-a100-80gb, node.gpus.file: ours.yaml}\n";
  const std::string inner = (folder / "inner" / "ours.yaml").string(), outer = (folder / "other.yaml").string();
  CHECK(loaded("{file: inner/own.yaml, nodes: 2}", folder).device(gpu(15)).type == inner);
  CHECK(loaded("{file: inner/own.yaml, node.gpus.file: other.yaml}", folder).device(gpu(0)).type == outer);
  CHECK(loaded("{file: inner/own.yaml, node.gpus.type: a100-sxm-80gb}", folder).device(gpu(0)).type == "a100-sxm-80gb");
  CHECK(topology::load_cluster_argument((folder / "inner" / "own.yaml").string()).device(gpu(0)).type == inner);
  std::filesystem::remove_all(folder);
}

TEST_CASE("every node type may have a file of its own") {
  const std::string links = "links: {wire: {bandwidth: 1 GB/s, latency: 1 us}}, network: {type: switch, link: wire}, ";
  const std::string node = "count: 1}, components: [nic0], wires: [{between: [gpu0, nic0], link: wire}]}";
  const auto c = loaded("{" + links + "node_types: [{count: 1, gpus: {file: ours.yaml, " + node +
                        ", {count: 1, gpus: {type: a100-sxm-80gb, " + node + "]}");
  CHECK(c.device(gpu(0)).type == "/a/ours.yaml");
  CHECK(c.device(gpu(1)).type == "a100-sxm-80gb");
}

TEST_CASE("an expanded section keeps its files, and a patch takes one of name and file") {
  base::Yaml section =
      topology::expand_cluster(base::parse_yaml("{preset: dgx-a100-80gb, node.gpus.file: ours.yaml}", "c.yaml"), "cluster", "/a");
  CHECK(base::emit_yaml(topology::expand_cluster(section, "cluster", "/b")) == base::emit_yaml(section));
  const auto patch = [&](const std::string& path, const std::string& text) {
    base::Diagnostics sink;
    base::Yaml value = base::parse_yaml(text, "w.yaml");
    topology::complete_profile_files(value, path, "/w");
    topology::adopt_profiles(section, path, value);
    base::patch_yaml(section, path, value, sink, "set", base::UnknownKey::add);
    REQUIRE(sink.empty());
    return topology::load_cluster(section, "cluster").device(gpu(0)).type;
  };
  CHECK(patch("node.gpus.type", "h100-sxm-80gb") == "h100-sxm-80gb");
  CHECK(patch("node.gpus", "{file: x.yaml}") == "/w/x.yaml");
}

TEST_CASE("a name and a file at once, neither, and a file in the place of a name are refused") {
  CHECK(problem("{preset: dgx-a100-80gb, node: {gpus: {type: a100-sxm-80gb, file: x.yaml}}}").find("the GPUs have a type, too") !=
        std::string::npos);
  CHECK(problem("{preset: dgx-a100-80gb, node.gpus.type: x.yaml}").find("write file: x.yaml in place of type") != std::string::npos);
  CHECK(problem("{preset: dgx-a100-80gb, network_profile: ./x}").find("write {file: ./x}") != std::string::npos);
  CHECK(problem("{preset: dgx-a100-80gb, network_profile: {fil: x}}").find("did you mean \"file\"?") != std::string::npos);
}
