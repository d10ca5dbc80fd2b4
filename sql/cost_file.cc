#include "sql/cost_file.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "engine/file.h"
#include "engine/status.h"
#include "nlohmann/json.hpp"

namespace adjoin {

absl::StatusOr<StepCosts> ReadCosts(const std::string& path) {
  ADJOIN_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> file, InputFile::Open(path));
  const auto invalid = [&](const std::string& detail) {
    return SqlErrorWithDetail(sqlstate::kInvalidParameterValue,
                              absl::StrCat("file \"", path, "\" has no costs of steps"), detail,
                              "adjoin calibrate FILE writes one.");
  };
  const nlohmann::json read = nlohmann::json::parse(file->bytes(), nullptr, false);
  if (!read.is_object()) return invalid("It is no JSON object.");
  StepCosts costs;
  for (const StepCostField& field : kStepCostFields) {
    const auto value = read.find(field.name);
    if (value == read.end()) return invalid(absl::StrCat("\"", field.name, "\" is missing."));
    const double number = value->is_number() ? value->get<double>() : 0;
    if (!(number > 0) || !std::isfinite(number))
      return invalid(absl::StrCat("\"", field.name, "\" is no positive number: ", value->dump()));
    costs.*field.member = number;
  }
  for (const auto& [name, value] : read.items()) {
    const bool known = std::any_of(kStepCostFields.begin(), kStepCostFields.end(),
                                   [&](const StepCostField& field) { return name == field.name; });
    if (!known) return invalid(absl::StrCat("\"", name, "\" is no cost."));
  }
  return costs;
}

std::string CostsToJson(const StepCosts& costs) {
  nlohmann::ordered_json out;
  constexpr double kDigits = 1e4;
  for (const StepCostField& field : kStepCostFields)
    out[field.name] = std::round(costs.*field.member * kDigits) / kDigits;
  return out.dump(1) + "\n";
}

}  // namespace adjoin
