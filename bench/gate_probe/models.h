// The models of examples/models with the tables of tests/data: the training steps that the gates
// count.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "adjoin/connection.h"
#include "adjoin/database.h"
#include "adjoin/prepared.h"

namespace adjoin::gate {

struct Model {
  std::string name;
  std::string text;                     // examples/models/<text>.sql
  std::string folder;                   // tests/data/models/<folder>: schema.sql and CSV files
  std::vector<std::string> parameters;  // the tables that the step trains
  double rate;
  bool real = false;        // REAL in place of DOUBLE PRECISION
  int layers = 1;           // above 1: the text's block again and again
  std::string arrays = {};  // not empty: the values come from tests/data/<arrays> as NPY files
};

const std::vector<Model>& Models();

using Settings = std::vector<std::pair<std::string, std::string>>;

// A model's tables, and its step as one UPDATE of all its parameters.
struct LoadedModel {
  api::Database database;
  api::Connection connection;
  std::string sql;
};
absl::StatusOr<LoadedModel> LoadModel(const Model& model);

// The same with the step prepared and warm: it has run twice. The loss before and the values after
// the first run were those that JAX's loss and gradients give.
struct ReadyModel {
  LoadedModel loaded;
  api::Prepared step;
};
absl::StatusOr<ReadyModel> MakeReady(const Model& model, const Settings& settings = {});

// The columns of the first row that `sql` gives. REQUIRES: they are DOUBLE PRECISION.
absl::StatusOr<std::vector<double>> FirstRow(api::Connection& connection, std::string_view sql);

// The path of a file of the source tree.
std::string SourcePath(std::string_view path);

}  // namespace adjoin::gate
