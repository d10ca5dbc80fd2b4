#include "sql/create_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/parse.h"
#include "sql/type_names.h"

namespace adjoin {
namespace {

class TableDecoder {
 public:
  explicit TableDecoder(std::string_view text) : text_(text) {}

  absl::StatusOr<CreateTable> Decode(const Json& body) {
    const Json& relation = FieldOf(body, "relation");
    table_.name = TextOf(relation, "relname");
    table_.if_not_exists = FlagOf(body, "if_not_exists");
    if (Has(body, "inhRelations")) return NotSupported("INHERITS", LocationOf(relation));
    if (Has(body, "partspec") || Has(body, "partbound"))
      return NotSupported("PARTITION BY", LocationOf(relation));
    for (const Json& element : ListOf(body, "tableElts")) {
      const auto [tag, node] = Unwrap(element);
      if (tag == "ColumnDef") {
        ADJOIN_RETURN_IF_ERROR(AddColumn(*node));
      } else if (tag == "Constraint") {
        ADJOIN_RETURN_IF_ERROR(AddConstraint(*node, nullptr));
      } else {
        return NotSupported("LIKE", LocationOf(relation));
      }
    }
    ADJOIN_RETURN_IF_ERROR(ResolveKey());
    return std::move(table_);
  }

 private:
  absl::Status NotSupported(std::string_view what, int location) const {
    return Error(sqlstate::kFeatureNotSupported, std::string(what) + " is not supported", location);
  }
  absl::Status Error(std::string_view state, std::string_view message, int location) const {
    return SqlError(state, message, CharacterPosition(text_, location));
  }

  absl::Status AddColumn(const Json& column) {
    Field field;
    field.name = TextOf(column, "colname");
    if (table_.schema.Find(field.name) >= 0) {
      return SqlError(sqlstate::kDuplicateColumn,
                      absl::StrCat("column \"", field.name, "\" specified more than once"));
    }
    ADJOIN_ASSIGN_OR_RETURN(field.type, TypeNamed(FieldOf(column, "typeName"), text_));
    ADJOIN_ASSIGN_OR_RETURN(field.modifier, ModifierOf(FieldOf(column, "typeName"), text_));
    table_.schema.fields.push_back(field);
    for (const Json& constraint : ListOf(column, "constraints")) {
      ADJOIN_RETURN_IF_ERROR(
          AddConstraint(FieldOf(constraint, "Constraint"), &table_.schema.fields.back()));
    }
    return absl::OkStatus();
  }

  // `field`: the column that carries it; null for a constraint of the table.
  absl::Status AddConstraint(const Json& constraint, Field* field) {
    const std::string type = TextOf(constraint, "contype");
    const int location = LocationOf(constraint);
    if (type == "CONSTR_NULL") return absl::OkStatus();
    if (type == "CONSTR_NOTNULL") {
      field->not_null = true;
      return absl::OkStatus();
    }
    if (type == "CONSTR_PRIMARY") {
      if (has_key_) {
        return Error(
            sqlstate::kInvalidTableDefinition,
            absl::StrCat("multiple primary keys for table \"", table_.name, "\" are not allowed"),
            location);
      }
      has_key_ = true;
      if (field != nullptr) key_.push_back(field->name);
      for (const Json& name : ListOf(constraint, "keys")) key_.push_back(StringValue(name));
      key_location_ = location;
      return absl::OkStatus();
    }
    return NotSupported(ConstraintName(type), location);
  }

  static std::string_view ConstraintName(std::string_view type) {
    if (type == "CONSTR_DEFAULT") return "DEFAULT";
    if (type == "CONSTR_CHECK") return "CHECK";
    if (type == "CONSTR_UNIQUE") return "UNIQUE";
    if (type == "CONSTR_FOREIGN") return "FOREIGN KEY";
    if (type == "CONSTR_IDENTITY" || type == "CONSTR_GENERATED") return "GENERATED";
    return "this constraint";
  }

  absl::Status ResolveKey() {
    for (const std::string& name : key_) {
      const int column = table_.schema.Find(name);
      if (column < 0) {
        return Error(sqlstate::kUndefinedColumn,
                     absl::StrCat("column \"", name, "\" named in key does not exist"),
                     key_location_);
      }
      std::vector<int>& dims = table_.schema.dims;
      if (std::find(dims.begin(), dims.end(), column) != dims.end()) {
        return Error(sqlstate::kDuplicateColumn,
                     absl::StrCat("column \"", name, "\" appears twice in primary key constraint"),
                     key_location_);
      }
      dims.push_back(column);
      table_.schema.fields[static_cast<size_t>(column)].not_null = true;
    }
    return absl::OkStatus();
  }

  std::string_view text_;
  CreateTable table_;
  std::vector<std::string> key_;
  bool has_key_ = false;
  int key_location_ = 0;
};

}  // namespace

absl::StatusOr<CreateTable> DecodeCreateTable(const Json& body, std::string_view text) {
  return TableDecoder(text).Decode(body);
}

}  // namespace adjoin
