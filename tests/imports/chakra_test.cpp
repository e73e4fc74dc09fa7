// Chakra traces: device nodes, sizes of collectives, other schemas.
#include <chakra.pb.h>
#include <doctest/doctest.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <sstream>

#include "made_files.hpp"
#include "tests/about.hpp"

using namespace imports;
using namespace profiles;
namespace proto = foreshard::chakra;

namespace {

std::string file_of(const std::string& version, const std::vector<proto::Node>& nodes) {
  std::ostringstream out;
  proto::GlobalMetadata metadata;
  metadata.set_version(version);
  google::protobuf::util::SerializeDelimitedToOstream(metadata, &out);
  for (const proto::Node& n : nodes) google::protobuf::util::SerializeDelimitedToOstream(n, &out);
  return out.str();
}

proto::Node collective(std::int64_t type, std::int64_t size) {
  proto::Node n;
  n.set_id(4);
  n.set_name("x");
  n.set_type(7);
  n.set_duration_micros(5);
  auto* t = n.add_attr();
  t->set_name("comm_type");
  t->set_int64_val(type);
  auto* s = n.add_attr();
  s->set_name("comm_size");
  s->set_int64_val(size);
  return n;
}

}  // namespace

TEST_CASE("nodes on the device become kernels and collectives, host operations do not") {
  const ImportedTrace t = made::import_text(made::chakra());
  REQUIRE(t.kernels.size() == 1);
  CHECK(t.kernels[0].kind == pcg::KernelKind::matmul);
  CHECK(t.kernels[0].precision == pcg::Precision::fp32);
  CHECK(t.kernels[0].stream == 7);
  CHECK(t.kernels[0].start->value() == test::about(0));
  REQUIRE(t.collectives.size() == 1);
  CHECK(t.collectives[0].kind == CollectiveKind::all_reduce);
  CHECK(t.collectives[0].bytes->value() == 8192);
  CHECK(t.collectives[0].start->value() == test::about(30e-6));
  CHECK(t.span.value() == test::about(90e-6));  // 110 .. 200 us
  CHECK(t.notes[0] == "Chakra schema 0.0.4");
  CHECK(t.notes[1] == "1 of 3 nodes are host operations and are not imported");
}

TEST_CASE("an all-gather's full buffer needs the group, which nodes do not tell") {
  const ImportedTrace t = made::import_text(file_of("0.0.4", {collective(2, 64), collective(7, 64), collective(9, 0)}));
  CHECK(t.collectives[0].sent->value() == 64);
  CHECK(!t.collectives[0].bytes);
  CHECK(t.collectives[1].bytes->value() == 64);
  CHECK(!t.collectives[2].kind);  // a barrier
  CHECK(!t.collectives[0].start);
}

TEST_CASE("what is wrong") {
  CHECK(made::refusal(file_of("0.0.4", {collective(0, -1)})) == "f: node 4: comm_size is negative: -1");
  CHECK(made::refusal(file_of("0.0.4", {})) == "f: is a Chakra trace without a single node");
  CHECK(made::refusal(file_of(std::string("\x0a\x03pid\x68\x01"), {collective(0, 1)})).find("schema before 0.0.4") != std::string::npos);
  // A node whose third field is text, as in another schema: length, field 3, length 1.
  CHECK(made::refusal(file_of("0.0.4", {}) + std::string("\x03\x1a\x01x", 4)).find("of another schema") != std::string::npos);
  proto::Node late = collective(0, 1);
  late.set_start_time_micros(UINT64_MAX);
  CHECK(made::refusal(file_of("0.0.4", {late})).find("starts at 18446744073709551615 us") != std::string::npos);
}

TEST_CASE("a workload that nobody ran says so") {
  proto::Node made_up = collective(0, 64);
  made_up.clear_duration_micros();
  const ImportedTrace t = made::import_text(file_of("0.0.4", {made_up}));
  CHECK(t.notes[1] == "no node has a duration: a made-up workload, not a measurement");
}
