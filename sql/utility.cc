#include "sql/utility.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/status.h"
#include "sql/create_table.h"
#include "sql/parse.h"
#include "sql/tree.h"
#include "sql/type_names.h"

namespace adjoin {
namespace {

absl::Status NotSupported(std::string_view what) {
  return SqlError(sqlstate::kFeatureNotSupported, std::string(what) + " is not supported");
}

std::vector<std::string> Names(const Json& list) {
  std::vector<std::string> out;
  for (const Json& item : list) out.push_back(StringValue(item));
  return out;
}

std::string RelationName(const Json& body, const char* key) {
  return TextOf(FieldOf(body, key), "relname");
}

absl::StatusOr<Utility> DecodeCreateTableAs(const Json& body) {
  CreateTableAs out;
  if (TextOf(body, "objtype") != "OBJECT_TABLE") return NotSupported("CREATE MATERIALIZED VIEW");
  const Json& into = FieldOf(body, "into");
  out.name = RelationName(into, "rel");
  out.columns = Names(ListOf(into, "colNames"));
  out.query = FieldOf(body, "query");
  out.if_not_exists = FlagOf(body, "if_not_exists");
  out.with_data = !FlagOf(into, "skipData");
  return Utility(std::move(out));
}

// The text of the view's SELECT: what follows the AS behind the name and its columns.
std::string ViewQueryText(const Json& body, std::string_view text) {
  size_t i = static_cast<size_t>(std::max(0, LocationOf(FieldOf(body, "view"))));
  int depth = 0;
  const auto is_word = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80);
  };
  while (i < text.size()) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"';) ++i;
      ++i;
    } else if (text.substr(i, 2) == "--") {
      i = std::min(text.size(), text.find('\n', i));
    } else if (text.substr(i, 2) == "/*") {
      i = std::min(text.size(), text.find("*/", i)) + 2;
    } else if (is_word(c)) {
      const size_t begin = i;
      while (i < text.size() && is_word(text[i])) ++i;
      const std::string word = absl::AsciiStrToLower(std::string(text.substr(begin, i - begin)));
      if (depth == 0 && word == "as") break;
    } else {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      ++i;
    }
  }
  return std::string(
      absl::StripAsciiWhitespace(std::string(text.substr(std::min(i, text.size())))));
}

absl::StatusOr<Utility> DecodeCreateView(const Json& body, std::string_view text) {
  if (TextOf(body, "withCheckOption") != "NO_CHECK_OPTION")
    return NotSupported("WITH CHECK OPTION");
  CreateView out;
  out.name = RelationName(body, "view");
  out.columns = Names(ListOf(body, "aliases"));
  out.query = FieldOf(body, "query");
  out.query_text = ViewQueryText(body, text);
  out.or_replace = FlagOf(body, "replace");
  return Utility(std::move(out));
}

absl::StatusOr<Utility> DecodeDrop(const Json& body) {
  Drop out;
  const std::string type = TextOf(body, "removeType");
  if (type != "OBJECT_TABLE" && type != "OBJECT_VIEW") {
    std::string what = type.substr(std::min<size_t>(7, type.size()));
    std::replace(what.begin(), what.end(), '_', ' ');
    return NotSupported("DROP " + what);
  }
  out.view = type == "OBJECT_VIEW";
  out.if_exists = FlagOf(body, "missing_ok");
  out.cascade = TextOf(body, "behavior") == "DROP_CASCADE";
  for (const Json& object : ListOf(body, "objects")) {
    out.names.push_back(LastName(ListOf(FieldOf(object, "List"), "items")));
  }
  return Utility(std::move(out));
}

// The text of an option's value: of COPY, EXPLAIN and SET.
std::string OptionText(const Json& value) {
  const auto [tag, body] = Unwrap(value);
  if (tag == "String") return TextOf(*body, "sval");
  if (tag == "Boolean") return FlagOf(*body, "boolval") ? "true" : "false";
  if (tag == "Integer") return std::to_string(NumberOf(*body, "ival"));
  if (tag == "Float") return TextOf(*body, "fval");
  if (tag == "TypeCast") return OptionText(FieldOf(*body, "arg"));
  if (tag == "TypeName") return LastName(ListOf(*body, "names"));
  if (tag == "A_Star") return "*";
  if (tag != "A_Const") return "true";
  if (Has(*body, "sval")) return TextOf(FieldOf(*body, "sval"), "sval");
  if (Has(*body, "fval")) return TextOf(FieldOf(*body, "fval"), "fval");
  if (Has(*body, "boolval")) return FlagOf(FieldOf(*body, "boolval"), "boolval") ? "true" : "false";
  return std::to_string(NumberOf(FieldOf(*body, "ival"), "ival"));
}

std::map<std::string, std::string> Options(const Json& list) {
  std::map<std::string, std::string> out;
  for (const Json& item : list) {
    const Json& option = FieldOf(item, "DefElem");
    out[absl::AsciiStrToLower(TextOf(option, "defname"))] = OptionText(FieldOf(option, "arg"));
  }
  return out;
}

absl::StatusOr<Utility> DecodeCopy(const Json& body) {
  if (FlagOf(body, "is_program")) return NotSupported("COPY with PROGRAM");
  if (Has(body, "whereClause")) return NotSupported("COPY with WHERE");
  Copy out;
  out.table = RelationName(body, "relation");
  out.columns = Names(ListOf(body, "attlist"));
  out.query = FieldOf(body, "query");
  out.from = FlagOf(body, "is_from");
  out.filename = TextOf(body, "filename");
  out.options = Options(ListOf(body, "options"));
  return Utility(std::move(out));
}

