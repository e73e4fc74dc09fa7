// `nvidia-smi topo -m` to a node: routes worked out by hand, and what is refused.
#include <doctest/doctest.h>

#include "imports_samples.hpp"
#include "tests/about.hpp"

using namespace topology_test;

TEST_CASE("DGX-1V: bonded NVLinks by their number, PCIe switches from the adapters, sockets from SYS") {
  const auto t = import(kDgx1);
  CHECK(t.format == "nvidia-smi topo -m");
  // Four switches (GPU pair and adapter each), sixteen NVLink wires, 8 GPUs + 4 NICs + 4 switches on PCIe, one bus.
  CHECK(fmt::format("{} {} {} {} {}", t.gpus, t.cpus, t.switches, t.nics, t.wires) == "8 2 4 4 33");
  const auto c = load(t);
  CHECK(route_text(c, 0, 1) == "node0:gpu0->gpu1 at 25 GB/s in 1.3 us");  // NV1
  CHECK(route_text(c, 0, 4) == "node0:gpu0->gpu4 at 50 GB/s in 1.3 us");  // NV2
  // No NVLink: up through both switches and across the sockets, 4 x 0.5 + 0.6 us.
  CHECK(route_text(c, 0, 6) ==
        "node0:gpu0->switch0, node0:switch0->cpu0, node0:cpu0->cpu1, node0:cpu1->switch3, node0:switch3->gpu6 at 10 GB/s in 2.6 us");
  CHECK(c.device(gpu(0)).type == "v100-sxm2-16gb");  // 1+1+2+2 = 6 NVLinks
}

TEST_CASE("DGX-1V imported has the NVLink routes of the preset, pair by pair") {
  const auto imported = load(import(kDgx1)), preset = cluster_of("{preset: dgx-1v}");
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) {
      if (a == b || preset.route(gpu(a), gpu(b)).links.size() > 1) continue;
      CHECK(route_text(imported, a, b) == route_text(preset, a, b));
    }
  }
}

TEST_CASE("between two imported nodes every GPU uses the adapter on its switch") {
  const auto c = load(import(kDgx1), "2");
  CHECK(route_text(c, 2, 14) ==
        "node0:gpu2->switch1, node0:switch1->nic1, node0:nic1->switch, switch->node1:nic3, node1:nic3->switch3, node1:switch3->gpu6 at "
        "12.5 GB/s in 3.5 us");
}

TEST_CASE("NV12 and NV18 everywhere go through one NVSwitch, as in the presets; only the later one reduces") {
  const auto a100 = import(everywhere(8, 12)), h100 = import(everywhere(8, 18));
  CHECK(load(a100).route(gpu(0), gpu(7)).bandwidth == base::BytesPerSecond(300e9));  // 12 x 25 GB/s
  CHECK(load(h100).route(gpu(0), gpu(7)).bandwidth == base::BytesPerSecond(450e9));  // 18 x 25 GB/s
  CHECK(route_text(load(a100), 0, 7) == route_text(cluster_of("{preset: dgx-a100-40gb}"), 0, 7));
  CHECK(route_text(load(h100), 0, 7) == route_text(cluster_of("{preset: dgx-h100}"), 0, 7));
  CHECK(load(a100).device(gpu(0)).type == "a100-sxm-40gb");
  CHECK(load(h100).device(gpu(0)).type == "h100-sxm-80gb");
  CHECK_FALSE(load(a100).in_network_switch(gpu(0)));
  CHECK(load(h100).in_network_switch(gpu(0)));
  CHECK(notes_have(h100, "H100, H200 and B200 alike"));
  CHECK(notes_have(h100, "through NVSwitches"));
}

TEST_CASE("the GPU that is asked for decides what an NVLink carries") {
  CHECK(route_text(load(import(everywhere(8, 18), {.gpu = "b200-sxm-180gb"})), 0, 7) == route_text(cluster_of("{preset: dgx-b200}"), 0, 7));
  CHECK(import_errors(everywhere(8, 18), {.gpu = "a100-sxm-80gb"}).find("18 NVLinks per GPU, but a100-sxm-80gb has 12") !=
        std::string::npos);
}

