#include "sql/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "engine/text.h"
#include "sql/cost_file.h"

namespace adjoin {
namespace {

using Text = std::string_view;

std::string InvalidValueMessage(Text name, Text value) {
  return absl::StrCat("invalid value for parameter \"", ToAbsl(name), "\": \"", ToAbsl(value),
                      "\"");
}
absl::Status InvalidValue(Text name, Text value) {
  return SqlError(sqlstate::kInvalidParameterValue, InvalidValueMessage(name, value));
}

absl::Status SetBool(Text name, Text value, bool* out) {
  const std::string text = absl::AsciiStrToLower(ToAbsl(value));
  for (Text word : {"on", "true", "yes", "1", "t", "y"}) {
    if (text == word) return *out = true, absl::OkStatus();
  }
  for (Text word : {"off", "false", "no", "0", "f", "n"}) {
    if (text == word) return *out = false, absl::OkStatus();
  }
  return SqlError(sqlstate::kInvalidParameterValue,
                  absl::StrCat("parameter \"", ToAbsl(name), "\" requires a Boolean value"));
}

absl::Status OutOfRange(Text name, Text value, Text low, Text high) {
  return SqlError(sqlstate::kInvalidParameterValue,
                  absl::StrCat(ToAbsl(value), " is outside the valid range for parameter \"",
                               ToAbsl(name), "\" (", ToAbsl(low), " .. ", ToAbsl(high), ")"));
}

template <typename T>
absl::Status SetInteger(Text name, Text value, int64_t low, int64_t high, T* out) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return InvalidValue(name, value);
  if (number < low || number > high) {
    return OutOfRange(name, value, std::to_string(low), std::to_string(high));
  }
  *out = static_cast<T>(number);
  return absl::OkStatus();
}

std::string OnOff(bool value) { return value ? "on" : "off"; }

struct Row {
  Text name;
  absl::Status (*set)(Text name, Text value, Settings* settings);
  std::string (*show)(const Settings& settings);
  void (*reset)(const Settings& defaults, Settings* settings);
};

#define ADJOIN_ROW(sql_name, member, setter, shown)                                                \
  {                                                                                                \
    sql_name,                                                                                      \
        [](Text name, Text value, Settings* s) -> absl::Status { return setter(name, value, s); }, \
        [](const Settings& s) -> std::string { return shown; },                                    \
        [](const Settings& defaults, Settings* s) { s->member = defaults.member; }                 \
  }

std::string OnOffForce(RuleUse use) {
  return use == RuleUse::kForce ? "force" : OnOff(use == RuleUse::kOn);
}

absl::Status SetRule(Text name, Text value, RuleUse& use) {
  if (absl::AsciiStrToLower(ToAbsl(value)) == "force")
    return use = RuleUse::kForce, absl::OkStatus();
  bool on = false;
  if (!SetBool(name, value, &on).ok()) return InvalidValue(name, value);
  use = on ? RuleUse::kOn : RuleUse::kOff;
  return absl::OkStatus();
}
template <RuleUse PlanOptions::*kMember>
absl::Status PlanRule(Text name, Text value, Settings* s) {
  return SetRule(name, value, s->plan.*kMember);
}
absl::Status SpillRule(Text name, Text value, Settings* s) {
  return SetRule(name, value, s->spill);
}
absl::Status CostsFile(Text, Text value, Settings* s) {
  StepCosts costs;
  if (!value.empty()) {
    ADJOIN_ASSIGN_OR_RETURN(costs, ReadCosts(std::string(value)));
  }
  s->plan.costs = costs;
  s->costs_file = std::string(value);
  return absl::OkStatus();
}
absl::Status TempDirectory(Text, Text value, Settings* s) {
  s->temp_directory = std::string(value);
  return absl::OkStatus();
}

template <bool PlanOptions::*kMember>
absl::Status PlanBool(Text name, Text value, Settings* s) {
  return SetBool(name, value, &(s->plan.*kMember));
}
template <int64_t PlanOptions::*kMember>
absl::Status PlanRows(Text name, Text value, Settings* s) {
  return SetInteger(name, value, 1, int64_t{1} << 30, &(s->plan.*kMember));
}
absl::Status WorkMem(Text name, Text value, Settings* s) {
  const auto bytes = ParseBytes(value, 1024);
  if (!bytes.has_value()) return InvalidValue(name, value);
  if (*bytes < 64 * 1024) return OutOfRange(name, value, "64 kB", "9007199254740991 kB");
  s->plan.work_mem = *bytes;
  return absl::OkStatus();
}
absl::Status Threads(Text name, Text value, Settings* s) {
  return SetInteger(name, value, 1, 1024, &s->threads);
}
absl::Status LockTimeout(Text name, Text value, Settings* s) {
  return SetInteger(name, value, 0, INT32_MAX, &s->lock_timeout_ms);
}
absl::Status FloatPromotion(Text name, Text value, Settings* s) {
  if (value != "postgres" && value != "weak") {
    return SqlErrorWithDetail(sqlstate::kInvalidParameterValue, InvalidValueMessage(name, value),
                              "", "Available values: postgres, weak.");
  }
  s->weak_real = value == "weak";
  return absl::OkStatus();
}

constexpr Row kRows[] = {
    ADJOIN_ROW("adjoin.batch_rows", plan.batch_rows, PlanRows<&PlanOptions::batch_rows>,
               std::to_string(s.plan.batch_rows)),
    ADJOIN_ROW("adjoin.contraction", plan.contraction, PlanBool<&PlanOptions::contraction>,
               OnOff(s.plan.contraction)),
    {"adjoin.costs", CostsFile, [](const Settings& s) { return s.costs_file; },
     [](const Settings& defaults, Settings* s) {
       s->costs_file = defaults.costs_file;
       s->plan.costs = defaults.plan.costs;
     }},
    ADJOIN_ROW("adjoin.float_promotion", weak_real, FloatPromotion,
               s.weak_real ? "weak" : "postgres"),
    ADJOIN_ROW("adjoin.grid", plan.grid, PlanBool<&PlanOptions::grid>, OnOff(s.plan.grid)),
    ADJOIN_ROW("adjoin.inline", plan.inline_maps, PlanBool<&PlanOptions::inline_maps>,
               OnOff(s.plan.inline_maps)),
    ADJOIN_ROW("adjoin.join_filters", plan.join_filters, PlanRule<&PlanOptions::join_filters>,
               OnOffForce(s.plan.join_filters)),
    ADJOIN_ROW("adjoin.join_order", plan.join_order, PlanRule<&PlanOptions::join_order>,
               OnOffForce(s.plan.join_order)),
    ADJOIN_ROW("adjoin.morsel_rows", plan.morsel_rows, PlanRows<&PlanOptions::morsel_rows>,
               std::to_string(s.plan.morsel_rows)),
    ADJOIN_ROW("adjoin.pairs", plan.pairs, PlanRule<&PlanOptions::pairs>, OnOffForce(s.plan.pairs)),
    ADJOIN_ROW("adjoin.share", plan.share, PlanBool<&PlanOptions::share>, OnOff(s.plan.share)),
    ADJOIN_ROW("adjoin.sparse", plan.sparse, PlanRule<&PlanOptions::sparse>,
               OnOffForce(s.plan.sparse)),
    ADJOIN_ROW("adjoin.spill", spill, SpillRule, OnOffForce(s.spill)),
    ADJOIN_ROW("adjoin.stack", plan.stack, PlanRule<&PlanOptions::stack>, OnOffForce(s.plan.stack)),
    ADJOIN_ROW("adjoin.stage", plan.stage, PlanRule<&PlanOptions::stage>, OnOffForce(s.plan.stage)),
    ADJOIN_ROW("adjoin.store", plan.store, PlanRule<&PlanOptions::store>, OnOffForce(s.plan.store)),
    ADJOIN_ROW("adjoin.temp_directory", temp_directory, TempDirectory, s.temp_directory),
    ADJOIN_ROW("adjoin.tile", plan.tile, PlanRule<&PlanOptions::tile>, OnOffForce(s.plan.tile)),
    ADJOIN_ROW("adjoin.threads", threads, Threads, std::to_string(s.threads)),
    ADJOIN_ROW("lock_timeout", lock_timeout_ms, LockTimeout, std::to_string(s.lock_timeout_ms)),
    ADJOIN_ROW("work_mem", plan.work_mem, WorkMem, FormatBytes(s.plan.work_mem)),
};
#undef ADJOIN_ROW

// Settings that PostgreSQL's clients send on their own; all values are accepted.
struct Other {
  Text name, value;
};
constexpr Other kOthers[] = {
    {"application_name", ""},
    {"bytea_output", "hex"},
    {"client_encoding", "UTF8"},
    {"client_min_messages", "notice"},
    {"datestyle", "ISO, MDY"},
    {"extra_float_digits", "1"},
    {"intervalstyle", "postgres"},
    {"search_path", "public"},
    {"server_encoding", "UTF8"},
    {"server_version", "15.0 (Adjoin)"},
    {"standard_conforming_strings", "on"},
    {"statement_timeout", "0"},
    {"timezone", "UTC"},
    {"transaction_isolation", "read committed"},
};

const Row* FindRow(Text name) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& r) { return r.name == name; });
  return row == std::end(kRows) ? nullptr : row;
}
const Other* FindOther(Text name) {
  const auto* row = std::find_if(std::begin(kOthers), std::end(kOthers),
                                 [&](const Other& r) { return r.name == name; });
  return row == std::end(kOthers) ? nullptr : row;
}
absl::Status Unknown(Text name) {
  return SqlError(sqlstate::kUndefinedObject,
                  absl::StrCat("unrecognized configuration parameter \"", ToAbsl(name), "\""));
}

