#include "sql/trace.h"

#include <cerrno>
#include <utility>
#include <vector>

#include "engine/file.h"

namespace adjoin {

using Milliseconds = std::chrono::duration<double, std::milli>;

absl::StatusOr<std::unique_ptr<Trace>> Trace::Open(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return FileError("could not open file", path, " for writing", errno);
  std::fputs("[", file);
  return std::unique_ptr<Trace>(new Trace(file, path));
}

Trace::~Trace() {
  std::fputs("\n]\n", file_);
  std::fclose(file_);
}

void Trace::Write(std::string_view name, std::string_view category, Clock::time_point start,
                  double ms, nlohmann::json args) {
  const std::chrono::duration<double, std::micro> at = start - opened_;
  const nlohmann::json event = {
      {"name", name}, {"cat", category},  {"ph", "X"},       {"pid", 1},
      {"tid", 1},     {"ts", at.count()}, {"dur", ms * 1e3}, {"args", std::move(args)}};
  std::fputs(std::exchange(empty_, false) ? "\n" : ",\n", file_);
  std::fputs(event.dump().c_str(), file_);
}

absl::Status Trace::Add(const PlannedStatement& planned, Clock::time_point start,
                        Clock::time_point ran, const RunProfile& profile) {
  const double planning = Milliseconds(ran - start).count();
  Write(planned.text(), "statement", start, planning + profile.ms, nlohmann::json::object());
  Write("plan", "plan", start, planning, nlohmann::json::object());
  const std::vector<Program::StepReport> steps = planned.program().Steps();
  for (size_t s = 0; s < steps.size(); ++s) {
    const StepMeasure& measured = steps[s].measured;
    if (measured.ms < 0) continue;
    nlohmann::json args = {{"step", s}, {"bytes", measured.bytes}, {"partitions", measured.parts}};
    if (measured.rows >= 0) args["rows"] = measured.rows;
    if (steps[s].predicted_us) args["predicted_ms"] = *steps[s].predicted_us / 1000;
    const auto after = std::chrono::duration_cast<Clock::duration>(Milliseconds(measured.start_ms));
    Write(steps[s].text, "step", ran + after, measured.ms, std::move(args));
  }
  if (std::fflush(file_) == 0) return absl::OkStatus();
  return FileError("could not write to file", path_, "", errno);
}

}  // namespace adjoin
