#include "sql/tree.h"

#include <algorithm>
#include <vector>

namespace adjoin {
namespace {

const Json& Nothing() {
  static const Json nothing;
  return nothing;
}

const Json& EmptyList() {
  static const Json list = Json::array();
  return list;
}

int Leftmost(int a, int b) {
  if (a < 0) return b;
  if (b < 0) return a;
  return std::min(a, b);
}

}  // namespace

TreeNode Unwrap(const Json& node) {
  if (!node.is_object() || node.size() != 1) return {"", &Nothing()};
  return {node.begin().key(), &node.begin().value()};
}

const Json& FieldOf(const Json& body, const char* key) {
  if (!body.is_object()) return Nothing();
  const auto it = body.find(key);
  return it == body.end() ? Nothing() : *it;
}

const Json& ListOf(const Json& body, const char* key) {
  const Json& list = FieldOf(body, key);
  return list.is_array() ? list : EmptyList();
}

std::string TextOf(const Json& body, const char* key) {
  const Json& text = FieldOf(body, key);
  return text.is_string() ? text.get<std::string>() : std::string();
}

int64_t NumberOf(const Json& body, const char* key) {
  const Json& number = FieldOf(body, key);
  return number.is_number_integer() ? number.get<int64_t>() : 0;
}

bool FlagOf(const Json& body, const char* key) {
  const Json& flag = FieldOf(body, key);
  return flag.is_boolean() && flag.get<bool>();
}

bool Has(const Json& body, const char* key) { return !FieldOf(body, key).is_null(); }

std::string StringValue(const Json& node) { return TextOf(FieldOf(node, "String"), "sval"); }

std::string LastName(const Json& names) {
  return names.is_array() && !names.empty() ? StringValue(names.back()) : std::string();
}

int HighestParameter(const Json& tree) {
  int64_t highest = 0;
  std::vector<const Json*> rest = {&tree};
  while (!rest.empty()) {
    const Json& node = *rest.back();
    rest.pop_back();
    if (!node.is_structured()) continue;
    if (Has(node, "ParamRef")) highest = std::max(highest, NumberOf(node["ParamRef"], "number"));
    for (const Json& child : node) rest.push_back(&child);
  }
  return static_cast<int>(highest);
}

int LocationOf(const Json& body) { return static_cast<int>(NumberOf(body, "location")); }

int StartOf(const Json& node) { return LeftmostStart(node, StartOf); }

int LeftmostStart(const Json& node, const std::function<int(const Json&)>& start_of) {
  const auto [tag, body] = Unwrap(node);
  if (tag == "ResTarget") return start_of(FieldOf(*body, "val"));
  if (tag.empty() || tag == "List") return -1;
  int start = LocationOf(*body);
  for (const char* key : {"lexpr", "arg", "testexpr"}) {
    const Json& operand = FieldOf(*body, key);
    if (operand.is_object() && tag != "CaseExpr") start = Leftmost(start, start_of(operand));
  }
  if (tag == "BoolExpr" && !ListOf(*body, "args").empty()) {
    start = Leftmost(start, start_of(ListOf(*body, "args").front()));
  }
  return start;
}

}  // namespace adjoin
