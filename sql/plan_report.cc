#include "sql/plan_report.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/text.h"

namespace adjoin {
namespace {

std::optional<int64_t> EstimatedRows(const PlanReport& report, const Node& node) {
  const auto it = report.estimated_rows.find(node.id);
  if (it == report.estimated_rows.end() || !std::isfinite(it->second) || it->second >= 0x1p62)
    return std::nullopt;
  return std::llround(it->second);
}

std::optional<int64_t> ActualRows(const PlanReport& report, const Node& node) {
  if (report.profile == nullptr) return std::nullopt;
  const auto it = report.profile->node_rows.find(node.id);
  return it == report.profile->node_rows.end() ? std::nullopt : std::optional(it->second);
}

std::string RowsNote(const PlanReport& report, const Node& node) {
  std::string note;
  if (const auto rows = EstimatedRows(report, node)) absl::StrAppend(&note, "  rows=", *rows);
  if (const auto rows = ActualRows(report, node)) absl::StrAppend(&note, "  actual=", *rows);
  return note;
}

}  // namespace

std::string ToText(const PlanReport& report, bool times) {
  std::string out;
  const auto note = [&](const Node& node) { return RowsNote(report, node); };
  for (size_t s = 0; s < report.stages.size(); ++s) {
    const bool last = s + 1 == report.stages.size();
    if (report.stages.size() > 1) absl::StrAppend(&out, ToAbsl(report.stages[s].heading), "\n");
    std::vector<std::string> headings;
    for (const std::string& sink : report.sinks)
      headings.push_back(sink.empty() ? sink : sink + "\n");
    absl::StrAppend(&out, last ? ToString(report.stages[s].plans, headings, note)
                               : ToString(report.stages[s].plans, {}) + "\n");
  }
  const ProgramStats& stats = report.program->stats();
  absl::StrAppend(&out, "Program: ", stats.steps, " steps, ", stats.operators, " operators, ",
                  stats.base_table_reads, " base-table reads, ", stats.contractions,
                  " contractions, ", stats.bytes_between_steps, " bytes between steps, ",
                  stats.arena_bytes, " bytes of arena, ", stats.bytes_written,
                  " bytes written, estimated peak ", stats.estimated_peak_bytes, " bytes",
                  report.program->updates_in_place() ? ", in place" : "", "\n");
  for (const RuleReport& rule : report.rules) {
    absl::StrAppend(&out, "Rule ", rule.rule, ": ", rule.did);
    if (rule.saved_us)
      absl::StrAppendFormat(&out, "  (predicted saving %.4f ms)", *rule.saved_us / 1000);
    absl::StrAppend(&out, "\n");
  }
  const std::vector<Program::StepReport> steps = report.program->Steps();
  for (size_t i = 0; i < steps.size(); ++i) {
    absl::StrAppend(&out, "  ", i, ": ", steps[i].text);
    if (steps[i].predicted_us)
      absl::StrAppendFormat(&out, "  predicted %.4f ms", *steps[i].predicted_us / 1000);
    const StepMeasure& measured = steps[i].measured;
    if (times && measured.ms >= 0) {
      absl::StrAppendFormat(&out, "  (%.4f ms", measured.ms);
      if (measured.spilled_bytes > 0) {
        absl::StrAppend(&out, ", peak ", measured.peak_bytes, " bytes, ", measured.spilled_bytes,
                        " in files");
      }
      absl::StrAppend(&out, ")");
    }
    if (report.profile != nullptr && measured.rows >= 0)
      absl::StrAppend(&out, "  rows=", measured.rows);
    absl::StrAppend(&out, "\n");
  }
  if (times && !report.program->updates_in_place()) {
    absl::StrAppend(&out, "Memory: peak ", report.program->peak_bytes(), " bytes, ",
                    report.program->spilled_bytes(), " in files\n");
  }
  return out;
}

nlohmann::json ToJson(const PlanReport& report) {
  nlohmann::json nodes = nlohmann::json::array(), outputs = nlohmann::json::array();
  const std::vector<NodeRef>& plans = report.stages.back().plans;
  for (const NodeRef& node : TopologicalOrder(plans)) {
    nlohmann::json of = {{"Node Id", node->id}, {"Operator", DescribeOperator(*node)}};
    of["Inputs"] = nlohmann::json::array();
    for (const NodeRef& input : node->inputs) of["Inputs"].push_back(input->id);
    if (const auto rows = EstimatedRows(report, *node)) of["Plan Rows"] = *rows;
    if (const auto rows = ActualRows(report, *node)) of["Actual Rows"] = *rows;
    nodes.push_back(std::move(of));
  }
  for (size_t o = 0; o < plans.size(); ++o) {
    const std::string& sink = report.sinks[o];
    outputs.push_back({{"Node Id", plans[o]->id}, {"Sink", sink.empty() ? "Result" : sink}});
  }
  const ProgramStats& stats = report.program->stats();
  nlohmann::json rules = nlohmann::json::array(), steps = nlohmann::json::array();
  for (const RuleReport& rule : report.rules) {
    nlohmann::json of = {{"Rule", rule.rule}, {"Did", rule.did}};
    if (rule.saved_us) of["Predicted Saving"] = *rule.saved_us / 1000;
    rules.push_back(std::move(of));
  }
  const std::vector<Program::StepReport> described = report.program->Steps();
  for (size_t i = 0; i < described.size(); ++i) {
    nlohmann::json step = {{"Step", i}, {"Kernel", described[i].text}};
    if (described[i].predicted_us) step["Predicted Time"] = *described[i].predicted_us / 1000;
    if (report.profile != nullptr) {
      const StepMeasure& measured = described[i].measured;
      step["Start Time"] = measured.start_ms;
      step["Time"] = std::max(measured.ms, 0.0);
      step["Bytes"] = measured.bytes;
      step["Partitions"] = measured.parts;
      if (measured.rows >= 0) step["Rows"] = measured.rows;
      step["Spilled Bytes"] = measured.spilled_bytes;
    }
    steps.push_back(std::move(step));
  }
  nlohmann::json out = {{"Nodes", std::move(nodes)},
                        {"Outputs", std::move(outputs)},
                        {"Program",
                         {{"Steps", stats.steps},
                          {"Operators", stats.operators},
                          {"Base-Table Reads", stats.base_table_reads},
                          {"Contractions", stats.contractions},
                          {"Bytes Between Steps", stats.bytes_between_steps},
                          {"Bytes Written", stats.bytes_written},
                          {"Arena Bytes", stats.arena_bytes},
                          {"Estimated Peak Bytes", stats.estimated_peak_bytes},
                          {"In Place", report.program->updates_in_place()}}},
                        {"Rules", std::move(rules)},
                        {"Steps", std::move(steps)},
                        {"Planning Time", report.plan_ms}};
  if (report.profile == nullptr) return out;
  out["Execution Time"] = report.profile->ms;
  out["Peak Bytes"] = report.program->peak_bytes();
  out["Spilled Bytes"] = report.program->spilled_bytes();
  return out;
}

}  // namespace adjoin
