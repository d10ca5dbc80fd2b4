// A generated SQL text that knows which of its parts could go, so that a failing one can be made
// small.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace adjoin {

// `parts` joined by `separator`. A node of a kind stands wherever another of its kind does: the
// kinds of expressions are their types (see SqlType), and kQuery is a query.
struct Sql {
  static constexpr char kQuery = 'q';
  static constexpr char kOptional = 'o';  // may be left out
  static constexpr char kList = ',';      // any part may be left out, but for the last one

  Sql() = default;
  Sql(const char* leaf) : text(leaf) {}             // NOLINT(google-explicit-constructor)
  Sql(std::string leaf) : text(std::move(leaf)) {}  // NOLINT(google-explicit-constructor)
  Sql(char node_kind, std::vector<Sql> node_parts, std::string between = "")
      : kind(node_kind), separator(std::move(between)), parts(std::move(node_parts)) {}

  std::string ToString() const;

  char kind = 0;
  std::string text;
  std::string separator;
  std::vector<Sql> parts;
};

inline Sql Optional(std::vector<Sql> parts) { return {Sql::kOptional, std::move(parts)}; }
inline Sql List(std::vector<Sql> items, std::string separator = ", ") {
  return {Sql::kList, std::move(items), std::move(separator)};
}

// Leaves out, and puts inner nodes in place of outer ones, as long as `still_fails` says so.
Sql Shrink(Sql sql, const std::function<bool(const Sql&)>& still_fails);

}  // namespace adjoin
