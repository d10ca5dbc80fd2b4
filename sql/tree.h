// Reading libpg_query's JSON: fields that hold their default value are left out, so a missing one
// is 0, "" or empty.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace adjoin {

using Json = nlohmann::json;

// {"A_Const": {...}}: tag "A_Const" and its body. An empty tag for what is no such object. Borrows
// from the tree.
struct TreeNode {
  std::string_view tag;
  const Json* body;
};
TreeNode Unwrap(const Json& node);

const Json& FieldOf(const Json& body, const char* key);  // a null Json where absent
const Json& ListOf(const Json& body, const char* key);   // an empty array where absent
std::string TextOf(const Json& body, const char* key);
int64_t NumberOf(const Json& body, const char* key);
bool FlagOf(const Json& body, const char* key);
bool Has(const Json& body, const char* key);

std::string StringValue(const Json& node);  // of {"String": {"sval": "x"}}
std::string LastName(const Json& names);    // of a list of String nodes: "int4" of pg_catalog.int4
int LocationOf(const Json& body);           // byte offset; -1: none
int HighestParameter(const Json& tree);     // n of the highest $n in it; 0: none
// Where the expression begins in the text: `a` of `a + b`, whose own location is the operator's.
int StartOf(const Json& node);
// The same with the starts of the operands given.
int LeftmostStart(const Json& node, const std::function<int(const Json&)>& start_of);

}  // namespace adjoin
