#include "tests/models/model_data.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/status.h"

namespace adjoin::models {
namespace {

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(what); }

template <typename T>
std::vector<double> Doubles(const std::string& bytes, size_t offset) {
  std::vector<double> out;
  for (size_t at = offset; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    out.push_back(static_cast<double>(value));
  }
  return out;
}

absl::StatusOr<Value> ParseField(const std::string& field, TypeId type) {
  if (field.empty()) return Value();
  if (type == TypeId::kText) return Value::Text(field);
  double number = 0;
  int64_t integer = 0;
  if (IsInteger(type) && absl::SimpleAtoi(field, &integer)) return Value::Int(integer);
  if (IsFloat(type) && absl::SimpleAtod(field, &number)) return Value::Float(number);
  return Bad(absl::StrCat("bad field ", field));
}

}  // namespace

const std::vector<Model>& Models() {
  static const auto* models =
      new std::vector<Model>{{"linear", "linear", {"w", "b", "x"}},
                             {"logistic", "logistic", {"w", "b", "x"}},
                             {"mlp", "mlp", {"w1", "b1", "w2", "b2"}},
                             {"kmeans", "kmeans", {"centre", "x"}},
                             {"factorization", "factorization", {"p", "q", "pb", "qb"}},
                             {"attention", "attention", {"x", "wq", "wk", "wv"}},
                             {"gpt_small",
                              "gpt",
                              {"wte", "wpe", "h0_ln_1", "h0_wq", "h0_wk", "h0_wv", "h0_wo",
                               "h0_ln_2", "h0_w_fc", "h0_w_proj", "ln_f", "w_head"}},
                             {"gpt_tied_small",
                              "gpt_tied",
                              {"wte", "wpe", "h0_ln_1", "h0_wq", "h0_wk", "h0_wv", "h0_wo",
                               "h0_ln_2", "h0_w_fc", "h0_w_proj", "ln_f"}}};
  return *models;
}

double Array::largest() const {
  double out = 0;
  for (double v : values) out = std::max(out, std::fabs(v));
  return out;
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream in(absl::StrCat(ADJOIN_SOURCE_DIR "/", path), std::ios::binary);
  if (!in) return Bad(absl::StrCat("cannot read ", path));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

absl::StatusOr<Array> ReadArray(const std::string& path) {
  ADJOIN_ASSIGN_OR_RETURN(const std::string bytes, ReadText(absl::StrCat("tests/data/", path)));
  if (bytes.size() < 10 || bytes.compare(0, 8, std::string("\x93NUMPY\x01\x00", 8)) != 0)
    return Bad(path);
  const size_t header_size =
      static_cast<uint8_t>(bytes[8]) + 256 * static_cast<size_t>(static_cast<uint8_t>(bytes[9]));
  const std::string header = bytes.substr(10, header_size);
  std::smatch match;
  if (!std::regex_search(header, match, std::regex(R"('shape': \(([^)]*)\))")) ||
      header.find("'fortran_order': False") == std::string::npos) {
    return Bad(header);
  }
  Array array;
  size_t cells = 1;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(match[1].str(), ','))) {
    int64_t extent = 0;
    if (!absl::SimpleAtoi(word, &extent)) continue;
    array.shape.push_back(extent);
    cells *= static_cast<size_t>(extent);
  }
  const size_t offset = 10 + header_size;
  if (header.find("'<f8'") != std::string::npos) array.values = Doubles<double>(bytes, offset);
  if (header.find("'<f4'") != std::string::npos) array.values = Doubles<float>(bytes, offset);
  if (header.find("'<i4'") != std::string::npos) array.values = Doubles<int32_t>(bytes, offset);
  if (header.find("'<i8'") != std::string::npos) array.values = Doubles<int64_t>(bytes, offset);
  if (array.values.size() != cells)
    return Bad(absl::StrCat(path, " has ", array.values.size(), " cells"));
  return array;
}

reference::Rows CellsOf(const Array& array) {
  reference::Rows rows;
  std::vector<int64_t> index(array.shape.size(), 0);
  for (double value : array.values) {
    reference::Row row;
    for (int64_t i : index) row.push_back(Value::Int(i));
    row.push_back(Value::Float(value));
    rows.push_back(std::move(row));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < array.shape[d]) break;
      index[d] = 0;
    }
  }
  return rows;
}

absl::StatusOr<ModelText> ReadModelText(const std::string& name) {
  ADJOIN_ASSIGN_OR_RETURN(const std::string text,
                          ReadText(absl::StrCat("examples/models/", name, ".sql")));
  const size_t at = text.rfind("\nSELECT ");
  if (at == std::string::npos) return Bad(text);
  std::string select = text.substr(at + 1);
  select.resize(select.find(';'));
  return ModelText{text.substr(0, at), select};
}

