// COPY between tables and files: CSV and NPY.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/csv.h"
#include "engine/npy.h"
#include "engine/status.h"
#include "sql/apply.h"
#include "sql/session.h"

namespace adjoin {
namespace {

struct CopyOptions {
  bool npy = false;
  CsvOptions csv;
};

absl::StatusOr<char> OneByte(const std::string& option, const std::string& value) {
  if (value.size() == 1) return value[0];
  return SqlError(sqlstate::kFeatureNotSupported,
                  absl::StrCat("COPY ", option, " must be a single one-byte character"));
}

absl::Status SetFormat(const std::string& value, CopyOptions* options) {
  const std::string format = absl::AsciiStrToLower(value);
  if (format == "csv" || format == "npy") {
    options->npy = format == "npy";
    return absl::OkStatus();
  }
  if (format == "text" || format == "binary") {
    return SqlErrorWithDetail(sqlstate::kFeatureNotSupported,
                              absl::StrCat("COPY format \"", format, "\" is not supported"), "",
                              "Use WITH (FORMAT csv) or WITH (FORMAT npy).");
  }
  return SqlError(sqlstate::kInvalidParameterValue,
                  absl::StrCat("COPY format \"", value, "\" not recognized"));
}

absl::Status SetHeader(const std::string& value, CsvOptions* csv) {
  const std::string header = absl::AsciiStrToLower(value);
  if (header == "match") {
    csv->header = CsvOptions::Header::kMatch;
  } else if (header == "true" || header == "on" || header == "1") {
    csv->header = CsvOptions::Header::kSkip;
  } else if (header == "false" || header == "off" || header == "0") {
    csv->header = CsvOptions::Header::kNone;
  } else {
    return SqlError(sqlstate::kSyntaxError, "header requires a Boolean value or \"match\"");
  }
  return absl::OkStatus();
}

absl::StatusOr<CopyOptions> DecodeOptions(const Copy& s) {
  CopyOptions options;
  ADJOIN_RETURN_IF_ERROR(
      SetFormat(s.options.contains("format") ? s.options.at("format") : "text", &options));
  for (const auto& [name, value] : s.options) {
    if (name == "format") continue;
    if (name != "header" && name != "delimiter" && name != "null" && name != "quote" &&
        name != "encoding") {
      return SqlError(sqlstate::kSyntaxError, absl::StrCat("option \"", name, "\" not recognized"));
    }
    if (options.npy) {
      return SqlError(
          sqlstate::kFeatureNotSupported,
          absl::StrCat("COPY option \"", name, "\" with format \"npy\" is not supported"));
    }
    if (name == "header") ADJOIN_RETURN_IF_ERROR(SetHeader(value, &options.csv));
    if (name == "null") options.csv.null_text = value;
    if (name == "delimiter") {
      ADJOIN_ASSIGN_OR_RETURN(options.csv.delimiter, OneByte(name, value));
    }
    if (name == "quote") {
      ADJOIN_ASSIGN_OR_RETURN(options.csv.quote, OneByte(name, value));
    }
  }
  return options;
}

// The positions of the named columns, or of all.
absl::StatusOr<std::vector<int>> ColumnPositions(const Copy& s, const Schema& schema) {
  std::vector<int> positions;
  std::set<std::string> seen;
  for (const std::string& name : s.columns) {
    const int position = schema.Find(name);
    if (position < 0) {
      return SqlError(
          sqlstate::kUndefinedColumn,
          absl::StrCat("column \"", name, "\" of relation \"", s.table, "\" does not exist"));
    }
    if (!seen.insert(name).second) {
      return SqlError(sqlstate::kDuplicateColumn,
                      absl::StrCat("column \"", name, "\" specified more than once"));
    }
    positions.push_back(position);
  }
  for (size_t i = 0; s.columns.empty() && i < schema.fields.size(); ++i)
    positions.push_back(static_cast<int>(i));
  return positions;
}

absl::StatusOr<const CatalogEntry*> FindTable(const CatalogState& catalog, const Copy& s) {
  const CatalogEntry* entry = catalog.Find(s.table);
  if (entry == nullptr) {
    return SqlError(sqlstate::kUndefinedTable,
                    absl::StrCat("relation \"", s.table, "\" does not exist"));
  }
  if (!entry->is_view()) return entry;
  if (s.from) {
    return SqlError(sqlstate::kWrongObjectType,
                    absl::StrCat("cannot copy to view \"", s.table, "\""));
  }
  return SqlErrorWithDetail(sqlstate::kWrongObjectType,
                            absl::StrCat("cannot copy from view \"", s.table, "\""), "",
                            "Try the COPY (SELECT ...) TO variant.");
}

absl::StatusOr<ColumnRef> Nulls(TypeId type, int64_t rows,
                                const std::shared_ptr<MemoryBudget>& budget) {
  ColumnBuilder builder(type, budget);
  ADJOIN_RETURN_IF_ERROR(builder.Reserve(rows));
  for (int64_t i = 0; i < rows; ++i) ADJOIN_RETURN_IF_ERROR(builder.AppendNull());
  return builder.Finish();
}

}  // namespace

absl::StatusOr<Session::Result> Session::Run(const Copy& s, const std::string& text) {
  if (s.filename.empty()) {
    return SqlError(
        sqlstate::kFeatureNotSupported,
        absl::StrCat("COPY ", s.from ? "FROM STDIN" : "TO STDOUT", " is not supported"));
  }
  return s.from ? CopyFrom(s) : CopyTo(s, text);
}

absl::StatusOr<Session::Result> Session::CopyFrom(const Copy& s) {
  ADJOIN_ASSIGN_OR_RETURN(CopyOptions options, DecodeOptions(s));
  ADJOIN_ASSIGN_OR_RETURN(CatalogWriter* const writer, Write());
  ADJOIN_ASSIGN_OR_RETURN(const CatalogEntry* const entry, FindTable(writer->state(), s));
  const Schema& schema = entry->table->schema();
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<int> positions, ColumnPositions(s, schema));
  TableRef rows;
  if (options.npy) {
    if (!s.columns.empty()) {
      return SqlError(sqlstate::kFeatureNotSupported,
                      "COPY of some columns with format \"npy\" is not supported");
    }
    ADJOIN_ASSIGN_OR_RETURN(rows, ReadNpy(s.filename, schema, database_->budget()));
  } else {
    std::vector<Field> fields;
    for (int position : positions) fields.push_back(schema.fields[static_cast<size_t>(position)]);
    options.csv.progress = [this](double fraction) {
      if (control_.progress && !control_.progress(fraction)) control_.cancelled.store(true);
      return control_.Check();
    };
    ADJOIN_ASSIGN_OR_RETURN(rows, ReadCsv(s.filename, fields, options.csv, database_->budget()));
  }
  std::vector<ColumnRef> columns(schema.fields.size());
  for (size_t i = 0; i < positions.size(); ++i) {
    columns[static_cast<size_t>(positions[i])] = rows->column(static_cast<int>(i));
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] != nullptr) continue;
    ADJOIN_ASSIGN_OR_RETURN(columns[i],
                            Nulls(schema.fields[i].type, rows->num_rows(), database_->budget()));
  }
  ADJOIN_ASSIGN_OR_RETURN(TableRef table, AppendRows(entry->table, columns, rows->num_rows(),
                                                     database_->budget(), s.table));
  writer->Replace(entry->id, std::move(table));
  Result result;
  result.affected = rows->num_rows();
  result.tag = absl::StrCat("COPY ", result.affected);
  return result;
}

