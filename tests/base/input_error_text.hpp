#pragma once
// What a user would read if `action` fails on bad input, "" if it does not fail.

#include <string>

#include "base/diagnostics.hpp"

template <class Action>
std::string input_error_text(Action action) {
  try {
    action();
  } catch (const base::InputError& e) { return e.what(); }
  return {};
}