struct Unit {
  Text name;
  int64_t bytes;
};
constexpr Unit kUnits[] = {{"TB", int64_t{1} << 40},
                           {"GB", int64_t{1} << 30},
                           {"MB", int64_t{1} << 20},
                           {"kB", int64_t{1} << 10},
                           {"B", 1}};

}  // namespace

std::optional<int64_t> ParseBytes(std::string_view text, int64_t unit) {
  const std::string trimmed(absl::StripAsciiWhitespace(ToAbsl(text)));
  double number = 0;
  const char* last = trimmed.data() + trimmed.size();
  const auto [end, error] = std::from_chars(trimmed.data(), last, number);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  const absl::string_view suffix =
      absl::StripLeadingAsciiWhitespace(absl::string_view(end, last - end));
  if (!suffix.empty()) {
    const auto* found = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const Unit& u) {
      return absl::EqualsIgnoreCase(ToAbsl(u.name), suffix) ||
             (suffix.size() == 1 && absl::EqualsIgnoreCase(ToAbsl(u.name.substr(0, 1)), suffix));
    });
    if (found == std::end(kUnits)) return std::nullopt;
    unit = found->bytes;
  }
  const double bytes = std::round(number * static_cast<double>(unit));
  if (!(bytes < 9e18)) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

std::string FormatBytes(int64_t bytes) {
  for (const Unit& unit : kUnits) {
    if (bytes >= unit.bytes && bytes % unit.bytes == 0)
      return absl::StrCat(bytes / unit.bytes, ToAbsl(unit.name));
  }
  return absl::StrCat(bytes);
}

absl::Status SetSetting(std::string_view name, const std::optional<std::string>& value,
                        const Settings& defaults, Settings* settings) {
  if (const Row* row = FindRow(name)) {
    if (value.has_value()) return row->set(name, *value, settings);
    row->reset(defaults, settings);
    return absl::OkStatus();
  }
  if (FindOther(name) == nullptr) return Unknown(name);
  if (value.has_value()) {
    settings->others[std::string(name)] = *value;
  } else {
    settings->others.erase(std::string(name));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ShowSetting(std::string_view name, const Settings& settings) {
  if (const Row* row = FindRow(name)) return row->show(settings);
  const auto it = settings.others.find(std::string(name));
  if (it != settings.others.end()) return it->second;
  if (const Other* other = FindOther(name)) return std::string(other->value);
  return Unknown(name);
}

std::vector<std::string> SettingNames() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  for (const Other& row : kOthers) names.emplace_back(row.name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace adjoin
