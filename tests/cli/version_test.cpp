// foreshard --version, and the script that writes it at build time, in checkouts of every kind.
#include <doctest/doctest.h>

#include <regex>

#include "program.hpp"

namespace {

// A folder that stands for the sources, and what the script makes of it.
struct Checkout {
  Folder folder;
  fs::path sources = folder.path / "sources";
  Checkout() { fs::create_directories(sources); }

  // What a shell prints, without the user's and the system's settings of git.
  [[nodiscard]] std::string shell(const std::string& command) const {
    const std::string settings = "export HOME=" + folder.path.string() + " GIT_CONFIG_NOSYSTEM=1";
    const std::string file = (folder.path / "shell").string();
    REQUIRE_MESSAGE(std::system(("(" + settings + "; " + command + ") >" + file + " 2>&1").c_str()) == 0,
                    command << ": " << folder.read("shell"));
    std::string text = folder.read("shell");
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }
  [[nodiscard]] std::string git(const std::string& arguments) const {
    return shell("git -C " + sources.string() + " -c user.name=N -c user.email=e@example.org " + arguments);
  }
  void commit(const std::string& date) const {
    (void)git("add -A");
    (void)shell("export GIT_COMMITTER_DATE='" + date + "'; git -C " + sources.string() +
                " -c user.name=N -c user.email=e@example.org commit -q --allow-empty -m c");
  }
  // The text of --version.
  [[nodiscard]] std::string version(const std::string& source, const std::string& environment = "", const std::string& options = "") const {
    (void)shell(environment + " " CMAKE_PROGRAM " -DVERSION=7.8.9 -DSOURCE=" + source + " -DOUTPUT=" + output().string() + " " + options +
                " -P " SOURCE_DIRECTORY "/cmake/version.cmake");
    const std::string text = folder.read("version.cpp");
    CHECK(text.find("program_version() { return \"7.8.9\"; }") != std::string::npos);
    std::smatch match;
    REQUIRE(std::regex_search(text, match, std::regex("version_text\\(\\) \\{ return \"(.*)\"; \\}\n")));
    return match[1];
  }
  [[nodiscard]] std::string version() const { return version(sources.string()); }
  [[nodiscard]] fs::path output() const { return folder.path / "version.cpp"; }
  [[nodiscard]] std::string head() const { return git("rev-parse --short=8 HEAD"); }
};

}  // namespace

TEST_CASE("the program prints its version, with the commit where it was built from a checkout") {
  const Folder f;
  const Outcome o = call(f, "--version");
  CHECK(o.code == 0);
  const std::regex form("foreshard " FORESHARD_VERSION "( \\([0-9a-f]{8,}(-dirty)?, [0-9]{4}-[0-9]{2}-[0-9]{2}\\))?\n");
  CHECK_MESSAGE(std::regex_match(o.out, form), o.out);
  const bool checkout = fs::exists(SOURCE_DIRECTORY "/.git") && std::system("git -C " SOURCE_DIRECTORY " log -1 >/dev/null 2>&1") == 0;
  CHECK((o.out.find('(') != std::string::npos) == checkout);
  CHECK(call(f, "man").out.find("\"foreshard " FORESHARD_VERSION "\"") != std::string::npos);
}

TEST_CASE("sources outside a checkout of their own have the version alone") {
  const Checkout c;
  CHECK(c.version() == "foreshard 7.8.9");
  (void)c.git("init -q");
  CHECK(c.version() == "foreshard 7.8.9");  // no commit yet
  c.commit("2026-11-27T12:00:00+0000");
  fs::create_directories(c.sources / "unpacked");  // a tarball inside somebody's repository
  CHECK(c.version((c.sources / "unpacked").string()) == "foreshard 7.8.9");
}

TEST_CASE("without git the version stands alone") {
  const Checkout c;
  (void)c.git("init -q");
  c.commit("2026-11-27T12:00:00+0000");
  // CMake looks in /usr/bin whatever PATH says, unless it is told not to.
  CHECK(c.version(c.sources.string() + " -DGIT=GIT-NOTFOUND -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=0", "PATH=/nonexistent") ==
        "foreshard 7.8.9");
}

TEST_CASE("a checkout has its commit and the commit's date, and says when tracked files differ") {
  const Checkout c;
  (void)c.git("init -q");
  (void)c.folder.write("sources/a", "1");
  c.commit("2026-11-27T23:30:00-0500");  // the day where it was committed
  const std::string first = c.head();
  CHECK(c.version() == "foreshard 7.8.9 (" + first + ", 2026-11-27)");

  (void)c.folder.write("sources/new", "not tracked");
  CHECK(c.version() == "foreshard 7.8.9 (" + first + ", 2026-11-27)");
  (void)c.folder.write("sources/a", "2");
  CHECK(c.version() == "foreshard 7.8.9 (" + first + "-dirty, 2026-11-27)");

  c.commit("2026-12-01T00:00:00+0000");
  CHECK(c.head() != first);
  CHECK(c.version() == "foreshard 7.8.9 (" + c.head() + ", 2026-12-01)");
  (void)c.git("checkout -q --detach HEAD~1");
  CHECK(c.version() == "foreshard 7.8.9 (" + first + ", 2026-11-27)");
}

TEST_CASE("a shallow clone and a further working tree are checkouts") {
  const Checkout c;
  (void)c.git("init -q");
  c.commit("2026-11-27T12:00:00+0000");
  c.commit("2026-11-28T12:00:00+0000");
  const std::string expected = "foreshard 7.8.9 (" + c.head() + ", 2026-11-28)";
  const std::string clone = (c.folder.path / "clone").string(), tree = (c.folder.path / "tree").string();
  (void)c.shell("git clone -q --depth 1 file://" + c.sources.string() + " " + clone);
  CHECK(c.version(clone) == expected);
  (void)c.git("worktree add -q --detach " + tree);
  CHECK(c.version(tree) == expected);
}

TEST_CASE("the variables of a git that runs the build do not mislead it") {
  const Checkout c;
  (void)c.git("init -q");
  c.commit("2026-11-27T12:00:00+0000");
  CHECK(c.version(c.sources.string(), "GIT_DIR=/nonexistent GIT_INDEX_FILE=/nonexistent GIT_WORK_TREE=/nonexistent") ==
        "foreshard 7.8.9 (" + c.head() + ", 2026-11-27)");
}

// So that a build without a new commit compiles and links nothing.
TEST_CASE("the source is written only when it differs") {
  const Checkout c;
  (void)c.git("init -q");
  c.commit("2026-11-27T12:00:00+0000");
  (void)c.version();
  const fs::file_time_type long_ago = fs::last_write_time(c.output()) - std::chrono::hours(1);
  fs::last_write_time(c.output(), long_ago);
  (void)c.version();
  CHECK(fs::last_write_time(c.output()) == long_ago);
  c.commit("2026-11-28T12:00:00+0000");
  (void)c.version();
  CHECK(fs::last_write_time(c.output()) != long_ago);
}