absl::StatusOr<Utility> DecodeSet(const Json& body) {
  SetVariable out;
  out.name = absl::AsciiStrToLower(TextOf(body, "name"));
  out.local = FlagOf(body, "is_local");
  const std::string kind = TextOf(body, "kind");
  if (kind == "VAR_RESET_ALL") {
    out.name = "all";
  } else if (kind == "VAR_SET_VALUE") {
    std::vector<std::string> values;
    for (const Json& arg : ListOf(body, "args")) values.push_back(OptionText(arg));
    out.value = absl::StrJoin(values, ", ");
  } else if (kind != "VAR_SET_DEFAULT" && kind != "VAR_RESET") {
    return NotSupported("SET " + absl::AsciiStrToUpper(out.name));
  }
  return Utility(std::move(out));
}

absl::StatusOr<Utility> DecodePrepare(const Json& body, std::string_view text) {
  PrepareStatement out;
  out.name = TextOf(body, "name");
  for (const Json& type : ListOf(body, "argtypes")) {
    const Json& name = FieldOf(type, "TypeName");
    if (LastName(ListOf(name, "names")) == "unknown") {
      out.types.push_back(std::nullopt);
      continue;
    }
    ADJOIN_ASSIGN_OR_RETURN(const TypeId id, TypeNamed(name, text));
    out.types.push_back(id);
  }
  out.query = FieldOf(body, "query");
  return Utility(std::move(out));
}

absl::StatusOr<Utility> DecodeExplain(const Json& body) {
  Explain out;
  for (const auto& [name, value] : Options(ListOf(body, "options"))) {
    const bool on = value != "false" && value != "off" && value != "0";
    if (name == "analyze") {
      out.analyze = on;
    } else if (name == "format") {
      out.format = absl::AsciiStrToLower(value);
    } else if (name != "verbose" && name != "costs" && name != "buffers" && name != "timing" &&
               name != "summary" && name != "settings" && name != "wal") {
      return SqlError(sqlstate::kSyntaxError,
                      absl::StrCat("unrecognized EXPLAIN option \"", name, "\""));
    }
  }
  out.query = FieldOf(body, "query");
  return Utility(std::move(out));
}

absl::StatusOr<Utility> DecodeTransaction(const Json& body) {
  const std::string kind = TextOf(body, "kind");
  if (kind == "TRANS_STMT_BEGIN" || kind == "TRANS_STMT_START")
    return Utility(Transaction{Transaction::Kind::kBegin});
  if (FlagOf(body, "chain")) return NotSupported("AND CHAIN");
  if (kind == "TRANS_STMT_COMMIT") return Utility(Transaction{Transaction::Kind::kCommit});
  if (kind == "TRANS_STMT_ROLLBACK") return Utility(Transaction{Transaction::Kind::kRollback});
  return NotSupported(kind == "TRANS_STMT_SAVEPOINT" || kind == "TRANS_STMT_RELEASE" ||
                              kind == "TRANS_STMT_ROLLBACK_TO"
                          ? "SAVEPOINT"
                          : "two-phase commit");
}

Utility DecodeTruncate(const Json& body) {
  Truncate out;
  for (const Json& relation : ListOf(body, "relations"))
    out.names.push_back(RelationName(relation, "RangeVar"));
  return out;
}

// "AlterTableStmt" to "ALTER TABLE".
std::string StatementName(std::string_view tag) {
  if (tag.ends_with("Stmt")) tag.remove_suffix(4);
  std::string out;
  for (char c : tag) {
    if (absl::ascii_isupper(static_cast<unsigned char>(c)) && !out.empty()) out += ' ';
    out += absl::ascii_toupper(static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace

absl::StatusOr<Utility> DecodeUtility(const Json& tree, std::string_view text) {
  const auto [tag, node] = Unwrap(tree);
  const Json& body = *node;
  if (tag == "CreateStmt") {
    ADJOIN_ASSIGN_OR_RETURN(CreateTable out, DecodeCreateTable(body, text));
    return Utility(std::move(out));
  }
  if (tag == "CreateTableAsStmt") return DecodeCreateTableAs(body);
  if (tag == "ViewStmt") return DecodeCreateView(body, text);
  if (tag == "DropStmt") return DecodeDrop(body);
  if (tag == "TruncateStmt") return DecodeTruncate(body);
  if (tag == "CopyStmt") return DecodeCopy(body);
  if (tag == "VariableSetStmt") return DecodeSet(body);
  if (tag == "VariableShowStmt") return Utility(Show{absl::AsciiStrToLower(TextOf(body, "name"))});
  if (tag == "PrepareStmt") return DecodePrepare(body, text);
  if (tag == "ExecuteStmt") return Utility(Execute{TextOf(body, "name"), ListOf(body, "params")});
  if (tag == "DeallocateStmt") return Utility(Deallocate{TextOf(body, "name")});
  if (tag == "ExplainStmt") return DecodeExplain(body);
  if (tag == "TransactionStmt") return DecodeTransaction(body);
  return NotSupported(StatementName(tag));
}

}  // namespace adjoin
