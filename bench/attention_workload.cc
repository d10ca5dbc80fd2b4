// One head of causal attention of 64 channels: forward, and the gradients of queries, keys and
// values.
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bench/workloads.h"

namespace adjoin::bench {
namespace {

constexpr int64_t kChannels = 64;

// i asks, j answers. The loss is half the square of the output, so that its cotangent is itself.
constexpr char kLoss[] = R"(WITH scores AS (
  SELECT q.i, k.j, SUM(q.val * k.val) / sqrt(COUNT(*)) AS val
  FROM q JOIN k ON k.d = q.d AND k.j <= q.i
  GROUP BY q.i, k.j
),
peaks AS (
  SELECT i, j, val, MAX(val) OVER (PARTITION BY i) AS peak FROM scores
),
weights AS (
  SELECT i, j, exp(val - peak) AS val FROM peaks
),
totals AS (
  SELECT i, j, val, SUM(val) OVER (PARTITION BY i) AS total FROM weights
),
o AS (
  SELECT a.i, v.d, SUM(a.val / a.total * v.val) AS val
  FROM totals a JOIN v ON v.j = a.j
  GROUP BY a.i, v.d
),
loss AS (
  SELECT SUM(0.5 * val * val) AS l FROM o
))";

// The loss and the squares of the gradients: JAX's, in f64.
struct Reference {
  const char* size;
  int64_t positions;
  double loss, q, k, v;
};
constexpr std::array<Reference, 2> kReferences = {
    {{"512", 512, 403.20837778323994, 406.19330147881107, 484.5693566145397, 805.5463129382244},
     {"2048", 2048, 588.6963265557561, 506.3661076808315, 629.4221085587818, 1441.7335202523298}}};

absl::Status CreateHead(api::Connection& connection, int64_t positions, const Options& options) {
  const double width = 3.4641016151377544;  // sqrt(12): a standard deviation of 1
  std::vector<gpt::Parameter> values;
  for (const char* name : {"q", "k", "v"}) {
    values.push_back({absl::StrCat(name, "_values"),
                      {name[0] == 'q' ? "i" : "j", "d"},
                      {positions, kChannels},
                      0,
                      width});
  }
  if (absl::Status made = CreateTables(connection, values, /*seed=*/3, options); !made.ok())
    return made;
  for (const gpt::Parameter& value : values) {
    auto made = connection.Query(absl::StrReplaceAll(
        "CREATE TABLE $name ($dim BIGINT, d BIGINT, val $type, gradient $type, PRIMARY KEY ($dim, "
        "d));"
        "INSERT INTO $name SELECT $dim, d, val, 0 FROM $name_values; DROP TABLE $name_values",
        {{"$name", value.name.substr(0, 1)},
         {"$dim", value.dims[0]},
         {"$type", std::string(options.SqlType())}}));
    if (!made.ok()) return made.status();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Workload> Attention(const Options& options) {
  for (const Reference& reference : kReferences) {
    if (options.size != reference.size) continue;
    const int64_t pairs = reference.positions * (reference.positions + 1) / 2;
    Workload workload;
    workload.statements = {absl::StrCat(kLoss, R"(,
of_q AS (UPDATE q SET gradient = grad(loss, val)),
of_k AS (UPDATE k SET gradient = grad(loss, val))
UPDATE v SET gradient = grad(loss, val))")};
    workload.flops = static_cast<double>(6 * 2 * pairs *
                                         kChannels);  // scores and output; four products backward
    workload.create = [options, positions = reference.positions](api::Connection& connection) {
      return CreateHead(connection, positions, options);
    };
    workload.loss = absl::StrCat(kLoss, " SELECT l FROM loss");
    workload.before = {{workload.loss, reference.loss}};
    for (const auto& [name, expected] :
         {std::pair{"q", reference.q}, {"k", reference.k}, {"v", reference.v}}) {
      workload.after.push_back(
          {absl::StrCat("SELECT SUM(CAST(gradient AS DOUBLE PRECISION) ^ 2) FROM ", name),
           expected});
      workload.left.push_back(
          {name, absl::StrCat("SELECT ", name[0] == 'q' ? "i" : "j", ", d, gradient FROM ", name)});
    }
    return workload;
  }
  return absl::InvalidArgumentError("no such size: " + options.size + " (512 or 2048)");
}

}  // namespace adjoin::bench
