// NCCL's topology XML to a node: routes worked out by hand, and what is refused.
#include <doctest/doctest.h>

#include "imports_samples.hpp"
#include "tests/about.hpp"

using namespace topology_test;

TEST_CASE("POWER9: NVLink to the CPU, X-Bus between them, and an adapter of two ports") {
  const auto t = import(kPower9);
  CHECK(t.format == "NCCL topology XML");
  CHECK(fmt::format("{} {} {} {}", t.gpus, t.cpus, t.switches, t.nics) == "4 2 1 2");
  const auto c = load(t, "2");
  CHECK(route_text(c, 0, 1) == "node0:gpu0->gpu1 at 75 GB/s in 1.3 us");  // three bricks of 25 GB/s
  // Bricks 2 + 1 of GPU 0 to the CPU are one bundle of 75 GB/s; the X-Bus has 64: 1.3 + 0.6 + 1.3 us.
  CHECK(route_text(c, 0, 2) == "node0:gpu0->cpu0, node0:cpu0->cpu1, node0:cpu1->gpu2 at 64 GB/s in 3.2 us");
  // The adapter's PCIe 4.0 x8 is 16 GB/s for both ports of 100 Gb/s: NVLink 1.3, PCIe 0.5 + 0.5 us.
  CHECK(text_of(c, c.route_through_nics(gpu(0), gpu(4), 1, 1)) ==
        "node0:gpu0->cpu0, node0:cpu0->switch0, node0:switch0->nic1, node0:nic1->switch, switch->node1:nic1, node1:nic1->switch0, "
        "node1:switch0->cpu0, node1:cpu0->gpu0 at 12.5 GB/s in 6.1 us");
  CHECK(notes_have(t, "4 GPUs with NVLink to their CPU and PCIe of no speed"));
}

TEST_CASE("NVSwitches are one crossbar, PCIe has the bandwidth of speed x width, sockets that of their CPU") {
  const auto t = import(kHgx);
  const auto c = load(t, "2");
  // (9 + 9) x 25 GB/s.
  CHECK(c.route(gpu(0), gpu(1)).links.size() == 2);
  CHECK(c.route(gpu(0), gpu(1)).bandwidth == base::BytesPerSecond(450e9));
  CHECK(c.route(gpu(0), gpu(1)).latency.value() == test::about(cluster_of("{preset: dgx-h100}").route(gpu(0), gpu(1)).latency.value()));
  CHECK(c.in_network_switch(gpu(1)));
  // GPU dev 0 hangs on the second socket, beside mlx5_1: 400 Gb/s = 50 GB/s; PCIe 0.5 + 0.5, network 1.5, PCIe 0.5 + 0.5 us.
  CHECK(route_text(c, 0, 2) ==
        "node0:gpu0->switch1, node0:switch1->nic1, node0:nic1->switch, switch->node1:nic1, node1:nic1->switch1, node1:switch1->gpu0 at "
        "50 GB/s in 3.5 us");
  for (const auto& l : c.links()) {
    if (l.name == "node0:gpu0->switch1") CHECK(l.bandwidth == base::BytesPerSecond(64e9));  // 32 GT/s x 16 / 8
    if (l.name == "node0:cpu0->cpu1") CHECK(l.bandwidth == base::BytesPerSecond(22e9));     // Sapphire Rapids
  }
  CHECK(notes_have(t, "ports left out: eth0 (ethernet of 3.125 GB/s)"));
  CHECK(notes_have(t, "1 PCI devices left out"));
}

TEST_CASE("NVLinks between GPUs are summed over their entries") {
  const auto text = with(with(kPower9, "target=\"0004:05:00.0\" count=\"3\"", "target=\"0004:05:00.0\" count=\"1\""),
                         "<nvlink target=\"0004:00:00.0\" count=\"2\"",
                         "<nvlink target=\"0004:05:00.0\" count=\"2\" tclass=\"0x030200\"/><nvlink target=\"0004:00:00.0\" count=\"2\"");
  CHECK(route_text(load(import(text)), 0, 1) == "node0:gpu0->gpu1 at 75 GB/s in 1.3 us");
}

TEST_CASE("Ethernet ports make an Ethernet network, a port without a speed 10 Gb/s of it") {
  const auto t = import(
      "<system version=\"1\"><cpu numaid=\"-1\" arch=\"x86_64\" vendor=\"AuthenticAMD\"><pci busid=\"a\" class=\"0x030000\" "
      "link_speed=\"\" "
      "link_width=\"\"><gpu dev=\"0\" rank=\"0\"/></pci><nic><net name=\"eth0\" dev=\"0\" speed=\"-1\"/></nic></cpu></system>");
  const auto c = load(t, "2");
  CHECK(c.route(gpu(0), gpu(1)).bandwidth == base::BytesPerSecond(1.25e9));
  CHECK(t.yaml.find("network: {type: switch, link: ethernet}") != std::string::npos);
  CHECK(c.device(gpu(0)).type == topology::kChooseGpu);
}

TEST_CASE("C2C joins a Grace CPU and its GPU by bw x count") {
  // 10 links of 44,712 MB/s = 447.12 GB/s.
  const auto t = import(
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"arm64\"><pci busid=\"a\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" "
      "link_width=\"16\"><gpu "
      "dev=\"0\" sm=\"90\"><c2c bw=\"44712\" count=\"10\"/></gpu></pci></cpu></system>");
  CHECK(t.yaml.find("c2c: {bandwidth: 447.1 GB/s") != std::string::npos);
  CHECK(load(t).device_count() == 1);
}

