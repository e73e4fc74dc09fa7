#include "cli/help/man_page.hpp"

#include <fmt/core.h>

#include "cli/help/commands.hpp"

namespace cli {
namespace {

// roff takes a dot or an apostrophe at the start of a line for a request, a backslash for an escape, and a dash for a hyphen.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
  }
  return out;
}

std::string option_text(const CLI::Option& o) {
  const std::string value =
      o.get_items_expected_max() > 0 ? " \\fI" + roff(o.get_type_name().empty() ? "VALUE" : o.get_type_name()) + "\\fR" : "";
  return fmt::format(".TP\n\\fB\\-\\-{}\\fR{}\n{}\n", roff(o.get_lnames().front()), value, roff(o.get_description()));
}

std::string command_text(const Command& c) {
  std::string arguments, text;
  for (const CLI::Option* o : c.app->get_options([](const CLI::Option* option) { return option->get_positional(); })) {
    const std::string name = o->get_name(true);
    arguments += o->get_required() ? fmt::format(" \\fI{}\\fR", roff(name)) : fmt::format(" [\\fI{}\\fR]", roff(name));
    text += fmt::format(".TP\n\\fI{}\\fR\n{}\n", roff(name), roff(o->get_description()));
  }
  for (const CLI::Option* o : options_of(c)) text += option_text(*o);
  return fmt::format(".SS {}{}\n{}.\n{}", roff(c.words), arguments, roff(c.app->get_description()), text);
}

}  // namespace

std::string man_page(const CLI::App& app, const std::string& version) {
  std::string text = fmt::format(
      ".TH FORESHARD 1 \"\" \"foreshard {}\" \"User commands\"\n"
      ".SH NAME\nforeshard \\- {}\n"
      ".SH SYNOPSIS\n\\fBforeshard\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n"
      ".SH COMMANDS\n",
      version, roff(app.get_description()));
  for (const Command& c : all_commands(app))
    if (c.app != &app) text += command_text(c);
  return text +
         ".SH EXIT STATUS\n"
         ".TP\n0\nanswered\n.TP\n1\na healthy answer that is no: nothing fits, a plan does not compute its model\n"
         ".TP\n2\nbad input\n.TP\n3\na bug of the program\n"
         ".SH ENVIRONMENT\n"
         ".TP\nCOLUMNS\ncolumns of the screen, for tables\n.TP\nNO_COLOR\nset: text has no colours\n";
}

}  // namespace cli