TEST_CASE("sixteen V100 with NV6 are on NVSwitches, four A100 with NV4 are wired to each other") {
  const auto dgx2 = import(everywhere(16, 6)), four = import(everywhere(4, 4));  // 15 x 6 > 18; 3 x 4 = 12 are all of an A100
  CHECK(route_text(load(dgx2), 0, 15) == "node0:gpu0->switch0, node0:switch0->gpu15 at 150 GB/s in 1.3 us");
  CHECK(load(dgx2).device(gpu(0)).type == "v100-sxm2-16gb");
  CHECK(load(four).route(gpu(0), gpu(3)).links.size() == 1);
  CHECK(load(four).route(gpu(0), gpu(3)).bandwidth == base::BytesPerSecond(100e9));
  // Directly as far as through the crossbar of a DGX A100.
  CHECK(load(four).route(gpu(0), gpu(3)).latency.value() ==
        test::about(cluster_of("{preset: dgx-a100-80gb}").route(gpu(0), gpu(3)).latency.value()));
  CHECK(load(four).device(gpu(0)).type == "a100-sxm-40gb");
}

TEST_CASE("three GPUs with NV2 may be P100 or others with four links: no generation is concluded, and 25 GB/s a link are assumed") {
  const auto t = import(everywhere(3, 2));
  CHECK(notes_have(t, "The file does not name the GPU"));
  CHECK(load(t).route(gpu(0), gpu(1)).bandwidth == base::BytesPerSecond(50e9));
}

TEST_CASE("a box with PCIe only: PXB is a switch, NODE and SYS lead through CPUs, the GPU is left to choose") {
  const auto t = import(kPcieBox);
  const auto c = load(t, "2");
  CHECK(route_text(c, 0, 1) == "node0:gpu0->switch0, node0:switch0->gpu1 at 16 GB/s in 1 us");
  CHECK(route_text(c, 2, 3) == "node0:gpu2->cpu1, node0:cpu1->gpu3 at 16 GB/s in 1 us");
  CHECK(route_text(c, 1, 3) == "node0:gpu1->switch0, node0:switch0->cpu0, node0:cpu0->cpu1, node0:cpu1->gpu3 at 10 GB/s in 2.1 us");
  CHECK(c.device(gpu(0)).type == topology::kChooseGpu);
  CHECK(notes_have(t, "nic0 is NIC0 (mlx5_0)"));
  CHECK(notes_have(t, "write a device profile's name for choose-a-gpu"));
  // With A100 named, PCIe is of its generation.
  CHECK(load(import(kPcieBox, {.gpu = "a100-pcie-80gb"})).route(gpu(0), gpu(1)).bandwidth == base::BytesPerSecond(32e9));
}

TEST_CASE("GPUs of which only NVLink is known share a CPU, and that is said") {
  const auto t = import("\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n");
  CHECK(t.cpus == 1);
  CHECK(notes_have(t, "neither a PCIe relation (only NVLink) nor a NUMA node"));
  CHECK(notes_have(t, "for one node only"));
}

TEST_CASE("an older matrix says SOC for SYS") {
  CHECK(route_text(load(import("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSOC\t0-7\nGPU1\tSOC\t X \t8-15\n")), 0, 1) ==
        "node0:gpu0->cpu0, node0:cpu0->cpu1, node0:cpu1->gpu1 at 10 GB/s in 1.6 us");
}

TEST_CASE("every assumption is a comment in the file too") {
  const auto t = import(kDgx1);
  for (const auto& note : t.notes) CHECK(t.yaml.find("# - " + note) != std::string::npos);
}