absl::StatusOr<Session::Result> Session::CopyTo(const Copy& s, const std::string& text) {
  ADJOIN_ASSIGN_OR_RETURN(const CopyOptions options, DecodeOptions(s));
  TableRef table;
  if (!s.query.is_null()) {
    ADJOIN_ASSIGN_OR_RETURN(table, RunQuery(s.query, text));
  } else {
    ADJOIN_ASSIGN_OR_RETURN(const CatalogEntry* const entry, FindTable(transaction_.State(), s));
    table = entry->table;
  }
  if (!s.columns.empty()) {
    ADJOIN_ASSIGN_OR_RETURN(const std::vector<int> positions, ColumnPositions(s, table->schema()));
    Schema schema;
    std::vector<ColumnRef> columns;
    for (int position : positions) {
      schema.fields.push_back(table->schema().fields[static_cast<size_t>(position)]);
      columns.push_back(table->column(position));
    }
    table = Table::MakeUnchecked(std::move(schema), std::move(columns), table->num_rows());
  }
  ADJOIN_RETURN_IF_ERROR(options.npy ? WriteNpy(*table, s.filename, database_->budget())
                                     : WriteCsv(*table, s.filename, options.csv));
  Result result;
  result.affected = table->num_rows();
  result.tag = absl::StrCat("COPY ", result.affected);
  return result;
}

}  // namespace adjoin