absl::StatusOr<Csv> ReadCsv(const std::string& path, const std::vector<TypeId>& types) {
  ADJOIN_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  Csv csv;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(text, '\n', absl::SkipEmpty()))) {
    const std::vector<std::string> fields = absl::StrSplit(line, ',');
    if (csv.header.empty()) {
      csv.header = fields;
      continue;
    }
    if (fields.size() != types.size()) return Bad(absl::StrCat(path, ": ", line));
    reference::Row row;
    for (size_t c = 0; c < types.size(); ++c) {
      ADJOIN_ASSIGN_OR_RETURN(Value value, ParseField(fields[c], types[c]));
      row.push_back(std::move(value));
    }
    csv.rows.push_back(std::move(row));
  }
  return csv;
}

std::string SgdStatement(const ModelText& text, const std::vector<std::string>& tables,
                         const std::string& rate) {
  const auto update = [&](const std::string& t) {
    return absl::StrCat("UPDATE ", t, " SET val = val - ", rate, " * grad(loss, val)");
  };
  std::string sql = text.ctes;
  for (size_t i = 0; i + 1 < tables.size(); ++i) {
    absl::StrAppend(&sql, ",\nstep_", tables[i], " AS (\n  ", update(tables[i]), "\n)");
  }
  return absl::StrCat(sql, "\n", update(tables.back()));
}

absl::Status LoadModel(const std::string& folder, cases::Backend& backend) {
  const std::string path = absl::StrCat("tests/data/models/", folder, "/");
  ADJOIN_ASSIGN_OR_RETURN(const std::string schema, ReadText(path + "schema.sql"));
  ADJOIN_RETURN_IF_ERROR(backend.Setup(schema));
  const std::regex create("CREATE TABLE (\\w+)");
  for (std::sregex_iterator m(schema.begin(), schema.end(), create), end; m != end; ++m) {
    const std::string name = (*m)[1].str();
    ADJOIN_ASSIGN_OR_RETURN(const Schema table, backend.SchemaOf(name));
    std::vector<TypeId> types;
    for (const Field& field : table.fields) types.push_back(field.type);
    ADJOIN_ASSIGN_OR_RETURN(const Csv csv, ReadCsv(absl::StrCat(path, name, ".csv"), types));
    ADJOIN_RETURN_IF_ERROR(backend.ReplaceTable(name, csv.rows));
  }
  return absl::OkStatus();
}

std::vector<Variant> AllVariants() {
  const auto engine = [](const std::string& name, int threads,
                         std::map<std::string, std::string> settings) {
    cases::Config config;
    config.name = name;
    config.threads = threads;
    config.settings = std::move(settings);
    return Variant{name, config};
  };
  Variant oracle;
  oracle.name = "oracle";
  oracle.config.reference = true;
  return {
      oracle,
      engine("engine", 1, {}),
      engine("grid_off", 1, {{"adjoin.grid", "off"}}),
      engine("contraction_off", 1, {{"adjoin.contraction", "off"}}),
      engine("inline_off", 1, {{"adjoin.inline", "off"}}),
      engine("share_off", 1, {{"adjoin.share", "off"}, {"adjoin.store", "force"}}),
      engine("store_off", 1, {{"adjoin.store", "off"}}),
      engine("tile_force", 1, {{"adjoin.tile", "force"}}),
      engine("stack_force", 1, {{"adjoin.stack", "force"}}),
      engine("grid_and_contraction_off", 1,
             {{"adjoin.grid", "off"}, {"adjoin.contraction", "off"}}),
      engine("threads_4", 4, {{"adjoin.morsel_rows", "1000"}, {"adjoin.stage", "force"}}),
      engine("batch_3", 2,
             {{"adjoin.grid", "off"}, {"adjoin.batch_rows", "3"}, {"adjoin.morsel_rows", "50"}})};
}

absl::StatusOr<std::unique_ptr<cases::Backend>> MakeBackend(const Variant& variant) {
  if (variant.config.reference) return cases::MakeReferenceBackend();
  return cases::MakeEngineBackend(variant.config, variant.config.threads, std::nullopt);
}

double LargestDifference(const std::vector<double>& a, const std::vector<double>& b) {
  double out = a.size() == b.size() ? 0 : NAN;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double difference = std::fabs(a[i] - b[i]);
    if (!(difference <= out)) out = difference;
  }
  return out;
}

}  // namespace adjoin::models
