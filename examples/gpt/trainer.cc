#include "gpt/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace gpt {
namespace {

using adjoin::api::Prepared;
using adjoin::api::Table;

// A loss is measured on the same characters every time, more of them than a step has: a smooth
// curve.
constexpr int64_t kMeasuredCharacters = 1024;
constexpr int64_t kMeasurements = 100;

absl::StatusOr<std::unique_ptr<Prepared>> PrepareSql(adjoin::api::Connection& connection,
                                                     const std::string& sql) {
  auto prepared = connection.Prepare(sql);
  if (!prepared.ok()) return prepared.status();
  return std::make_unique<Prepared>(*std::move(prepared));
}

// The numbers of a floating column.
absl::StatusOr<std::vector<double>> Doubles(const Table& table, int column) {
  if (table.column_type(column) == adjoin::api::Type::kReal) {
    auto values = table.column_data<float>(column);
    if (!values.ok()) return values.status();
    return std::vector<double>(values->begin(), values->end());
  }
  auto values = table.column_data<double>(column);
  if (!values.ok()) return values.status();
  return std::vector<double>(values->begin(), values->end());
}

// The index that `uniform` in [0, 1) picks from softmax(logits / temperature).
int64_t Draw(const std::vector<double>& logits, double temperature, double uniform) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (temperature <= 0) return best - logits.begin();
  std::vector<double> weights;
  double total = 0;
  for (double logit : logits)
    total += weights.emplace_back(std::exp((logit - *best) / temperature));
  double rest = uniform * total;
  for (size_t i = 0; i < weights.size(); ++i) {
    if ((rest -= weights[i]) < 0) return static_cast<int64_t>(i);
  }
  return best - logits.begin();
}

}  // namespace

Trainer::Trainer(TrainOptions options, Size size, Text text, adjoin::api::Connection connection)
    : options_(std::move(options)),
      size_(size),
      text_(std::move(text)),
      parameters_(Parameters(size, std::ssize(text_.vocabulary()), options_.untied)),
      connection_(std::move(connection)) {}

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(const TrainOptions& options) {
  auto size = SizeByName(options.size);
  if (!size.ok()) return size.status();
  auto text = Text::Load(options.text);
  if (!text.ok()) return text.status();
  if (std::ssize(text->valid()) <= size->context) {
    return absl::InvalidArgumentError("the text is too short for this size's context: " +
                                      options.text);
  }
  auto database = adjoin::api::Database::Open({.threads = options.threads});
  if (!database.ok()) return database.status();
  std::unique_ptr<Trainer> trainer(
      new Trainer(options, *size, *std::move(text), database->Connect()));
  if (absl::Status prepared = trainer->Prepare(); !prepared.ok()) return prepared;
  return trainer;
}

absl::Status Trainer::Prepare() {
  auto model = ModelSql::Load(options_.model, size_.layers);
  if (!model.ok()) return model.status();
  auto values = InitialValues(parameters_, options_.init_seed, options_.dtype);
  if (!values.ok()) return values.status();
  auto batch = Batch(text_.train(), size_.batch, size_.context, 0, options_.data_seed);
  if (!batch.ok()) return batch.status();
  absl::Status made = CreateTables(connection_, parameters_, *values, *batch, options_.dtype);
  if (!made.ok()) return made;
  const int64_t measured_rows = kMeasuredCharacters / size_.context;
  auto train = Batch(text_.train(), measured_rows, size_.context, 0, options_.data_seed + 1);
  if (!train.ok()) return train.status();
  auto valid = Batch(text_.valid(), measured_rows, size_.context, 0, options_.data_seed + 1);
  if (!valid.ok()) return valid.status();
  measured_train_ = *train;
  measured_valid_ = *valid;
  for (const auto& [statement, sql] :
       {std::pair{&step_, model->Step(parameters_, options_.learning_rate)},
        std::pair{&loss_, model->Loss()}, std::pair{&logits_, model->NextLogits()}}) {
    auto prepared = PrepareSql(connection_, sql);
    if (!prepared.ok()) return prepared.status();
    *statement = *std::move(prepared);
  }
  return absl::OkStatus();
}

int64_t Trainer::num_parameters() const {
  int64_t total = 0;
  for (const Parameter& parameter : parameters_) {
    int64_t count = 1;
    for (int64_t extent : parameter.extents) count *= extent;
    total += count;
  }
  return total;
}

absl::StatusOr<double> Trainer::Loss(const Table& batch) {
  if (absl::Status bound = loss_->Bind("batch", batch); !bound.ok()) return bound;
  auto result = loss_->Run();
  if (!result.ok()) return result.status();
  auto loss = Doubles(result->rows, 0);
  if (!loss.ok()) return loss.status();
  return loss->at(0);
}

absl::Status Trainer::MeasureLosses(int64_t step) {
  auto train = Loss(measured_train_);
  if (!train.ok()) return train.status();
  auto valid = Loss(measured_valid_);
  if (!valid.ok()) return valid.status();
  curve_.push_back({step, *train, *valid});
  return absl::OkStatus();
}

absl::Status Trainer::Train(const std::function<void(const Progress&)>& on_progress) {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const int64_t every = std::max<int64_t>(1, options_.steps / kMeasurements);
  for (int64_t step = 0; step <= options_.steps; ++step) {
    const bool last = step == options_.steps || elapsed() > options_.max_seconds;
    if (step % every == 0 || last) {
      if (absl::Status measured = MeasureLosses(step); !measured.ok()) return measured;
      const double seconds = elapsed();
      on_progress(
          {step, options_.steps, curve_.back(), seconds,
           static_cast<double>(step * size_.batch * size_.context) / std::max(seconds, 1e-9)});
    }
    if (last) break;
    auto batch = Batch(text_.train(), size_.batch, size_.context, step, options_.data_seed);
    if (!batch.ok()) return batch.status();
    if (absl::Status bound = step_->Bind("batch", *batch); !bound.ok()) return bound;
    if (auto done = step_->Run(); !done.ok()) return done.status();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> Trainer::NextLogits(const std::vector<int64_t>& tokens) {
  auto prompt = Prompt(tokens, size_.context);
  if (!prompt.ok()) return prompt.status();
  if (absl::Status bound = logits_->Bind("batch", *prompt); !bound.ok()) return bound;
  auto result = logits_->Run({adjoin::api::Value(std::ssize(tokens) - 1)});
  if (!result.ok()) return result.status();
  return Doubles(result->rows, 1);
}

absl::StatusOr<std::string> Trainer::Sample(std::string_view prompt, int64_t characters,
                                            double temperature, uint64_t seed) {
  std::vector<int64_t> window = text_.Encode(prompt);
  if (window.empty()) return absl::InvalidArgumentError("the prompt has no character of the text");
  std::string sample(prompt);
  for (uint64_t random : SplitMix64(seed, 0, characters)) {
    if (std::ssize(window) > size_.context)
      window.erase(window.begin(), window.end() - size_.context);
    auto logits = NextLogits(window);
    if (!logits.ok()) return logits.status();
    window.push_back(Draw(*logits, temperature, static_cast<double>(random >> 11) * 0x1p-53));
    sample += text_.Decode(window.back());
  }
  return sample;
}

}  // namespace gpt
