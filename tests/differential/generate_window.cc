#include "tests/differential/generate_query.h"

namespace adjoin {
namespace {

using Texts = std::vector<std::string>;

const Texts kDirections = {"", " DESC", " NULLS FIRST", " DESC NULLS LAST"};

}  // namespace

// Bounds in an order that SQL allows; offsets of RANGE are distances along the key.
Sql QueryGenerator::Frame(SqlType key, bool one_key) {
  Texts modes = {"ROWS", "GROUPS"};
  if (one_key && key != kText && key != kBoolean) modes.emplace_back("RANGE");
  const std::string mode = choice_.Of(modes);
  const auto distance = [&]() -> std::string {
    switch (key) {
      case kReal:
      case kDouble:
        return choice_.Of(Texts{"0.5", "2", "10.25"});
      case kDecimal:
        return choice_.Of(Texts{"0", "0.25", "1.50", "3", "1000"});
      case kDate:
      case kTimestamp:
      case kInterval:
        return choice_.Of(Texts{"INTERVAL '0'", "INTERVAL '1 day'", "INTERVAL '1 mon'",
                                "'1 year -3 days'", "INTERVAL '12:00'", "INTERVAL '30 years'",
                                "INTERVAL '1 day' * 2"});
      default:
        return choice_.Of(Texts{"0", "1", "2", "5", "2 - 1", "(SELECT 2)"});
    }
  };
  const auto bound = [&](int place) -> std::string {
    const std::string offset =
        mode == "RANGE" ? distance()
                        : choice_.Of(Texts{"0", "1", "2", "5", "1 + 1", "(SELECT 3 - 1)"});
    switch (place) {
      case 0:
        return "UNBOUNDED PRECEDING";
      case 1:
        return offset + " PRECEDING";
      case 2:
        return "CURRENT ROW";
      case 3:
        return offset + " FOLLOWING";
      default:
        return "UNBOUNDED FOLLOWING";
    }
  };
  const int start = choice_.Below(4);
  const int end = choice_.Between(start == 0 ? 1 : start, 4);
  Sql frame(0, {" " + mode + " BETWEEN " + bound(start) + " AND " + bound(end)});
  if (choice_.Chance(40)) {
    frame.parts.push_back(Optional({choice_.Of(
        Texts{" EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES", " EXCLUDE NO OTHERS"})}));
  }
  return Optional({std::move(frame)});
}

// What depends on the order of peers gets `unique` as the last key.
Sql QueryGenerator::WindowCall(SqlType type, const Scope& scope, const Sql& unique) {
  bool needs_order = true;
  bool frames = true;
  Sql call;
  const int kind = choice_.Below(3);
  if (kind == 0 && type == kBigInt) {
    call = choice_.Of(Texts{"row_number()", "rank()", "dense_rank()"});
    frames = false;
  } else if (kind == 0 && type == kDouble) {
    call = choice_.Of(Texts{"percent_rank()", "cume_dist()"});
    frames = false;
  } else if (kind == 0 && type == kInteger) {
    call = choice_.Of(Texts{"ntile(3)", "ntile(1)", "ntile(100)"});
    frames = false;
  } else if (kind == 1) {
    const Sql value = Leaf(type, scope);
    const Sql literal = Literal(type, choice_);
    switch (choice_.Below(4)) {
      case 0:
        call = {0, {"first_value(", value, ")"}};
        break;
      case 1:
        call = {0, {"last_value(", value, ")"}};
        break;
      case 2:
        call = {0, {"nth_value(", value, choice_.Of(Texts{", 1)", ", 2)", ", 4)"})}};
        break;
      default:
        call = {0,
                {choice_.Chance(50) ? "lag(" : "lead(", value,
                 choice_.Of(Texts{", 1", ", 0", ", 3", ", -1"}), Optional({", ", literal}), ")"}};
        frames = false;
    }
  } else {
    needs_order = false;
    do {
      call = Aggregate(type, scope);
    } while (call.ToString().find("DISTINCT") != std::string::npos ||
             call.ToString().find("string_agg") != std::string::npos);
    // FILTER stands inside the parentheses of a node, before OVER.
    if (call.ToString().starts_with("CAST(")) return WindowCall(type, scope, unique);
    call = Sql(0, std::vector<Sql>(call.parts.begin() + 1, call.parts.end() - 1));
  }
  const SqlType key = RandomType();
  const SqlType partition = RandomType();
  std::vector<Sql> keys = {Sql(0, {Leaf(key, scope), choice_.Of(kDirections)})};
  Sql frame = frames && choice_.Chance(60) ? Frame(key, !needs_order) : Sql("");
  const bool counts_rows = frame.ToString().starts_with(" ROWS");
  if (needs_order || counts_rows) keys.push_back(Sql(0, {unique}));
  if (choice_.Chance(20) && !needs_order && frame.ToString().empty()) keys.clear();
  Sql over(0, {" OVER ("});
  if (choice_.Chance(60)) over.parts.push_back(Optional({"PARTITION BY ", Leaf(partition, scope)}));
  if (!keys.empty()) over.parts.push_back(Sql(0, {" ORDER BY ", Sql(0, std::move(keys), ", ")}));
  over.parts.push_back(std::move(frame));
  over.parts.emplace_back(")");
  return {static_cast<char>(type), {"(", std::move(call), std::move(over), ")"}};
}

}  // namespace adjoin
