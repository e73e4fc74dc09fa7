#include "made_files.hpp"

#include <chakra.pb.h>
#include <doctest/doctest.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <sqlite3.h>
#include <unistd.h>

#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#include <fstream>
#include <sstream>

#include "base/diagnostics.hpp"
#include "profiles/imports/import.hpp"

namespace made {
namespace fs = std::filesystem;

Folder::Folder() : path_(fs::temp_directory_path() / ("foreshard-imports-test-" + std::to_string(::getpid()))) {
  fs::create_directories(path_);
}
Folder::~Folder() { fs::remove_all(path_); }

fs::path Folder::write(const std::string& name, std::string_view bytes) const {
  std::ofstream(path_ / name, std::ios::binary) << bytes;
  return path_ / name;
}

std::string gzipped(std::string_view text) {
  std::stringbuf packed;
  boost::iostreams::filtering_ostreambuf out;
  out.push(boost::iostreams::gzip_compressor());
  out.push(packed);
  out.sputn(text.data(), static_cast<std::streamsize>(text.size()));
  out.reset();  // writes what is left
  return packed.str();
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

imports::ImportedTrace import_text(std::string_view bytes) {
  const Folder folder;
  return imports::import_trace(folder.write("f", bytes));
}

std::string refusal(std::string_view bytes) {
  const Folder folder;
  try {
    (void)imports::import_trace(folder.write("f", bytes));
  } catch (const base::InputError& e) {
    std::string text = base::render(e.diagnostics().front());
    const std::string place = (folder / "f").string();
    CHECK_MESSAGE(text.starts_with(place), text);  // it names the file
    return text.substr(place.size() - 1);
  }
  return "";
}

std::string kineto() {
  return R"trace({"schemaVersion": 1, "deviceProperties": [
 {"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85031714816, "numSms": 108},
 {"id": 1, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85031714816, "numSms": 108}],
"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}, "odd": NaN,
"traceEvents": [
 {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "ts": 0, "args": {"name": "python"}},
 {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 9, "tid": 9, "ts": 1712195495519000.000, "dur": 1000, "args": {}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 9, "tid": 9, "ts": 1712195495519010.000, "dur": 90.5, "args": {"External id": 1}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 9, "tid": 9, "ts": 1712195495519020.000, "dur": 50, "args":
   {"External id": 2, "Input Dims": [[256], [64, 128], [128, 256], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"]}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 1712195495519030.000, "dur": 5, "args": {"correlation": 11}},
 {"ph": "X", "cat": "kernel", "name": "ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn", "pid": 0, "tid": 7, "ts": 1712195495519100.001, "dur": 20.002,
   "args": {"External id": 2, "device": 0, "stream": 7, "correlation": 11, "grid": [4, 1, 1]}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", "pid": 0, "tid": 20, "ts": "1712195495519110", "dur": "40",
   "args": {"device": 0, "stream": 20, "correlation": 12, "Collective name": "_allgather_base", "In msg nelems": 1000, "Out msg nelems": 8000,
            "dtype": "BFloat16", "Group size": 8, "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]"}},
 {"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "pid": 9, "tid": 10, "ts": 1712195495519040, "dur": 10,
   "args": {"Input Dims": [[300, 10]], "Input type": ["float"]}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 9, "tid": 10, "ts": 1712195495519045, "dur": 5, "args": {"correlation": 13}},
 {"ph": "X", "cat": "kernel", "name": "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "pid": 0, "tid": 20, "ts": 1712195495519160, "dur": 30,
   "args": {"External id": 13, "device": 0, "stream": 20, "correlation": 13}},
 {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 1712195495519130, "dur": 10,
   "args": {"device": 0, "stream": 7, "correlation": 14, "bytes": 4096}}
]
}
)trace";
}

void run_sql(const fs::path& file, const std::vector<std::string>& statements) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &db) == SQLITE_OK);
  for (const std::string& s : statements) REQUIRE_MESSAGE(sqlite3_exec(db, s.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK, s);
  sqlite3_close(db);
}

std::string nsys() {
  const Folder folder;
  const fs::path file = folder / "made.sqlite";
  run_sql(
      file,
      {"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)",
       "INSERT INTO StringIds VALUES (1, 'sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64'), "
       "(2, 'ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)'), (3, 'iteration 5'), (4, 'forward')",
       "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER "
       "NOT NULL, correlationId INTEGER, demangledName INTEGER NOT NULL, gridX INTEGER)",
       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 5000, 1, 7, 1, 1, 8), (4000, 9000, 1, 20, 2, 2, 8)",
       "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, bytes INTEGER, copyKind "
       "INTEGER)",
       "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10000, 11000, 1, 7, 4096, 8)",
       "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, textId INTEGER, globalTid "
       "INTEGER)",
       "INSERT INTO NVTX_EVENTS VALUES (1000, 12000, 59, NULL, 3, 1), (1500, 4000, 59, NULL, 4, 1), (1600, NULL, 34, 'mark', NULL, 1)",
       "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER)",
       "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3', 85520809984), (1, 'NVIDIA H100 80GB HBM3', 85520809984)"});
  return bytes_of(file);
}

