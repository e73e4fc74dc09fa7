#include "tools/collector/results.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>

namespace collector {
namespace {

// {"a": 1, "b": "x"} built up key by key.
class Object {
 public:
  Object& number(const char* key, double value) { return put(key, json_number(value)); }
  Object& whole(const char* key, std::int64_t value) { return put(key, std::to_string(value)); }
  Object& text(const std::string& key, const std::string& value) { return put(key, json_text(value)); }
  Object& put(const std::string& key, const std::string& json) {
    body_ += (body_.empty() ? "" : ", ") + json_text(key) + ": " + json;
    return *this;
  }
  [[nodiscard]] std::string str() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};

template <class T>
std::string list(const std::vector<T>& items, const std::function<std::string(const T&)>& write) {
  std::string result;
  for (const T& item : items) result += (result.empty() ? "\n    " : ",\n    ") + write(item);
  return result.empty() ? "[]" : "[" + result + "\n  ]";
}

void add_case(Object& o, const Case& c) {
  const Work w = work_of(c);
  o.text("kind", std::string(kind_of(c.operation)))
      .text("operation", std::string(to_text(c.operation)))
      .text("precision", std::string(to_text(c.precision)));
  o.whole("batch", w.batch).whole("m", w.m).whole("n", w.n).whole("k", w.k);
  o.number("flops", w.flops).number("bytes", w.bytes);
}
void add_time(Object& o, const Summary& s) { o.number("seconds", s.median).number("spread", s.spread).whole("repeats", s.kept); }

std::string kernel_json(const KernelResult& k) {
  Object o;
  add_case(o, k.what);
  add_time(o, k.time);
  return o.str();
}
std::string copy_json(const CopyResult& c) {
  Object o;
  o.text("direction", c.direction).text("memory", c.memory).number("bytes", c.bytes);
  add_time(o, c.time);
  return o.str();
}
std::string overlap_json(const OverlapResult& r) {
  Object o;
  add_case(o, r.kernel);
  o.text("copy", r.copy).number("copy_bytes", r.copy_bytes).number("alone_seconds", r.alone_s).number("beside_seconds", r.beside_s);
  o.number("copy_alone_seconds", r.copy_alone_s).number("copy_beside_seconds", r.copy_beside_s);
  return o.str();
}
std::string collective_json(const CollectiveResult& c) {
  Object o;
  o.text("collective", c.collective).whole("gpus", c.gpus).number("bytes", c.bytes);
  add_time(o, c.time);
  return o.str();
}
std::string device_json(const Device& d) {
  Object clocks;
  clocks.number("multiprocessor_hz", d.clock_hz);
  Object o;
  o.text("name", d.name).text("compute_capability", std::to_string(d.major) + "." + std::to_string(d.minor));
  o.whole("multiprocessors", d.multiprocessors).number("memory_bytes", d.memory_bytes).number("l2_bytes", d.l2_bytes);
  o.number("memory_bytes_per_second", d.memory_bytes_per_second).whole("visible", d.count).put("clocks", clocks.str());
  return o.str();
}
std::string launch_json(const LaunchResult& l) {
  if (l.graph_kernels == 0) return "{}";  // not measured
  Object o;
  o.number("host_seconds", l.host_s).number("back_to_back_seconds", l.back_to_back_s).number("graph_kernel_seconds", l.graph_kernel_s);
  o.number("graph_launch_seconds", l.graph_launch_s).whole("graph_kernels", l.graph_kernels).number("round_trip_seconds", l.round_trip_s);
  return o.str();
}

// The collector has the standard library alone, so this stands here and not in base/diagnostics.hpp.
// Length of the UTF-8 sequence that starts at `at`, 0 if there is none.
std::size_t utf8_length(const std::string& s, std::size_t at) {
  const auto lead = static_cast<unsigned char>(s[at]);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || at + length > s.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(s[at + i]) & 0xC0) != 0x80) return 0;
  return length;
}

}  // namespace

std::string json_text(const std::string& text) {
  std::string result = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    const char c = text[i];
    if (length == 0) {
      result += '?';
    } else if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      result += escaped;
    } else {
      result += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return result + "\"";
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  // Counts below 2^53 are whole: written so.
  if (value == std::floor(value) && std::abs(value) < 9007199254740992.0) std::snprintf(text, sizeof text, "%.0f", value);
  else std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string to_json(const Results& r) {
  Object environment;
  for (const auto& [key, value] : r.environment) environment.text(key, value);
  std::string s = "{\n  \"foreshard_collect\": 1,\n  \"device\": " + device_json(r.device);
  s += ",\n  \"environment\": " + environment.str();
  s += ",\n  \"kernels\": " + list<KernelResult>(r.kernels, kernel_json);
  s += ",\n  \"copies\": " + list<CopyResult>(r.copies, copy_json);
  s += ",\n  \"launch\": " + launch_json(r.launch);
  s += ",\n  \"overlap\": " + list<OverlapResult>(r.overlap, overlap_json);
  s += ",\n  \"collectives\": " + list<CollectiveResult>(r.collectives, collective_json);
  for (const char* of_scripts : {"iterations", "operations", "sustained", "decoders"}) s += std::string(",\n  \"") + of_scripts + "\": []";
  return s + ",\n  \"left_out\": " + list<std::string>(r.left_out, json_text) + "\n}\n";
}

}  // namespace collector