TEST_CASE("a matrix that is cut off, asymmetric, contradictory or foreign is refused with the reason") {
  CHECK(
      import_errors(kPcieBox.substr(0, kPcieBox.find("GPU3    SYS"))) ==
      "f:1:1: GPU3 has a column but no row: the matrix is cut off\n    1 |         GPU0    GPU1    GPU2    GPU3    NIC0    CPU Affinity    "
      "NUMA Affinity\n      | ^\nf:1:1: NIC0 has a column but no row: the matrix is cut off\n    1 |         GPU0    GPU1    GPU2    GPU3 "
      "   NIC0    CPU Affinity    NUMA Affinity\n      | ^\n");
  const auto refused = [](const std::string& text, const std::string& why) {
    CAPTURE(text);
    const auto errors = import_errors(text);
    CAPTURE(errors);
    CHECK(errors.find(why) != std::string::npos);
  };
  refused(with(kPcieBox, "NODE     X      SYS     16-31   1\nNIC0", "NODE\nNIC0"), "3 of 5 cells: the row is cut off");
  refused(with(kPcieBox, "GPU1    PXB ", "GPU1    PIX "), "GPU1 with GPU0 is PIX, but PXB the other way round");
  refused(with(kPcieBox, "NODE     X ", "NODF     X "), "\"NODF\" is no relation: X, NV#, PIX, PXB, PHB, NODE, SYS");
  refused(with(kPcieBox, "NODE     X ", "NODE    NODE"), "a device and itself, X is wanted");
  refused(with(kPcieBox, "GPU1    PXB      X ", "GPU0    PXB      X "), "GPU0 has two rows");
  refused(with(kPcieBox, "GPU0    GPU1 ", "GPU0    GPU0 "), "GPU0 is a column twice");
  refused(with(kPcieBox, "GPU3    SYS", "GPU9    SYS"), "\"GPU9\" is no column of the matrix");
  refused(with(kPcieBox, "NIC0: mlx5_0", "NIC7: mlx5_0"), "the legend's NIC7: is no column");
  refused(kPcieBox.substr(kPcieBox.find('\n') + 1), "its header is missing");
  // NIC0 beside both, yet the GPUs on two sockets.
  refused("\tGPU0\tGPU1\tNIC0\nGPU0\tX\tSYS\tPIX\nGPU1\tSYS\tX\tPIX\nNIC0\tPIX\tPIX\tX\n",
          "GPU0 and GPU1 are SYS apart, but both are PIX or nearer");
  refused("\tGPU0\tNIC0\nGPU0\tX\tNV2\nNIC0\tNV2\tX\n", "NVLink joins GPUs only");
  std::string header, rows;  // 33 GPUs, each on its own NUMA node
  for (int i = 0; i < 33; ++i) {
    header += fmt::format("\tGPU{}", i);
    rows += fmt::format("GPU{}", i);
    for (int j = 0; j < 33; ++j) rows += i == j ? "\tX" : "\tSYS";
    rows += "\n";
  }
  refused(header + "\n" + rows, "33 NUMA nodes in one node, more than 32");
  // Three pairs of 12 on GPU1 need a switch, but GPU0 and GPU2 have no NVLink.
  refused("\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV12\tSYS\nGPU1\tNV12\tX\tNV12\nGPU2\tSYS\tNV12\tX\n", "24 NVLinks on one GPU");
}

TEST_CASE("text that is no topology is left to others") {
  for (const std::string text :
       {"", "\n\n", "foreshard: 1\ncluster: {}\n", "GPU0 is busy\n", "{\"traceEvents\": []}", "SwitchName\n", "a,b\n1,2\n"})
    CHECK(import_errors(text) == "foreign");
}

TEST_CASE("a matrix of peer access behind the other says whether GPUs reach each other's memory") {
  const std::string matrix = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPIX\t0-63\t0\nGPU1\tPIX\t X \t0-63\t0\n\nLegend:\n";
  const auto denied = [](const topology::ImportedTopology& t) { return t.yaml.find("peer_access: false") != std::string::npos; };
  const auto behind = [&](const std::string& cell) {
    return matrix + "\n \tGPU0\tGPU1\t\n GPU0\tX\t" + cell + "\n GPU1\t" + cell + "\tX\n";
  };
  CHECK(!denied(import(behind("OK"))));
  for (const std::string cell : {"NS", "GNS", "CNS"}) CHECK(denied(import(behind(cell))));
  CHECK(load(import(behind("GNS"))).route(gpu(0), gpu(1)).links.size() == 4);
  CHECK(import_errors(behind("PIX")).find("a second matrix begins here") != std::string::npos);
  CHECK(denied(import(matrix, {.gpu = "rtx4090-24gb"})));  // by the table of machines
  CHECK(!denied(import(matrix, {.gpu = "l40s-48gb"})));
}

TEST_CASE("GPUs of one NUMA node share a CPU, though a virtual machine calls them SYS apart") {
  const auto t = import(
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\nGPU0\tX\tSYS\tSYS\t0-3\t0\nGPU1\tSYS\tX\tSYS\t0-3\t0\n"
      "GPU2\tSYS\tSYS\tX\t4-7\t1\n");
  CHECK(t.cpus == 2);
  CHECK(notes_have(t, "SYS apart, but of one NUMA node"));
}
