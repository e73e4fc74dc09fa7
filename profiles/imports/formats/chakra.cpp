#include "profiles/imports/formats/formats.hpp"

#include <chakra.pb.h>
#include <fmt/format.h>

#include <algorithm>

#include "profiles/imports/sources/byte_source.hpp"
#include "profiles/imports/traces/kernel_names.hpp"
#include "profiles/imports/traces/trace.hpp"

namespace imports {
namespace {

namespace proto = foreshard::chakra;

// Limits against files that would fill the memory: a node takes kilobytes, and a step of a large model has some hundred thousand.
constexpr std::uint64_t kLongestMessage = std::uint64_t{64} << 20;
constexpr std::size_t kMostNodes = 20'000'000;

enum NodeType { kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7 };

struct MessageLength {
  std::uint64_t value = 0;
  std::size_t bytes = 0;  // that it is written in; 0: no varint of 32 bits
};

MessageLength length_at(std::string_view head) {
  MessageLength l;
  for (std::size_t i = 0; i < std::min<std::size_t>(head.size(), 5); ++i) {
    const auto byte = static_cast<unsigned char>(head[i]);
    l.value |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      l.bytes = i + 1;
      return l;
    }
  }
  return l;
}

bool is_version(const std::string& text) {
  return text.size() < 64 && std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

std::optional<std::int64_t> whole(const proto::Attribute& a) {
  using A = proto::Attribute;
  switch (a.value_case()) {
    case A::kInt32Val: return a.int32_val();
    case A::kInt64Val: return a.int64_val();
    case A::kUint32Val: return a.uint32_val();
    case A::kUint64Val: return static_cast<std::int64_t>(a.uint64_val());  // beyond 2^63 it reads as negative, and is refused as a size
    case A::kSint32Val: return a.sint32_val();
    case A::kSint64Val: return a.sint64_val();
    case A::kFixed32Val: return a.fixed32_val();
    case A::kFixed64Val: return static_cast<std::int64_t>(a.fixed64_val());
    case A::kSfixed32Val: return a.sfixed32_val();
    case A::kSfixed64Val: return a.sfixed64_val();
    case A::kBoolVal: return a.bool_val() ? 1 : 0;
    default: return std::nullopt;
  }
}

const proto::Attribute* attribute(const proto::Node& node, std::string_view name) {
  for (const proto::Attribute& a : node.attr())
    if (a.name() == name) return &a;
  return nullptr;
}

std::optional<std::int64_t> whole(const proto::Node& node, std::string_view name) {
  const proto::Attribute* a = attribute(node, name);
  return a == nullptr ? std::nullopt : whole(*a);
}

// CollectiveCommType of the schema.
std::optional<profiles::CollectiveKind> collective_of(std::int64_t type) {
  switch (type) {
    case 0: return profiles::CollectiveKind::all_reduce;
    case 2: return profiles::CollectiveKind::all_gather;
    case 5: return profiles::CollectiveKind::broadcast;
    case 6: return profiles::CollectiveKind::all_to_all;
    case 7:
    case 8: return profiles::CollectiveKind::reduce_scatter;
    default: return std::nullopt;
  }
}

// "['Tensor(float)', 'Bool']": of the first tensor.
const ElementType* element_of(const std::string& types) {
  const std::size_t from = types.find("Tensor(");
  if (from == std::string::npos) return nullptr;
  const std::size_t to = types.find(')', from);
  return to == std::string::npos ? nullptr : element_type(std::string_view(types).substr(from + 7, to - from - 7));
}

class ChakraReader {
 public:
  explicit ChakraReader(ByteSource& bytes) : bytes_(&bytes) {
    trace_.format = TraceFormat::chakra;
    trace_.file = bytes.name();
  }
  ImportedTrace read();

 private:
  [[nodiscard]] bool next(std::string& message);
  void read_metadata();
  void read_node(const std::string& message);
  void add_kernel(const proto::Node& node);
  void add_collective(const proto::Node& node);
  template <class Item>
  void set_times(const proto::Node& node, Item& item);
  [[noreturn]] void refuse_node(const proto::Node& node, const std::string& message) const {
    refuse(trace_.file, fmt::format("node {}: {}", node.id(), message));
  }
  void settle_starts();
  void add_notes();

  ByteSource* bytes_;
  ImportedTrace trace_;
  std::string version_;
  std::size_t messages_ = 0, nodes_ = 0, host_ = 0, timed_ = 0;
  std::uint64_t first_us_ = UINT64_MAX;
  bool starts_ = false;
};

bool ChakraReader::next(std::string& message) {
  if (bytes_->sgetc() == ByteSource::traits_type::eof()) return false;
  ++messages_;
  const auto cut = [&] { refuse(trace_.file, fmt::format("is cut short: message {} does not end", messages_)); };
  std::string head;
  MessageLength length;
  while (length.bytes == 0 && head.size() < 5) {
    const int c = bytes_->sbumpc();
    if (c == ByteSource::traits_type::eof()) cut();
    head += static_cast<char>(c);
    length = length_at(head);
  }
  if (length.bytes == 0 || length.value > kLongestMessage)
    refuse(trace_.file, fmt::format("is no Chakra trace, or damaged: message {} has an impossible length", messages_));
  // In chunks: a length that is wrong must not take memory before the bytes are there.
  message.clear();
  while (message.size() < length.value) {
    const std::size_t had = message.size(), chunk = std::min<std::size_t>(length.value - had, 1 << 20);
    message.resize(had + chunk);
    const auto got = bytes_->sgetn(message.data() + had, static_cast<std::streamsize>(chunk));
    if (static_cast<std::size_t>(got) < chunk) cut();
  }
  return true;
}

void ChakraReader::read_metadata() {
  std::string message;
  proto::GlobalMetadata metadata;
  if (!next(message) || !metadata.ParseFromString(message))
    refuse(trace_.file, "is no Chakra trace: it does not begin with GlobalMetadata");
  version_ = metadata.version();
  if (!is_version(version_))
    refuse(trace_.file, "is of Chakra's schema before 0.0.4, whose fields have other numbers",
           "convert it again with a current version of chakra");
}

// Starts stay in microseconds: settle_starts counts from the first.
template <class Item>
void ChakraReader::set_times(const proto::Node& node, Item& item) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
  const std::uint64_t start = node.start_time_micros(), duration = node.duration_micros();
  if (start > kMost) refuse_node(node, fmt::format("starts at {} us", start));
  if (duration > kMost) refuse_node(node, fmt::format("takes {} us", duration));
  starts_ = starts_ || start > 0;
  first_us_ = std::min(first_us_, start);
  if (duration > 0) ++timed_;
  item.stream = whole(node, "stream").value_or(whole(node, "tid").value_or(0));
  item.start = base::Seconds(static_cast<double>(start));
  item.duration = base::Seconds(static_cast<double>(duration) * 1e-6);
}

void ChakraReader::add_kernel(const proto::Node& node) {
  ImportedKernel k{.name = trace_.names.id(node.name()), .kind = kernel_kind(node.name()), .precision = kernel_precision(node.name())};
  if (!k.precision)
    if (const ElementType* type = element_of(node.inputs().types())) k.precision = type->precision;
  if (k.kind == pcg::KernelKind::copy) k.precision.reset();
  set_times(node, k);
  trace_.kernels.push_back(k);
}

void ChakraReader::add_collective(const proto::Node& node) {
  ImportedCollective c{.name = trace_.names.id(node.name())};
  if (node.type() != kCollective) c.kind = profiles::CollectiveKind::send;
  else if (const auto type = whole(node, "comm_type")) c.kind = collective_of(*type);
  else c.kind = collective_in(node.name());
  if (const auto size = whole(node, "comm_size")) {
    if (*size < 0) refuse_node(node, fmt::format("comm_size is negative: {}", *size));
    c.sent = base::Bytes(static_cast<double>(*size));
    if (c.kind) c.bytes = full_buffer(*c.kind, *c.sent, 0);
  }
  if (const ElementType* type = element_of(node.inputs().types())) c.element = type->name;
  if (const proto::Attribute* group = attribute(node, "pg_name")) c.group = group->string_val();
  set_times(node, c);
  trace_.collectives.push_back(std::move(c));
}

void ChakraReader::read_node(const std::string& message) {
  proto::Node node;
  if (!node.ParseFromString(message)) refuse(trace_.file, fmt::format("is damaged: message {} is no node", messages_));
  const auto& unknown = node.GetReflection()->GetUnknownFields(node);
  for (int i = 0; i < unknown.field_count(); ++i)
    if (unknown.field(i).number() <= 10)
      refuse(trace_.file, fmt::format("is of another schema than Chakra's current one: field {} of node {} has another type",
                                      unknown.field(i).number(), node.id()));
  if (++nodes_ > kMostNodes) refuse(trace_.file, fmt::format("has more than {} nodes", kMostNodes));
  if (whole(node, "is_cpu_op").value_or(0) != 0) {
    ++host_;
    return;
  }
  if (node.type() == kSend || node.type() == kReceive || node.type() == kCollective) add_collective(node);
  else if (node.type() == kCompute) add_kernel(node);
}

// Converters of PyTorch's traces keep durations only.
void ChakraReader::settle_starts() {
  const auto settle = [&](auto& items) {
    for (auto& i : items) {
      if (starts_) i.start = base::Seconds((i.start->value() - static_cast<double>(first_us_)) * 1e-6);
      else i.start.reset();
    }
  };
  settle(trace_.kernels);
  settle(trace_.collectives);
}

void ChakraReader::add_notes() {
  trace_.notes.push_back(version_.empty() ? "the trace names no schema version" : fmt::format("Chakra schema {}", version_));
  if (host_ > 0) trace_.notes.push_back(fmt::format("{} of {} nodes are host operations and are not imported", host_, nodes_));
  if (!trace_.kernels.empty() || !trace_.collectives.empty()) {
    if (timed_ == 0) trace_.notes.emplace_back("no node has a duration: a made-up workload, not a measurement");
    else if (!starts_) trace_.notes.emplace_back("nodes have durations but no start times: the span is the sum of durations");
  }
}

ImportedTrace ChakraReader::read() {
  read_metadata();
  std::string message;
  while (next(message)) read_node(message);
  if (nodes_ == 0) refuse(trace_.file, "is a Chakra trace without a single node");
  settle_starts();
  add_notes();
  if (!trace_.kernels.empty() || !trace_.collectives.empty()) trace_.devices.push_back({});
  finish_trace(trace_);
  return std::move(trace_);
}

}  // namespace

bool looks_like_chakra(std::string_view head) {
  const MessageLength length = length_at(head);
  if (length.bytes == 0 || length.value > kLongestMessage) return false;
  const std::string_view message = head.substr(length.bytes, length.value);
  if (length.value == 0) return head.size() > 1 && head[1] != '\0';                     // metadata may be empty, the node after it not
  if (message.empty() || (message[0] != '\x0a' && message[0] != '\x12')) return false;  // field 1 or 2, with a length
  if (message.size() < length.value) return head.size() >= 4096;                        // longer than what was read
  proto::GlobalMetadata metadata;
  return metadata.ParseFromArray(message.data(), static_cast<int>(message.size())) &&
         metadata.GetReflection()->GetUnknownFields(metadata).empty();
}

ImportedTrace read_chakra(ByteSource& bytes) { return ChakraReader(bytes).read(); }

}  // namespace imports
