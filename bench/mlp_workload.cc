// An SGD step of a perceptron for images of 28 x 28: 784 - 128 - 10, tanh, 128 images.

#include "absl/strings/str_cat.h"
#include "bench/workloads.h"
#include "gpt/gpt_sql.h"

namespace adjoin::bench {
namespace {

constexpr int64_t kImages = 128, kPixels = 784, kHidden = 128, kClasses = 10;
constexpr double kLearningRate = 0.1;
// The loss at the initial values and after one step: JAX's, in f64.
constexpr double kLossBefore = 2.3805691210764817, kLossAfter = 2.3212415617351496;

}  // namespace

absl::StatusOr<Workload> Mlp(const Options& options) {
  if (options.size != "mnist")
    return absl::InvalidArgumentError("no such size: " + options.size + " (mnist)");
  auto model = gpt::ModelSql::Load(ADJOIN_SOURCE_DIR "/examples/models/mlp.sql", /*layers=*/1);
  if (!model.ok()) return model.status();
  const double width = 3.4641016151377544;  // sqrt(12): a standard deviation of 1
  const std::vector<gpt::Parameter> weights = {
      {"w1", {"p", "h"}, {kPixels, kHidden}, 0, width / 28},
      {"b1", {"h"}, {kHidden}, 0, 0.1},
      {"w2", {"h", "k"}, {kHidden, kClasses}, 0, width / 11},
      {"b2", {"k"}, {kClasses}, 0, 0.1}};
  Workload workload;
  workload.statements = {model->Step(weights, kLearningRate)};
  // Forward, as much for the gradients of the weights, and the cotangent of the hidden layer.
  workload.flops = 2.0 * kImages * (2 * kPixels * kHidden + 3 * kHidden * kClasses);
  std::vector<gpt::Parameter> tables = weights;
  tables.push_back({"x", {"s", "p"}, {kImages, kPixels}, 0.5, 1});
  workload.create = [options, tables](api::Connection& connection) {
    if (absl::Status made = CreateTables(connection, tables, /*seed=*/4, options); !made.ok())
      return made;
    return connection
        .Query(absl::StrCat("CREATE TABLE y (s BIGINT PRIMARY KEY, k BIGINT);"
                            "INSERT INTO y SELECT s, (7 * s + 3) % ",
                            kClasses, " FROM generate_series(0, ", kImages - 1, ") images(s)"))
        .status();
  };
  workload.loss = model->Loss();
  workload.before = {{model->Loss(), kLossBefore}};
  workload.after = {{model->Loss(), kLossAfter}};
  for (const gpt::Parameter& weight : weights)
    workload.left.push_back({weight.name, absl::StrCat("SELECT * FROM ", weight.name)});
  return workload;
}

}  // namespace adjoin::bench
