// SQL text to PostgreSQL's parse trees, by libpg_query.
//
// All functions may run on several threads at once: the parser keeps its state per thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace adjoin {

struct ParsedStatement {
  nlohmann::json tree;  // {"SelectStmt": {...}}; every "location" is a byte offset into `text`
  std::string text;     // the statement alone, without its semicolon and the white space around it
  int location = 0;     // byte offset of `text` in what was parsed
};

// The statements of `text`, in order; none for white space and comments. Errors: 42601 as
// PostgreSQL words it, with the position in characters of the whole `text`; 22021 for bytes that
// are not UTF-8; 54001 for too deep a nesting.
absl::StatusOr<std::vector<ParsedStatement>> Parse(std::string_view text);

// One piece of a script, as psql sends them one by one.
struct ScriptPart {
  std::string text;  // without the semicolon
  int line = 1;      // where it starts in the script
};

// Cuts a script at its top-level semicolons, also where a statement has a syntax error, so that the
// statements before it can run first. What cannot even be cut into tokens is one part.
std::vector<ScriptPart> SplitScript(std::string_view text);

// 1-based character of byte offset `location` in UTF-8 `text`: what PostgreSQL calls an error's
// position.
int CharacterPosition(std::string_view text, int location);

}  // namespace adjoin
