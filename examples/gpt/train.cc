// Trains a character-level GPT, written as one SQL query, on a text; then samples from it and draws
// the loss curve.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include "adjoin/error.h"
#include "gpt/trainer.h"

namespace gpt {
namespace {

struct Options {
  TrainOptions train;
  std::string dtype = "f32", head = "tied", out = "out", prompt = "The ";
  int64_t characters = 300;
  double temperature = 0.7;
  bool explain = false;
};

int64_t DefaultSteps(const std::string& size) { return size == "small" ? 50000 : 600; }

void AddOptions(CLI::App& app, Options& options) {
  TrainOptions& train = options.train;
  app.add_option("--size", train.size, "small, base or deep")
      ->check(CLI::IsMember({"small", "base", "deep"}))
      ->capture_default_str();
  train.text = GPT_EXAMPLES_DIR "/gpt/data/text.txt";
  train.steps = 0;
  app.add_option("--steps", train.steps, "SGD steps (default: 50000 for small, 600 for others)")
      ->check(CLI::PositiveNumber);
  app.add_option("--max-seconds", train.max_seconds, "stop training after this long")
      ->capture_default_str();
  app.add_option("--lr", train.learning_rate, "learning rate")->capture_default_str();
  app.add_option("--dtype", options.dtype, "f32 or f64")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->capture_default_str();
  app.add_option("--head", options.head,
                 "tied: logits read the token embedding; untied: a weight of their own")
      ->check(CLI::IsMember({"tied", "untied"}))
      ->capture_default_str();
  app.add_option("--threads", train.threads, "threads of a statement (0: one a processor)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--text", train.text, "the text to learn")->capture_default_str();
  app.add_option("--model", train.model,
                 "the model's SQL (default: examples/models/gpt_tied.sql or gpt.sql)");
  app.add_option("--out", options.out, "directory for loss.csv, loss.svg and sample.txt")
      ->capture_default_str();
  app.add_option("--prompt", options.prompt, "what the sample starts with")->capture_default_str();
  app.add_option("--sample", options.characters, "characters to sample")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--temperature", options.temperature,
                 "of the sample; 0: always the likeliest character")
      ->capture_default_str();
  app.add_flag("--explain", options.explain,
               "print the plan and program of the training step, and stop");
}

// A bar that redraws itself on a terminal, ten lines elsewhere.
class ProgressBar {
 public:
  void Draw(const Progress& progress) {
    const double part = static_cast<double>(progress.step) / static_cast<double>(progress.steps);
    if (!terminal_ && part < next_) return;
    while (next_ <= part) next_ += 0.1;
    const double left = part > 0 ? progress.seconds / part - progress.seconds : 0;
    std::string bar(static_cast<size_t>(part * 24), '#');
    bar.resize(24, '.');
    std::fprintf(
        stderr, "%s[%s] step %ld/%ld  loss %.3f  valid %.3f  %.0f tokens/s  %.1f s, %.0f s left %s",
        terminal_ ? "\r" : "", bar.c_str(), static_cast<long>(progress.step),
        static_cast<long>(progress.steps), progress.losses.train_loss, progress.losses.valid_loss,
        progress.tokens_per_second, progress.seconds, left, terminal_ ? " " : "\n");
  }
  void Finish() const {
    if (terminal_) std::fputc('\n', stderr);
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  double next_ = 0;
};

absl::Status WriteResults(const Options& options, const Trainer& trainer,
                          const std::string& sample) {
  const std::filesystem::path out(options.out);
  absl::Status csv = WriteCurveCsv(trainer.curve(), out / "loss.csv");
  if (!csv.ok()) return csv;
  absl::Status svg = WriteCurveSvg(trainer.curve(), out / "loss.svg");
  if (!svg.ok()) return svg;
  std::ofstream(out / "sample.txt") << sample << "\n";
  std::printf("\nloss curve: %s and %s\nsample:     %s\n", (out / "loss.csv").c_str(),
              (out / "loss.svg").c_str(), (out / "sample.txt").c_str());
  return absl::OkStatus();
}

absl::Status Run(const Options& options) {
  // Made first: a directory that cannot be made is better known before the training than after.
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error)
    return absl::UnavailableError("cannot make the directory " + options.out + ": " +
                                  error.message());
  auto trainer = Trainer::Create(options.train);
  if (!trainer.ok()) return trainer.status();
  if (options.explain) {
    std::puts((*trainer)->Explain().c_str());
    return absl::OkStatus();
  }
  const adjoin::api::Stats stats = (*trainer)->stats();
  std::printf(
      "GPT %s, %s: %ld parameters; one step is one SQL statement, planned in %.1f ms as %d steps, "
      "%d operators\n",
      options.train.size.c_str(), options.dtype.c_str(),
      static_cast<long>((*trainer)->num_parameters()), stats.plan_ms, stats.steps, stats.operators);
  std::fflush(stdout);
  ProgressBar bar;
  absl::Status trained = (*trainer)->Train([&](const Progress& progress) { bar.Draw(progress); });
  bar.Finish();
  if (!trained.ok()) return trained;
  const CurvePoint& first = (*trainer)->curve().front();
  const CurvePoint& last = (*trainer)->curve().back();
  if (last.step < options.train.steps)
    std::printf("stopped after --max-seconds, at step %ld\n", static_cast<long>(last.step));
  std::printf("loss %.3f -> %.3f, on text it has not seen %.3f -> %.3f\n", first.train_loss,
              last.train_loss, first.valid_loss, last.valid_loss);
  auto sample =
      (*trainer)->Sample(options.prompt, options.characters, options.temperature, /*seed=*/1);
  if (!sample.ok()) return sample.status();
  std::printf("\n%s\n", sample->c_str());
  return WriteResults(options, **trainer, *sample);
}

}  // namespace
}  // namespace gpt

int main(int argc, char** argv) {
  CLI::App app("Trains a character-level GPT, written as one SQL query, on a text.");
  gpt::Options options;
  gpt::AddOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  options.train.untied = options.head == "untied";
  options.train.dtype = options.dtype == "f32" ? gpt::Dtype::kFloat32 : gpt::Dtype::kFloat64;
  if (options.train.steps == 0) options.train.steps = gpt::DefaultSteps(options.train.size);
  if (options.train.model.empty()) {
    options.train.model = std::string(GPT_EXAMPLES_DIR) +
                          (options.train.untied ? "/models/gpt.sql" : "/models/gpt_tied.sql");
  }
  if (absl::Status status = gpt::Run(options); !status.ok()) {
    std::fputs(adjoin::api::FormatError(status).c_str(), stderr);
    return 1;
  }
  return 0;
}
