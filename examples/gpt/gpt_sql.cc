#include "gpt/gpt_sql.h"

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gpt {
namespace {

constexpr const char* kBlockParameters[] = {"ln_1", "wq",   "wk",   "wv",
                                            "wo",   "ln_2", "w_fc", "w_proj"};

// The shortest text that reads back as the same number.
std::string NumberText(double value) {
  std::array<char, 32> text;
  return std::string(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

// `sql` with each word that is a key of `names` replaced.
std::string Rename(absl::string_view sql, const std::map<std::string, std::string>& names) {
  const auto in_word = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  std::string renamed;
  for (size_t i = 0; i < sql.size();) {
    size_t end = i;
    while (end < sql.size() && in_word(sql[end])) ++end;
    const std::string word(sql.substr(i, end == i ? 1 : end - i));
    const auto name = names.find(word);
    absl::StrAppend(&renamed, name == names.end() ? word : name->second);
    i += word.size();
  }
  return renamed;
}

// The names of the CTEs that `sql` defines: each stands alone before AS, at the start of a line.
std::vector<std::string> CteNames(absl::string_view sql) {
  std::vector<std::string> names;
  for (absl::string_view line : absl::StrSplit(sql, '\n')) {
    if (absl::ConsumeSuffix(&line, " AS (") && line.find(' ') == absl::string_view::npos)
      names.emplace_back(line);
  }
  return names;
}

// Block `layer` of 0 and up: its CTEs get the layer's number, what it reads is the block before.
std::string Block(absl::string_view block, int64_t layer) {
  std::map<std::string, std::string> names;
  for (const std::string& name : CteNames(block)) names[name] = absl::StrCat(name, "_", layer);
  for (const char* name : kBlockParameters)
    names[absl::StrCat("h0_", name)] = absl::StrCat("h", layer, "_", name);
  if (layer > 0) names["x0"] = absl::StrCat("x2_", layer - 1);
  return Rename(block, names);
}

absl::StatusOr<std::string> RepeatBlock(absl::string_view ctes, int64_t layers) {
  const size_t begin = ctes.find("-- attention\n"), end = ctes.find("-- logits");
  if (begin == absl::string_view::npos || end == absl::string_view::npos || end < begin)
    return absl::InvalidArgumentError("the model has no block from `-- attention` to `-- logits`");
  const absl::string_view block = ctes.substr(begin, end - begin);
  std::string repeated(ctes.substr(0, begin));
  for (int64_t layer = 0; layer < layers; ++layer) {
    absl::StrAppend(&repeated, Block(block, layer));
  }
  absl::StrAppend(&repeated, Rename(ctes.substr(end), {{"x2", absl::StrCat("x2_", layers - 1)}}));
  return repeated;
}

}  // namespace

absl::StatusOr<ModelSql> ModelSql::Load(const std::string& path, int64_t layers) {
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
  if (layers == 1) return model;
  auto repeated = RepeatBlock(model.ctes_, layers);
  if (!repeated.ok()) return repeated.status();
  model.ctes_ = *std::move(repeated);
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
