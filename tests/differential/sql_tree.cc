#include "tests/differential/sql_tree.h"

#include <optional>

namespace adjoin {
namespace {

// All nodes, outer ones first, as paths of positions: a smaller tree has other paths.
using Path = std::vector<size_t>;

void CollectPaths(const Sql& sql, Path& path, std::vector<Path>& out) {
  out.push_back(path);
  for (size_t i = 0; i < sql.parts.size(); ++i) {
    path.push_back(i);
    CollectPaths(sql.parts[i], path, out);
    path.pop_back();
  }
}

Sql& At(Sql& sql, const Path& path) {
  Sql* node = &sql;
  for (size_t i : path) node = &node->parts[i];
  return *node;
}

// The outermost nodes of `kind` below `sql`.
void CollectInner(const Sql& sql, char kind, std::vector<Sql>& out) {
  for (const Sql& part : sql.parts) {
    if (part.kind == kind) {
      out.push_back(part);
    } else {
      CollectInner(part, kind, out);
    }
  }
}

std::vector<Sql> Smaller(const Sql& node) {
  std::vector<Sql> out;
  if (node.kind == Sql::kOptional && !node.parts.empty()) {
    out.emplace_back(Sql::kOptional, std::vector<Sql>{});
  } else if (node.kind == Sql::kList) {
    for (size_t i = 0; i < node.parts.size() && node.parts.size() > 1; ++i) {
      out.push_back(node);
      out.back().parts.erase(out.back().parts.begin() + static_cast<std::ptrdiff_t>(i));
    }
  } else if (node.kind != 0) {
    CollectInner(node, node.kind, out);
  }
  return out;
}

}  // namespace

std::string Sql::ToString() const {
  std::string out = text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i].ToString();
  }
  return out;
}

Sql Shrink(Sql sql, const std::function<bool(const Sql&)>& still_fails) {
  int tries_left = 2000;
  const auto shrink_once = [&]() -> std::optional<Sql> {
    std::vector<Path> paths;
    Path path;
    CollectPaths(sql, path, paths);
    for (const Path& at : paths) {
      for (Sql& replacement : Smaller(At(sql, at))) {
        if (tries_left-- <= 0) return std::nullopt;
        Sql candidate = sql;
        At(candidate, at) = std::move(replacement);
        if (still_fails(candidate)) return candidate;
      }
    }
    return std::nullopt;
  };
  while (std::optional<Sql> smaller = shrink_once()) sql = *std::move(smaller);
  return sql;
}

}  // namespace adjoin
