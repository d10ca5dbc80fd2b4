// An SGD step of the GPT: forward, backward and the update of every parameter in one statement.
#include <array>

#include "absl/strings/str_cat.h"
#include "bench/workloads.h"
#include "gpt/gpt_data.h"
#include "gpt/gpt_sql.h"

namespace adjoin::bench {
namespace {

constexpr double kLearningRate = 0.1;

// The loss of the batch at the initial values and after one step on it: JAX's, in f64.
struct Losses {
  const char* size;
  double before, after;
};
constexpr std::array<Losses, 3> kLosses = {{{"small", 4.609009362624171, 4.287267734208793},
                                            {"base", 4.570681695345712, 3.832810540942616},
                                            {"deep", 4.868202867587095, 4.625069453122988}}};

// Of the products of a step, forward and twice that backward; of the scores only those that the
// causal mask keeps.
double Flops(const gpt::Size& size, double vocabulary) {
  const double c = static_cast<double>(size.channels), t = static_cast<double>(size.context);
  const double b = static_cast<double>(size.batch), n = b * t;
  const double projections = 4 * n * c * c, mlp = 2 * n * c * 4 * c;
  const double attention = 2 * b * t * (t + 1) / 2 * c;
  const double layers = static_cast<double>(size.layers);
  return 3 * 2 * (layers * (projections + mlp + attention) + n * c * vocabulary);
}

}  // namespace

absl::StatusOr<Workload> Gpt(const Options& options) {
  auto size = gpt::SizeByName(options.size);
  if (!size.ok()) return size.status();
  auto text = gpt::Text::Load(ADJOIN_SOURCE_DIR "/examples/gpt/data/text.txt");
  if (!text.ok()) return text.status();
  auto model = gpt::ModelSql::Load(ADJOIN_SOURCE_DIR "/examples/models/gpt_tied.sql", size->layers);
  if (!model.ok()) return model.status();
  const int64_t vocabulary = std::ssize(text->vocabulary());
  const auto parameters = gpt::Parameters(*size, vocabulary, /*untied=*/false);
  auto batch = gpt::Batch(text->train(), size->batch, size->context, /*step=*/0, /*seed=*/2);
  if (!batch.ok()) return batch.status();

  Workload workload;
  workload.statements = {model->Step(parameters, kLearningRate)};
  workload.flops = Flops(*size, static_cast<double>(vocabulary));
  workload.create = [options, parameters, batch = *batch](api::Connection& connection) {
    absl::Status made = CreateTables(connection, parameters, /*seed=*/1, options);
    return made.ok() ? connection.CreateTable("batch", batch) : made;
  };
  workload.loss = model->Loss();
  for (const Losses& losses : kLosses) {
    if (options.size != losses.size) continue;
    workload.before = {{model->Loss(), losses.before}};
    workload.after = {{model->Loss(), losses.after}};
  }
  for (const gpt::Parameter& parameter : parameters)
    workload.left.push_back({parameter.name, absl::StrCat("SELECT * FROM ", parameter.name)});
  return workload;
}

}  // namespace adjoin::bench
