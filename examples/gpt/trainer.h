// Training and sampling of the GPT on one connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "adjoin/database.h"
#include "gpt/gpt_data.h"
#include "gpt/gpt_sql.h"
#include "gpt/loss_curve.h"

namespace gpt {

struct TrainOptions {
  std::string size = "small";
  std::string text, model;  // paths
  Dtype dtype = Dtype::kFloat32;
  bool untied = false;  // as the model text says
  int64_t steps = 1000;
  double learning_rate = 0.3;
  double max_seconds = 50;  // of training; then it stops early
  int threads = 0;
  uint64_t init_seed = 1, data_seed = 2;
};

// What a progress function hears after some of the steps.
struct Progress {
  int64_t step, steps;
  CurvePoint losses;  // as last measured
  double seconds;     // of training so far
  double tokens_per_second;
};

// One GPT in a database of its own. Use from one thread.
class Trainer {
 public:
  // Loads the text, makes the tables and plans the statements. Errors: those of the files, and of
  // the SQL.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(const TrainOptions& options);

  // Runs the steps, measuring both losses a hundred times on the way.
  absl::Status Train(const std::function<void(const Progress&)>& on_progress);

  // `prompt` and `characters` more, each drawn from softmax(logits / temperature); temperature 0
  // takes the likeliest. Errors: InvalidArgument for a prompt without a character of the text.
  absl::StatusOr<std::string> Sample(std::string_view prompt, int64_t characters,
                                     double temperature, uint64_t seed);

  const std::vector<CurvePoint>& curve() const { return curve_; }
  int64_t num_parameters() const;
  std::string Explain() const { return step_->Explain(); }
  adjoin::api::Stats stats() const { return step_->stats(); }

 private:
  Trainer(TrainOptions options, Size size, Text text, adjoin::api::Connection connection);
  absl::Status Prepare();
  absl::StatusOr<double> Loss(const adjoin::api::Table& batch);
  absl::Status MeasureLosses(int64_t step);
  absl::StatusOr<std::vector<double>> NextLogits(const std::vector<int64_t>& tokens);

  TrainOptions options_;
  Size size_;
  Text text_;
  std::vector<Parameter> parameters_;
  adjoin::api::Connection connection_;
  std::unique_ptr<adjoin::api::Prepared> step_, loss_, logits_;
  adjoin::api::Table measured_train_, measured_valid_;
  std::vector<CurvePoint> curve_;
};

}  // namespace gpt
