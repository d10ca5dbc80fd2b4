#include "sql/parse.h"

#include <pg_query.h>
#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/tree.h"

namespace adjoin {
namespace {

// JSON levels; an operator of an expression takes two. Binding recurses once an operator and must
// fit a thread's stack.
constexpr int kMaxDepth = 3000;
// The parser recurses once an operator, and an operator takes at least two bytes of text: measured,
// 20,000 terms of "1+1+..." fit 8 MiB of stack and 100,000 do not.
constexpr size_t kTextForOwnThread = size_t{16} << 10;
constexpr size_t kStackPerByte = 512;
constexpr size_t kMaxStack = size_t{4} << 30;

absl::Status TooDeep() {
  return SqlError(sqlstate::kStatementTooComplex, "stack depth limit exceeded");
}

// SQLSTATEs of the parser's errors that are no syntax errors; libpg_query leaves them out.
std::string_view StateOf(const PgQueryError& error) {
  const std::string_view message = error.message;
  if (message.starts_with("frame start") || message.starts_with("frame end"))
    return sqlstate::kWindowingError;
  if (message.starts_with("invalid byte sequence")) return sqlstate::kCharacterNotInRepertoire;
  const bool in_e_string = std::string_view(error.funcname) == "core_yylex";
  if (in_e_string && message == "invalid Unicode escape") return sqlstate::kInvalidEscapeSequence;
  return sqlstate::kSyntaxError;
}

absl::Status ParserError(const PgQueryError& error) {
  const std::string_view message = error.message;
  if (message.starts_with("memory exhausted")) return TooDeep();
  std::optional<int> position;
  if (error.cursorpos > 0) position = error.cursorpos;
  return SqlError(StateOf(error), message, position);
}

int DepthOf(std::string_view json) {
  int depth = 0, deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

// Runs `work` on a thread with a stack in proportion to the text; false where there is no such
// thread to be had.
bool RunOnLargeStack(size_t bytes, const std::function<void()>& work) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  const size_t stack = std::min(kMaxStack, (size_t{8} << 20) + bytes * kStackPerByte);
  pthread_t thread;
  const auto start = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  const bool started = pthread_attr_setstacksize(&attributes, stack) == 0 &&
                       pthread_create(&thread, &attributes, start,
                                      const_cast<void*>(static_cast<const void*>(&work))) == 0;
  pthread_attr_destroy(&attributes);
  if (started) pthread_join(thread, nullptr);
  return started;
}

absl::StatusOr<std::string> ParseTree(const std::string& text) {
  absl::StatusOr<std::string> out = TooDeep();
  const std::function<void()> work = [&] {
    PgQueryParseResult result = pg_query_parse(text.c_str());
    if (result.error != nullptr) {
      out = ParserError(*result.error);
    } else {
      out = std::string(result.parse_tree);
    }
    pg_query_free_parse_result(result);
  };
  if (text.size() < kTextForOwnThread) {
    work();
  } else if (!RunOnLargeStack(text.size(), work)) {
    return SqlError(sqlstate::kOutOfMemory, "out of memory");
  }
  return out;
}

// Moves every location by -offset. Without recursion: the tree may be deep.
void Rebase(Json& tree, int offset) {
  if (offset == 0) return;
  std::vector<Json*> todo = {&tree};
  while (!todo.empty()) {
    Json* node = todo.back();
    todo.pop_back();
    if (node->is_array()) {
      for (Json& item : *node) todo.push_back(&item);
    } else if (node->is_object()) {
      for (auto& [key, value] : node->items()) {
        if (key == "location" && value.is_number_integer() && value.get<int64_t>() >= 0) {
          value = value.get<int64_t>() - offset;
        } else {
          todo.push_back(&value);
        }
      }
    }
  }
}

// libpg_query 15 writes a negative integer constant as "ival":{}, as it does 0: reads it from the
// text again.
void RestoreNegative(Json& constant, std::string_view text) {
  const auto ival = constant.find("ival");
  const auto location = constant.find("location");
  if (ival == constant.end() || !ival->is_object() || !ival->empty() || location == constant.end())
    return;
  size_t at = static_cast<size_t>(location->get<int64_t>());
  if (at >= text.size() || text[at] != '-') return;
  while (at < text.size() && (text[at] < '0' || text[at] > '9'))
    ++at;  // blanks, and comments without digits
  int64_t value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9')
    value = value * 10 + (text[at++] - '0');
  (*ival)["ival"] = -value;
}

void RestoreNegatives(Json& tree, std::string_view text) {
  std::vector<Json*> todo = {&tree};
  while (!todo.empty()) {
    Json* node = todo.back();
    todo.pop_back();
    if (node->is_array()) {
      for (Json& item : *node) todo.push_back(&item);
    } else if (node->is_object()) {
      for (auto& [key, value] : node->items()) {
        if (key == "A_Const") RestoreNegative(value, text);
        todo.push_back(&value);
      }
    }
  }
}

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

}  // namespace

int CharacterPosition(std::string_view text, int location) {
  const std::string_view before = text.substr(0, static_cast<size_t>(std::max(location, 0)));
  const auto starts_character = [](char c) { return !ContinuesCharacter(c); };
  return 1 + static_cast<int>(std::count_if(before.begin(), before.end(), starts_character));
}

absl::StatusOr<std::vector<ParsedStatement>> Parse(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return SqlError("22021", "invalid byte sequence for encoding \"UTF8\": 0x00");
  }
  ADJOIN_ASSIGN_OR_RETURN(const std::string json, ParseTree(std::string(text)));
  if (DepthOf(json) > kMaxDepth) return TooDeep();
  Json root = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded()) return SqlError("22021", "invalid byte sequence for encoding \"UTF8\"");
  RestoreNegatives(root, text);
  std::vector<ParsedStatement> out;
  for (Json& item : root["stmts"]) {
    size_t begin = static_cast<size_t>(NumberOf(item, "stmt_location"));
    const size_t length = static_cast<size_t>(NumberOf(item, "stmt_len"));
    size_t end = length == 0 ? text.size() : std::min(text.size(), begin + length);
    while (begin < end && IsSpace(text[begin])) ++begin;
    while (end > begin && (IsSpace(text[end - 1]) || (length == 0 && text[end - 1] == ';'))) --end;
    ParsedStatement statement;
    statement.text = std::string(text.substr(begin, end - begin));
    statement.location = static_cast<int>(begin);
    statement.tree = std::move(item["stmt"]);
    Rebase(statement.tree, statement.location);
    out.push_back(std::move(statement));
  }
  return out;
}

}  // namespace adjoin
