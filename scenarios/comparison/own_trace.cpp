#include <fmt/core.h>

#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/diagnostics.hpp"
#include "profiles/imports/sources/byte_source.hpp"
#include "profiles/imports/sources/json_source.hpp"
#include "scenarios/comparison/simulated.hpp"

namespace comparison {
namespace {

using Json = nlohmann::json;
using imports::ByteSource;

constexpr std::string_view kMark = "\"foreshard_trace\"";
constexpr int kDeepest = 64;

base::Seconds seconds(const Json& microseconds) { return base::Seconds(microseconds.get<double>() / 1e6); }

// The library would turn 1e300 into some integer.
template <class Integer>
Integer whole(const Json& number) {
  if (!number.is_number_integer()) throw std::invalid_argument(fmt::format("{} is no whole number", number.dump()));
  return number.get<Integer>();
}
template <class Integer>
Integer whole(const Json& map, const char* key, Integer otherwise) {
  const auto at = map.find(key);
  return at == map.end() ? otherwise : whole<Integer>(*at);
}

template <class Known>
auto named(const Known& known, const Json& name) {
  const auto found = profiles::find_named(known, name.get<std::string>());
  if (!found) throw std::invalid_argument(fmt::format("\"{}\" is not known", name.get<std::string>()));
  return *found;
}

sim::TimedKernel kernel_of(const Json& j) {
  sim::TimedKernel t;
  t.kernel.kind = named(profiles::kKernelKinds, j.at("kind"));
  t.precision = named(profiles::kPrecisions, j.at("precision"));
  t.kernel.flops = base::Flops(j.at("flops").get<double>());
  t.kernel.bytes = base::Bytes(j.at("bytes").get<double>());
  t.kernel.serial_launches = whole<std::int64_t>(j, "launches", 1);
  if (const auto sizes = j.find("sizes"); sizes != j.end()) {
    t.kernel.batch = whole<std::int64_t>(sizes->at(0));
    t.kernel.m = whole<std::int64_t>(sizes->at(1));
    t.kernel.n = whole<std::int64_t>(sizes->at(2));
    t.kernel.k = whole<std::int64_t>(sizes->at(3));
  }
  t.time = seconds(j.at("us"));
  return t;
}

class OwnReader {
 public:
  explicit OwnReader(const std::filesystem::path& file) : bytes_(file) {}

  OwnTrace run() {
    imports::JsonSource text(bytes_);
    std::istream in(&text);
    try {
      const Json rest = Json::parse(in, [&](int depth, Json::parse_event_t event, Json& parsed) { return take(depth, event, parsed); });
      if (rest.at("foreshard_trace") != 1)
        imports::refuse(bytes_.name(), "is a trace of another version", "write it again with foreshard run --trace");
      const Json& about = rest.at("otherData");
      trace_.scenario = about.value("scenario", "");
      trace_.plan = about.value("plan", "");
      trace_.summary = about.value("summary", "");
      for (const Json& list : rest.at("kernels")) {
        sim::TimedKernels& kernels = trace_.simulation.kernels.emplace_back();
        for (const Json& k : list) kernels.push_back(kernel_of(k));
      }
      check_lists();
    } catch (const base::InputError&) { throw; } catch (const Json::parse_error& e) {
      imports::refuse_json(bytes_.name(), e);
    } catch (const std::exception& e) {
      imports::refuse(bytes_.name(), fmt::format("is no trace that foreshard wrote, though it says so: {}", e.what()));
    }
    return std::move(trace_);
  }

 private:
  // Keeps what is not an event, and drops events once they are read.
  bool take(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepest) imports::refuse(bytes_.name(), fmt::format("is nested more than {} deep", kDeepest));
    if (depth == 1 && event == Json::parse_event_t::key) section_ = parsed.get<std::string>();
    if (depth != 2 || event != Json::parse_event_t::object_end || section_ != "traceEvents") return true;
    add(parsed);
    return false;
  }

  void add(const Json& e) {
    const std::string phase = e.at("ph").get<std::string>();
    if (phase == "M" && e.at("name") == "thread_name") {
      streams_[{whole<std::uint32_t>(e.at("pid")), whole<int>(e.at("tid"))}] = e.at("args").at("name").get<std::string>();
    } else if (phase == "C") {
      trace_.simulation.memory_over_time.push_back(
          {whole<std::uint32_t>(e.at("pid")), seconds(e.at("ts")), base::Bytes(e.at("args").at("bytes").get<double>())});
    } else if (phase == "X") {
      add_span(e);
    }
  }

  void add_span(const Json& e) {
    const Json& args = e.at("args");
    sim::Span s{.device = whole<std::uint32_t>(e.at("pid")), .start = seconds(e.at("ts")), .duration = seconds(e.at("dur"))};
    s.stream = streams_.at({s.device, whole<int>(e.at("tid"))});
    s.name = e.at("name").get<std::string>();
    s.work.pass = named(sim::kSpanPasses, args.at("pass"));
    s.work.operation = args.value("operator", "");
    s.work.layer = whole(args, "layer", -1);
    s.work.stage = whole(args, "stage", -1);
    s.work.micro_batch = whole(args, "micro_batch", -1);
    s.work.kernels = whole(args, "kernels", UINT32_MAX);
    s.work.moves = args.value("moves", "");
    s.work.group = whole(args, "group", 0);
    s.work.buffer = base::Bytes(args.value("buffer", 0.0));
    s.message = args.value("sends", false) ? 1 : 0;
    trace_.simulation.spans.push_back(std::move(s));
  }

  void check_lists() const {
    for (const sim::Span& s : trace_.simulation.spans)
      if (s.work.computes() && s.work.kernels >= trace_.simulation.kernels.size())
        throw std::out_of_range(
            fmt::format("\"{}\" names list {} of kernels, of {}", s.name, s.work.kernels, trace_.simulation.kernels.size()));
  }

  ByteSource bytes_;
  std::string section_;
  std::map<std::pair<std::uint32_t, int>, std::string> streams_;  // by device and thread
  OwnTrace trace_;
};

}  // namespace

bool is_own_trace(const std::filesystem::path& file) {
  ByteSource bytes(file);
  const std::string head = bytes.peek(64);
  return head.starts_with('{') && head.find(kMark) != std::string::npos;
}

OwnTrace read_own_trace(const std::filesystem::path& file) { return OwnReader(file).run(); }

}  // namespace comparison