std::string nccl_tests() {
  // busbw / algbw of an all-reduce on 4 ranks is 2 * 3 / 4 = 1.5; 1048576 B / 50 us = 20.97 GB/s.
  return "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 4194304 step: 4(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 "
         "graph: 0\n"
         "# Collective test starting: all_reduce_perf\n"
         "#\n"
         "# Using devices\n"
         "#  Rank  0 Group  0 Pid   4711 on      node1 device  0 [0000:07:00] NVIDIA A100-SXM4-40GB\n"
         "#  Rank  1 Group  0 Pid   4712 on      node1 device  1 [0000:0f:00] NVIDIA A100-SXM4-40GB\n"
         "#  Rank  2 Group  0 Pid   1111 on      node2 device  0 [0000:07:00] NVIDIA A100-SXM4-40GB\n"
         "#  Rank  3 Group  0 Pid   1112 on      node2 device  1 [0000:0f:00] NVIDIA A100-SXM4-40GB\n"
         "#\n"
         "#                                                              out-of-place                       in-place          \n"
         "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
         "     1048576        262144     float     sum      -1    50.00   20.97   31.46      0    49.00   21.40   32.10      0\n"
         "     4194304       1048576     float     sum      -1   100.00   41.94   62.91      0   101.00   41.53   62.29      0\n"
         "# Out of bounds values : 0 OK\n"
         "# Avg bus bandwidth    : 47.19 \n"
         "#\n";
}

std::string chakra() {
  namespace proto = foreshard::chakra;
  std::ostringstream out;
  proto::GlobalMetadata metadata;
  metadata.set_version("0.0.4");
  google::protobuf::util::SerializeDelimitedToOstream(metadata, &out);
  const auto add = [&](std::uint64_t id, const char* name, int type, bool host, std::uint64_t start_us, std::uint64_t us, auto more) {
    proto::Node n;
    n.set_id(id);
    n.set_name(name);
    n.set_type(type);
    n.set_start_time_micros(start_us);
    n.set_duration_micros(us);
    auto* is_host = n.add_attr();
    is_host->set_name("is_cpu_op");
    is_host->set_bool_val(host);
    more(n);
    google::protobuf::util::SerializeDelimitedToOstream(n, &out);
  };
  const auto attribute = [](proto::Node& n, const char* name, std::int64_t value) {
    auto* a = n.add_attr();
    a->set_name(name);
    a->set_int64_val(value);
  };
  add(1, "aten::mm(0)", 4, true, 100, 30, [](proto::Node&) {});
  add(2, "ampere_sgemm_128x64_nn", 4, false, 110, 25, [&](proto::Node& n) {
    attribute(n, "stream", 7);
    n.mutable_inputs()->set_types("['Tensor(float)', 'Tensor(float)']");
  });
  add(3, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 7, false, 140, 60, [&](proto::Node& n) {
    attribute(n, "comm_type", 0);
    attribute(n, "comm_size", 8192);
    attribute(n, "stream", 20);
    n.mutable_inputs()->set_types("['Tensor(float)']");
  });
  return out.str();
}

}  // namespace made
