#include "gpt/gpt_sql.h"

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace gpt {
namespace {

// The shortest text that reads back as the same number.
std::string NumberText(double value) {
  std::array<char, 32> text;
  return std::string(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

}  // namespace

absl::StatusOr<ModelSql> ModelSql::Load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad())
    return absl::NotFoundError(absl::StrCat("cannot read the model: ", path));
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  absl::ConsumeSuffix(&rest, ";");
  if (!absl::ConsumeSuffix(&rest, "SELECT l FROM loss")) {
    return absl::InvalidArgumentError(
        absl::StrCat("a model ends in SELECT l FROM loss, and this does not: ", path));
  }
  ModelSql model;
  model.ctes_ = std::string(absl::StripTrailingAsciiWhitespace(rest));
  return model;
}

std::string ModelSql::Loss() const { return absl::StrCat(ctes_, "\nSELECT l FROM loss"); }

std::string ModelSql::Step(const std::vector<Parameter>& parameters, double learning_rate) const {
  std::string sql = ctes_;
  for (const Parameter& parameter : parameters) {
    const std::string update = absl::StrCat("UPDATE ", parameter.name, " SET val = val - ",
                                            NumberText(learning_rate), " * grad(loss, val)");
    if (&parameter == &parameters.back()) {
      absl::StrAppend(&sql, "\n", update);
    } else {
      absl::StrAppend(&sql, ",\nstep_", parameter.name, " AS (\n  ", update, "\n)");
    }
  }
  return sql;
}

std::string ModelSql::NextLogits() const {
  return absl::StrCat(ctes_, "\nSELECT v, val FROM logits WHERE t = $1 ORDER BY v");
}

absl::Status CreateTables(adjoin::api::Connection& connection,
                          const std::vector<Parameter>& parameters,
                          const std::vector<adjoin::api::Table>& values,
                          const adjoin::api::Table& batch, Dtype dtype) {
  if (dtype == Dtype::kFloat32) {
    if (absl::Status set = connection.Set("adjoin.float_promotion", "weak"); !set.ok()) return set;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (absl::Status made = connection.CreateTable(parameters[i].name, values[i]); !made.ok())
      return made;
  }
  return connection.CreateTable("batch", batch);
}

}  // namespace gpt