TEST_CASE("XML that is cut off, asymmetric, of another sort or of several hosts is refused with the reason") {
  const auto refused = [](const std::string& text, const std::string& why) {
    const auto errors = import_errors(text);
    CAPTURE(errors);
    CHECK(errors.find(why) != std::string::npos);
  };
  refused(kPower9.substr(0, kPower9.size() / 2), "broken XML");
  refused("<topology version=\"2.0\"/>", "its root is <topology>: NCCL's topology files have <system>");
  refused("<?xml version=\"1.0\"?>\n", "broken XML");
  refused("<system version=\"1\"/>", "<system> has no <cpu>");
  refused("<system><cpu numaid=\"0\"/></system>", "no <gpu> in the file");
  refused(with(kPower9, "target=\"0004:04:00.0\" count=\"3\"", "target=\"0004:04:00.0\" count=\"2\""),
          "3 NVLinks from 0004:04:00.0 to 0004:05:00.0, but 2 back");
  refused(with(kPower9, "target=\"0004:05:00.0\"", "target=\"0004:04:00.0\""), "an NVLink from 0004:04:00.0 to itself");
  refused(with(kPower9, "busid=\"0004:05:00.0\"", "busid=\"0004:04:00.0\""), "PCI device 0004:04:00.0 is there twice");
  refused(with(kPower9, "dev=\"3\"", "dev=\"2\""), "GPU dev 2 is there twice");
  refused(with(kPower9, "dev=\"1\" speed", "dev=\"0\" speed"), "net dev 0 is there twice");
  refused(with(kPower9, "numaid=\"8\"", "numaid=\"0\""), "NUMA node 0 is there twice");
  refused(with(kPower9, "numaid=\"8\"", ""), "<cpu> has no numaid");
  refused(with(kPower9, "dev=\"0\" sm", "sm"), "<gpu> has no dev");
  refused(with(kPower9, "16 GT/s", "16 GB/s"), "link_speed=\"16 GB/s\" is no PCIe speed");
  refused(with(kPower9, "link_width=\"8\"", "link_width=\"eight\""), "link_width=\"eight\" is no number of lanes");
  refused(with(kPower9, "sm=\"70\" rank=\"1\"", "sm=\"80\" rank=\"1\""), "several compute capabilities");
  refused(with(kPower9, "tclass=\"0x068001\"", "tclass=\"0x999999\""), "neither a GPU, an NVSwitch nor a CPU");
  refused(with(kHgx, "host_hash=\"0x1\" numaid=\"1\"", "host_hash=\"0x2\" numaid=\"1\""), "2 hosts (host_hash) in one file");
  std::string deep = "<system><cpu numaid=\"0\">";
  for (int i = 0; i < 5000; ++i) deep += fmt::format("<pci busid=\"{}\" class=\"0x060400\">", i);
  for (int i = 0; i < 5000; ++i) deep += "</pci>";
  refused(deep + "</cpu></system>", "more than 32 PCIe switches above each other");
}

TEST_CASE("a problem in the XML is shown where it stands") {
  CHECK(
      import_errors(with(kPower9, "16 GT/s", "16 GB/s")) ==
      "f:16:6: link_speed=\"16 GB/s\" is no PCIe speed\n   16 |     <pci busid=\"0003:01:00.0\" class=\"0x020700\" link_speed=\"16 GB/s\" "
      "link_width=\"8\">\n      |      ^~~ e.g. \"16 GT/s\"; empty where it is not known\n");
}

TEST_CASE("widths that a kernel does not know are as if they were not there") {
  for (const char* const unknown : {"0", "63", "255"})
    CHECK(import_errors(with(kPower9, "link_speed=\"16 GT/s\" link_width=\"8\"",
                             fmt::format("link_speed=\"16 GT/s\" link_width=\"{}\"", unknown))) == "none");
  CHECK(import_errors(with(kPower9, "link_width=\"8\"", "link_width=\"64\"")).find("is no number of lanes") != std::string::npos);
}

TEST_CASE("of kinds with equally many ports the faster one is the network; sockets of AMD exchange 16 GB/s") {
  const auto machine = [](const char* first, const char* second) {
    return fmt::format(
        "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\"><pci busid=\"a\" class=\"0x030000\" "
        "link_speed=\"\" link_width=\"\"><gpu dev=\"0\" rank=\"0\"/></pci><nic><net name=\"x\" dev=\"0\" speed=\"{}\"/></nic></cpu><cpu "
        "numaid=\"1\" arch=\"x86_64\" vendor=\"AuthenticAMD\"><nic><net name=\"y\" dev=\"1\" speed=\"{}\"/></nic></cpu></system>",
        first, second);
  };
  for (const auto& t : {import(machine("25000", "100000")), import(machine("100000", "25000"))}) {
    CHECK(load(t, "2").route(gpu(0), gpu(1)).bandwidth == base::BytesPerSecond(12.5e9));
    CHECK(notes_have(t, "joined two by two by a bus of 16 GB/s"));
  }
}
