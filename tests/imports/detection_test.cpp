// The content decides what a file is; what is none, or not whole, is refused with the reason.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "base/diagnostics.hpp"
#include "made_files.hpp"
#include "profiles/imports/import.hpp"

using namespace imports;
using namespace profiles;

TEST_CASE("each form is known by its content, whatever the file is called") {
  CHECK(made::import_text(made::kineto()).format == TraceFormat::kineto);
  CHECK(made::import_text(made::gzipped(made::kineto())).format == TraceFormat::kineto);
  CHECK(made::import_text("\xEF\xBB\xBF" + made::kineto()).format == TraceFormat::kineto);
  CHECK(made::import_text(made::nsys()).format == TraceFormat::nsight_systems);
  CHECK(made::import_text(made::nccl_tests()).format == TraceFormat::nccl_tests);
  CHECK(made::import_text(made::chakra()).format == TraceFormat::chakra);
  CHECK(made::import_text(made::gzipped(made::chakra())).format == TraceFormat::chakra);
}

TEST_CASE("empty files") {
  CHECK(made::refusal("") == "f: is empty");
  CHECK(made::refusal(" \n\t\n") == "f: is empty: it holds nothing but blanks");
  CHECK(made::refusal(made::gzipped("")) == "f: is empty");
}

TEST_CASE("foreign files") {
  CHECK(made::refusal("hello").starts_with("f: is no measurement file that is known"));
  CHECK(made::refusal("bash: nvidia-smi: command not found").find("nvidia-smi topo -m") != std::string::npos);
  CHECK(made::refusal(std::string("\x7f"
                                  "ELF\0\0\0\0",
                                  8))
            .starts_with("f: is no measurement file that is known"));
  CHECK(made::refusal(R"({"a": 1})").starts_with("f: is JSON, but no measurement that is known"));
  CHECK(made::refusal(R"({"schema": "1.0.1", "nodes": []})").starts_with("f: is JSON, but no measurement that is known"));
  CHECK(made::refusal(R"({"traceEvents": 7})") == "f: is JSON, but no trace: it has no traceEvents");
}

TEST_CASE("files that are cut short") {
  const std::string text = made::kineto();
  const std::string cut = text.substr(0, text.size() - 10);
  const auto line = 1 + std::ranges::count(cut, '\n');
  CHECK(made::refusal(cut).starts_with("f: is cut short, or no JSON: parse error at line " + std::to_string(line) + ", column"));
  const std::string packed = made::gzipped(text);
  CHECK(made::refusal(packed.substr(0, packed.size() / 2)) == "f: is cut short: its gzip stream does not end");
  // Boost tells streams that end in the header, in the data and in the checksum apart; people need not.
  CHECK(made::refusal(packed.substr(0, 12)) == "f: is cut short: its gzip stream does not end");
  CHECK(made::refusal(packed.substr(0, packed.size() - 3)) == "f: is cut short: its gzip stream does not end");
  CHECK(made::refusal(packed.substr(0, 5)) == "f: is damaged: a gzip header is wrong or cut short");
  CHECK(made::refusal(packed + "no gzip") == "f: is damaged: a gzip header is wrong or cut short");
  std::string flipped = packed;
  flipped[flipped.size() - 6] = static_cast<char>(flipped[flipped.size() - 6] ^ 1);  // in the checksum
  CHECK(made::refusal(flipped).starts_with("f: is damaged: incorrect data check"));
  CHECK(made::refusal(made::nsys().substr(0, 20000)).starts_with("f: is cut short: 20000 of"));
  const std::string et = made::chakra();
  CHECK(made::refusal(et.substr(0, et.size() - 3)) == "f: is cut short: message 4 does not end");
}

TEST_CASE("a file that is not there, a directory") {
  CHECK_THROWS_WITH_AS((void)import_trace("/nonexistent/x"), "/nonexistent/x: cannot be read: No such file or directory", base::InputError);
  CHECK_THROWS_AS((void)import_trace("/"), base::InputError);
}

TEST_CASE("no token, depth or size can fill the memory") {
  CHECK(made::refusal(R"({"traceEvents": [{"args": )" + std::string(500, '[')).find("nested more than 128 deep") != std::string::npos);
  CHECK(made::refusal(R"({"traceEvents": [{"ts": )" + std::string(5000, '1')).find("number of more than 400 characters") !=
        std::string::npos);
  CHECK(made::refusal(R"({"nccl_version": )" + std::string(5000, '[')).find("nested more than 512 deep") != std::string::npos);
  // 17 MiB of one letter: a string of that length is refused before it is whole, although the file is small.
  CHECK(made::refusal(made::gzipped(R"({"traceEvents": [{"name": ")" + std::string(std::size_t{17} << 20, 'a'))).find("more than 16 MiB") !=
        std::string::npos);
  // A Chakra message that claims 60 MiB.
  CHECK(made::refusal(made::chakra() + "\x80\x80\x80\x1e"
                                       "abc")
            .find("is cut short: message 5") != std::string::npos);
}

TEST_CASE("NaN and Infinity, as Python writes them, are no numbers, but no errors either") {
  CHECK(made::import_text(R"({"a": [NaN, -Infinity, Infinity], "b": "NaN \" Infinity", "traceEvents": []})").kernels.empty());
  CHECK(made::refusal(R"({"a": NaNa, "traceEvents": []})").find("is no JSON") != std::string::npos);
}
