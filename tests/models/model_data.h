// The models' texts (examples/models) and their tables and reference values (tests/data).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/cases/backend.h"

namespace adjoin::models {

// A .npy array as doubles, row-major.
struct Array {
  std::vector<int64_t> shape;
  std::vector<double> values;
  double largest() const;  // absolute value
};

// The array at tests/data/`path`. Understands version 1.0, C order, <f8, <f4, <i4, <i8.
absl::StatusOr<Array> ReadArray(const std::string& path);
// One row a cell: its indices, then its value.
reference::Rows CellsOf(const Array& array);

// The models of examples/models.
struct Model {
  std::string folder, text;      // tests/data/models/<folder>, examples/models/<text>.sql
  std::vector<std::string> wrt;  // tables to differentiate by
};
const std::vector<Model>& Models();

// A model's text up to the end of its last CTE, and its closing SELECT.
struct ModelText {
  std::string ctes;
  std::string select;
};
absl::StatusOr<ModelText> ReadModelText(const std::string& name);  // "gpt_tied"

// A whole text file, by its path in the source tree.
absl::StatusOr<std::string> ReadText(const std::string& path);

// A CSV file with a header, by its path in the source tree: the header's words, and rows of the
// types given (an empty field is NULL).
struct Csv {
  std::vector<std::string> header;
  reference::Rows rows;
};
absl::StatusOr<Csv> ReadCsv(const std::string& path, const std::vector<TypeId>& types);

// The SGD step of `tables`, each with columns dims and val, as one statement.
std::string SgdStatement(const ModelText& text, const std::vector<std::string>& tables,
                         const std::string& rate);

// Creates the tables of tests/data/models/`folder` and loads their CSV files.
absl::Status LoadModel(const std::string& folder, cases::Backend& backend);

// A way of running a model's SQL: the oracle, or the engine under some settings.
struct Variant {
  std::string name;
  cases::Config config;
};
std::vector<Variant> AllVariants();
absl::StatusOr<std::unique_ptr<cases::Backend>> MakeBackend(const Variant& variant);

// The largest difference of two equally long lists; NaN where any is NaN.
double LargestDifference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace adjoin::models
