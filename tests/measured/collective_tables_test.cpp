// Tables of collective times: each public form with made-up rows, and our own.
#include <doctest/doctest.h>

#include "base/diagnostics.hpp"
#include "profiles/measured/tables.hpp"
#include "tests/about.hpp"

namespace {

using measured::Measurements;
using profiles::CollectiveKind;

Measurements read(const std::string& text) { return measured::read_measurements(text, "table.csv"); }

std::string refusal(const std::string& text) {
  try {
    (void)read(text);
  } catch (const base::InputError& e) { return e.what(); }
  return {};
}

void check_row(const measured::CollectiveMeasurement& m, const std::string& cluster, int nodes, int gpus, CollectiveKind kind, double bytes,
               double seconds) {
  CHECK(m.cluster == cluster);
  CHECK(m.nodes == nodes);
  CHECK(m.gpus == gpus);
  CHECK(m.kind == kind);
  CHECK(m.bytes.value() == bytes);
  CHECK(m.time.value() == test::about(seconds));
}

bool noted(const Measurements& m, const std::string& what) {
  for (const std::string& note : m.notes)
    if (note.find(what) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("our own table, there and back") {
  const std::string text = "cluster,nodes,gpus,kind,bytes,seconds\ndgx-h100,2,16,all_gather,1048576,0.00012\nmine,1,4,send,10,1e-05\n";
  const Measurements m = read(text);
  REQUIRE(m.collectives.size() == 2);
  check_row(m.collectives[0], "dgx-h100", 2, 16, CollectiveKind::all_gather, 1048576, 120e-6);
  CHECK(m.collectives[0].source == "table.csv:2");
  CHECK(measured::to_csv(m.collectives) == text);
}

TEST_CASE("what cannot be true is refused with its line") {
  const std::string head = "cluster,nodes,gpus,kind,bytes,seconds\n";
  CHECK(refusal(head + "a,2,15,all_reduce,8,1\n").find("table.csv:2: 15 GPUs on 2 nodes") != std::string::npos);
  CHECK(refusal(head + "a,0,4,all_reduce,8,1\n").find("table.csv:2") != std::string::npos);
  CHECK(refusal(head + "a,1,1e30,all_reduce,8,1\n").find("table.csv:2") != std::string::npos);
  CHECK(refusal(head + "a,1,4,all_reduced,8,1\n").find("all_reduced") != std::string::npos);
  CHECK(refusal(head + "a,1,4,all_reduce,many,1\n").find("many") != std::string::npos);
  CHECK(refusal(head + ",1,4,all_reduce,8,1\n").find("cluster is empty") != std::string::npos);
  CHECK(refusal(head + "a,1,,all_reduce,8,1\n").find("gpus is empty") != std::string::npos);
  CHECK(noted(read(head + "a,1,4,all_reduce,8,0\na,1,4,all_reduce,8,\n"), "2 rows left out: no time"));
}

TEST_CASE("aiconfigurator: systems become presets, milliseconds seconds") {
  const Measurements m = read(
      "system,device,nccl_version,op,dtype,n_gpus,message_size_elements,bytes,latency_ms,source_dir\n"
      "a100_sxm,X,2.27,alltoall,half,4,512,1024,0.0125,s\nl40,X,2.27,all_gather,half,4,512,1024,0.0125,s\n"
      "l40s,X,2.27,all_gather,half,2,512,1024,0.0125,s\nl40s,X,2.27,all_gather,half,4,512,1024,0.0125,s\n");
  REQUIRE(m.collectives.size() == 2);
  check_row(m.collectives[0], "dgx-a100-80gb", 1, 4, CollectiveKind::all_to_all, 1024, 12.5e-6);
  check_row(m.collectives[1], "pcie-l40s-4", 1, 2, CollectiveKind::all_gather, 1024, 12.5e-6);
  CHECK(noted(m, "1 rows left out: no cluster preset for l40"));
  CHECK(noted(m, "1 rows left out: its wires between more than two GPUs are not known"));
}

TEST_CASE("vTrain: one node, out of place") {
  const Measurements m = read(
      "gpu,n_gpus,bytes,out_of_place_us,out_busbw_GBps,in_place_us,in_busbw_GBps,op,dtype,source\nv100,8,4194304,151,48,150,48,all_reduce,"
      "f,s\n");
  REQUIRE(m.collectives.size() == 1);
  check_row(m.collectives[0], "dgx-1v", 1, 8, CollectiveKind::all_reduce, 4194304, 151e-6);
}

TEST_CASE("nccl-tests: machines by GPU and network; what one process cannot launch faster is left out") {
  const std::string head =
      "op,gpu,n_gpus,n_nodes,network,bytes,dtype,oop_time_us,oop_algbw_GBps,oop_busbw_GBps,ip_time_us,ip_algbw_GBps,ip_busbw_GBps,notes,"
      "source\n";
  const std::string one = "all_reduce,A100-SXM4-40GB,8,1,NVLink3+NVSwitch,", process = ",0,0,0,0,0,\"single process, 8 GPUs\",s\n";
  const Measurements m =
      read(head + one + "256,float,40" + process + one + "65536,float,49" + process + one + "1048576,float,75" + process +
           "all_reduce,H100 (p5.48xlarge),16,2,3200Gb/s EFA; EKS,1024,float,70,0,0,,,,,s\n"
           "all_reduce,GB200 NVL72,144,36,2 racks NVL72 + IB,4096,float,90,0,0,,,,,s\n"
           "reduce,H100 (p5.48xlarge),16,2,3200Gb/s EFA; EKS,1024,float,70,0,0,,,,,s\n"
           "all_reduce,B9000,8,1,soup,1024,float,70,0,0,,,,,s\n");
  REQUIRE(m.collectives.size() == 3);
  check_row(m.collectives[0], "dgx-a100-40gb", 1, 8, CollectiveKind::all_reduce, 1048576, 75e-6);
  check_row(m.collectives[1], "aws-p5.48xlarge", 2, 16, CollectiveKind::all_reduce, 1024, 70e-6);
  check_row(m.collectives[2], "gb200-nvl72", 36, 144, CollectiveKind::all_reduce, 4096, 90e-6);
  CHECK(noted(m, "2 rows left out: as quick as one process launches"));  // 40 and 49 us, up to a quarter above 40
  CHECK(noted(m, "no such collective here: reduce"));
  CHECK(noted(m, "no cluster preset for B9000, soup"));
}

TEST_CASE("aiconfigurator: chips by the names of its tables") {
  const Measurements m = read(
      "system,device,nccl_version,op,dtype,n_gpus,message_size_elements,bytes,latency_ms,source_dir\n"
      "gb200,g,2,all_gather,half,4,1,2048,0.02,s\nb300_sxm,b,2,all_reduce,half,8,1,2048,0.03,s\n");
  REQUIRE(m.collectives.size() == 2);
  check_row(m.collectives[0], "gb200-nvl72", 1, 4, CollectiveKind::all_gather, 2048, 20e-6);
  check_row(m.collectives[1], "dgx-b300", 1, 8, CollectiveKind::all_reduce, 2048, 30e-6);
}

TEST_CASE("vidur: nodes from workers and devices per node") {
  const Measurements m = read(
      "network_device,op,num_workers,devices_per_node,max_devices_per_node,bytes,min_ms,median_ms,mean_ms,max_ms,source\n"
      "h100_dgx,send_recv,2,1,8,2048,1,0.017,1,1,s\na100_dgx,send_recv,2,1,8,2048,1,0.03,1,1,s\na100_dgx,all_reduce,4,4,8,2048,1,0.06,1,1,"
      "s\n");
  REQUIRE(m.collectives.size() == 2);
  check_row(m.collectives[0], "dgx-h100", 2, 2, CollectiveKind::send, 2048, 17e-6);
  check_row(m.collectives[1], "dgx-a100-80gb", 1, 4, CollectiveKind::all_reduce, 2048, 60e-6);
  CHECK(noted(m, "a fabric that is not named"));
}

TEST_CASE("ml-engineering: times from bus bandwidths, forced algorithms left out") {
  const Measurements m = read(
      "op,gpu,n_gpus,n_nodes,network,bytes,busbw_GBps,algbw_GBps,source\nall_reduce,H200,8,1,NVLink; NCCL algo NVLS,8000000000,400,,s\n"
      "all_reduce,H200,8,1,NVLink; NVLS off (ring),8000000000,300,,s\n");
  REQUIRE(m.collectives.size() == 1);
  check_row(m.collectives[0], "dgx-h200", 1, 8, CollectiveKind::all_reduce, 8e9, 2 * 7.0 / 8 * 8e9 / 400e9);
  CHECK(noted(m, "the algorithm was forced"));
}

TEST_CASE("rows of many authors: times, or bus bandwidths; forced algorithms and exchanges without bytes are left out") {
  const Measurements m = read(
      "system,n_nodes,gpus_per_node,n_gpus,collective,bytes,busbw_GBps,algbw_GBps,time_us,notes,source\n"
      "H100 Nebius HGX (8 x 400 Gb/s IB),2,8,16,all_reduce,1048576,22.3,11.89,88,torch,s\n"
      "H200 HGX,1,8,8,all_gather,8000000000,350,,,ring,s\nH100 HGX,2,8,16,all_reduce,8000000000,330,,,NVLS off,s\n"
      "H100 HGX,1,8,8,all_reduce,large,476,,,NVLS,s\nH200 HGX,1,8,8,ep_combine,,,43.6,,HybridEP,s\n");
  REQUIRE(m.collectives.size() == 2);
  check_row(m.collectives[0], "dgx-h100", 2, 16, CollectiveKind::all_reduce, 1048576, 88e-6);
  check_row(m.collectives[1], "dgx-h200", 1, 8, CollectiveKind::all_gather, 8e9, 7.0 / 8 * 8e9 / 350e9);
  for (const char* const why : {"the algorithm was forced", "no bytes", "no such collective here: ep_combine"}) CHECK(noted(m, why));
}

TEST_CASE("ml-engineering's P6: what Python cannot launch faster is left out on one node") {
  const std::string head = "op,gpu,n_gpus,n_nodes,network,bytes,busbw_GBps,algbw_GBps,source\n", p6 = "all_reduce,B200 (AWS P6-B200),";
  const Measurements m = read(head + p6 + "8,1,NVLink5,1000000,35,,s\n" + p6 + "8,1,NVLink5,1000000000,700,,s\n" + p6 +
                              "32,4,EFA v4 8x400Gb per node,1000000,5,,s\n");
  REQUIRE(m.collectives.size() == 2);
  check_row(m.collectives[0], "aws-p6-b200.48xlarge", 1, 8, CollectiveKind::all_reduce, 1e9, 2 * 7.0 / 8 * 1e9 / 700e9);
  check_row(m.collectives[1], "aws-p6-b200.48xlarge", 4, 32, CollectiveKind::all_reduce, 1e6, 2 * 31.0 / 32 * 1e6 / 5e9);
  CHECK(noted(m, "1 rows left out: as quick as Python launches"));
}
