// Fits y = slope * x + intercept by gradient descent: one UPDATE, prepared once, that
// differentiates the loss query.
#include <cmath>
#include <cstdio>
#include <string>

#include "adjoin/database.h"
#include "adjoin/error.h"

constexpr char kTables[] = R"(
  CREATE TABLE points AS SELECT i / 10.0 AS x, 3.0 * (i / 10.0) + 1.0 AS y FROM generate_series(0, 20) AS s(i);
  CREATE TABLE line (id BIGINT PRIMARY KEY, slope DOUBLE PRECISION, intercept DOUBLE PRECISION);
  INSERT INTO line VALUES (0, 0.0, 0.0);)";
constexpr char kErrors[] =
    "WITH errors AS (SELECT id, slope * x + intercept - y AS e FROM line CROSS JOIN points), "
    "loss AS (SELECT AVG(e * e) AS l FROM errors) ";
constexpr char kStep[] =
    "UPDATE line SET slope = slope - 0.3 * grad(loss, slope), "
    "intercept = intercept - 0.3 * grad(loss, intercept)";

absl::StatusOr<adjoin::api::Table> Fit(adjoin::api::Connection& connection) {
  if (auto made = connection.Query(kTables); !made.ok()) return made.status();
  auto step = connection.Prepare(std::string(kErrors) + kStep);
  if (!step.ok()) return step.status();
  for (int i = 0; i < 200; ++i) {
    if (auto done = step->Run(); !done.ok()) return done.status();
  }
  auto result = connection.Query(std::string(kErrors) +
                                 "SELECT slope, intercept, l FROM line CROSS JOIN loss");
  if (!result.ok()) return result.status();
  return result->rows;
}

int main() {
  auto database = adjoin::api::Database::Open();
  if (!database.ok()) return std::puts(database.status().ToString().c_str()), 1;
  adjoin::api::Connection connection = database->Connect();
  auto fit = Fit(connection);
  if (!fit.ok()) return std::fputs(adjoin::api::FormatError(fit.status()).c_str(), stderr), 1;
  std::printf("y = %s * x + %s, loss %s\n", fit->ToText(0, 0).c_str(), fit->ToText(0, 1).c_str(),
              fit->ToText(0, 2).c_str());
  return std::abs((*fit->column_data<double>(0))[0] - 3.0) < 1e-3 ? 0 : 1;
}
