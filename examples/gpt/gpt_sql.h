// The GPT's SQL: the model text completed to the statements that training and sampling prepare.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "adjoin/connection.h"
#include "gpt/gpt_data.h"

namespace gpt {

// A model text: a chain of CTEs that ends in `loss`, and `SELECT l FROM loss`.
class ModelSql {
 public:
  // The text of a model with one block, completed to `layers` of them: what stands between its
  // lines
  // `-- attention` and `-- logits ...` is repeated, each time on the parameters of its own layer.
  // Errors: NotFound for a file that cannot be read, InvalidArgument for one that does not end in
  // SELECT l FROM loss, or that has no such block where more than one is asked for.
  static absl::StatusOr<ModelSql> Load(const std::string& path, int64_t layers);

  // The loss of table batch: one row.
  std::string Loss() const;
  // One SGD step: a single statement that updates every parameter by its gradient, all from one
  // snapshot, so that one forward and one backward pass serve all of them.
  std::string Step(const std::vector<Parameter>& parameters, double learning_rate) const;
  // The next character's logits (v, val), in order of v, after position $1 of the sequence in
  // batch.
  std::string NextLogits() const;

 private:
  std::string ctes_;  // without the last SELECT
};

// Makes the tables of `values`, named as `parameters`, and `batch`; for Dtype::kFloat32 also sets
// the session's arithmetic to stay in REAL where a constant meets it.
absl::Status CreateTables(adjoin::api::Connection& connection,
                          const std::vector<Parameter>& parameters,
                          const std::vector<adjoin::api::Table>& values,
                          const adjoin::api::Table& batch, Dtype dtype);

}  // namespace gpt
