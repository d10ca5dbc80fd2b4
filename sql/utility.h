// Utility statements (all but SELECT, INSERT, UPDATE, DELETE), decoded from the parse tree into
// plain structs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/table.h"
#include "nlohmann/json.hpp"

namespace adjoin {

struct CreateTable {
  std::string name;
  Schema schema;  // dims from PRIMARY KEY (its columns are not_null)
  bool if_not_exists = false;
};
struct CreateTableAs {
  std::string name;
  std::vector<std::string> columns;  // renames the leading output columns
  nlohmann::json query;              // for Bind
  bool if_not_exists = false;
  bool with_data = true;
};
struct CreateView {
  std::string name;
  std::vector<std::string> columns;
  nlohmann::json query;    // for Bind, to check it
  std::string query_text;  // of the SELECT alone, to store
  bool or_replace = false;
};
struct Drop {
  bool view = false;  // DROP VIEW; else DROP TABLE
  std::vector<std::string> names;
  bool if_exists = false;
  bool cascade = false;
};
struct Truncate {
  std::vector<std::string> names;
};
struct Copy {
  std::string table;                 // or `query`, TO only
  std::vector<std::string> columns;  // empty: all
  nlohmann::json query;              // null where a table is named
  bool from = false;
  std::string filename;                        // empty: STDIN or STDOUT
  std::map<std::string, std::string> options;  // lower-case name to value; a bare name has "true"
};
struct SetVariable {
  std::string name;  // lower case; "all" for RESET ALL
  std::optional<std::string>
      value;  // text of the value (several: joined by ", "); none: DEFAULT or RESET
  bool local = false;
};
struct Show {
  std::string name;  // lower case; "all" for SHOW ALL
};
struct PrepareStatement {
  std::string name;
  std::vector<std::optional<TypeId>> types;  // nullopt: "unknown", left to inference
  nlohmann::json query;
};
struct Execute {
  std::string name;
  nlohmann::json args;  // array of expressions, for BindConstants
};
struct Deallocate {
  std::string name;  // empty: ALL
};
struct Explain {
  bool analyze = false;
  std::string format = "text";
  nlohmann::json
      query;  // a bindable statement, or {"ExecuteStmt": ...}, {"CreateTableAsStmt": ...}
};
struct Transaction {
  enum class Kind { kBegin, kCommit, kRollback } kind = Kind::kBegin;
};

using Utility =
    std::variant<CreateTable, CreateTableAs, CreateView, Drop, Truncate, Copy, SetVariable, Show,
                 PrepareStatement, Execute, Deallocate, Explain, Transaction>;

// Decodes any statement that IsBindable (binder.h) is false for. `text` is what the tree's
// locations are offsets into. Errors: 0A000 naming what is not supported; PostgreSQL's for a wrong
// column list, type or key.
absl::StatusOr<Utility> DecodeUtility(const nlohmann::json& tree, std::string_view text);

}  // namespace adjoin
