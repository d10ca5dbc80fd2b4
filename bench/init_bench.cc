// The random tables that a decomposed model of L layers starts from: 14 L of 14 shapes, each made
// by one INSERT over its indices. A run makes all of them.
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/workload.h"

namespace adjoin::bench {
namespace {

// The weights of a layer at a sixteenth of their sizes.
struct Site {
  const char* name;
  int64_t in, out, rank;
};
constexpr Site kSites[] = {{"q", 256, 256, 384},   {"k", 256, 64, 128},     {"v", 256, 64, 192},
                           {"o", 256, 256, 256},   {"gate", 256, 896, 512}, {"up", 256, 896, 640},
                           {"down", 896, 256, 768}};
// SUM(val * val) of two tables of the first layer: JAX's, in f32.
constexpr double kSquaresOfK = 127.7264410910544, kSquaresOfDown = 256.89404903915823;

struct RandomTable {
  std::string name;
  int64_t rows, columns, key;  // the key's number among the children of key 0
};

std::vector<RandomTable> Tables(int layers) {
  std::vector<RandomTable> tables;
  for (int layer = 0; layer < layers; ++layer) {
    for (const Site& site : kSites) {
      const std::string name = absl::StrCat("h", layer, "_", site.name);
      const int64_t key = std::ssize(tables);
      tables.push_back({name + "_v", site.in, site.rank, key});
      tables.push_back({name + "_u", site.rank, site.out, key + 1});
    }
  }
  return tables;
}

std::string Insert(const RandomTable& table, std::string_view type) {
  return absl::StrFormat(
      "INSERT INTO %s SELECT i, j, random_normal(random_split(0, %d), i * %d + j, %.17g::%s) "
      "FROM generate_series(0, %d) AS a(i) CROSS JOIN generate_series(0, %d) AS b(j)",
      table.name, table.key, table.columns, std::pow(static_cast<double>(table.rows), -0.5),
      std::string(type), table.rows - 1, table.columns - 1);
}

absl::Status ForEach(api::Connection& connection, const std::vector<RandomTable>& tables,
                     const std::function<std::string(const RandomTable&)>& sql) {
  for (const RandomTable& table : tables) {
    if (auto done = connection.Query(sql(table)); !done.ok()) return done.status();
  }
  return absl::OkStatus();
}

absl::StatusOr<Workload> Init(const Options& options) {
  int layers = 0;
  if (!absl::SimpleAtoi(options.size, &layers) || layers < 1)
    return absl::InvalidArgumentError("no such number of layers: " + options.size);
  const std::vector<RandomTable> tables = Tables(layers);
  Workload workload;
  for (const RandomTable& table : tables) {
    workload.statements.push_back(Insert(table, options.SqlType()));
    workload.left.push_back({table.name, absl::StrCat("SELECT * FROM ", table.name)});
  }
  const auto layer = static_cast<ptrdiff_t>(2 * std::size(kSites));
  if (layers > 2) workload.left.erase(workload.left.begin() + layer, workload.left.end() - layer);
  workload.create = [tables, options](api::Connection& connection) {
    return ForEach(connection, tables, [&](const RandomTable& table) {
      return absl::StrCat("CREATE TABLE ", table.name, " (i BIGINT, j BIGINT, val ",
                          std::string(options.SqlType()), ", PRIMARY KEY (i, j))");
    });
  };
  workload.reset = [tables](api::Connection& connection) {
    return ForEach(connection, tables, [](const RandomTable& table) {
      return absl::StrCat("DELETE FROM ", table.name);
    });
  };
  if (options.dtype == "f32") {
    const auto squares = [](const std::string& table) {
      return absl::StrCat("SELECT SUM(val::DOUBLE PRECISION * val) FROM ", table);
    };
    workload.after = {{squares("h0_k_v"), kSquaresOfK}, {squares("h0_down_u"), kSquaresOfDown}};
  }
  return workload;
}

}  // namespace
}  // namespace adjoin::bench

int main(int argc, char** argv) {
  return adjoin::bench::Main(argc, argv, "init", "32", "layers, of 14 tables each",
                             adjoin::bench::Init);
}
