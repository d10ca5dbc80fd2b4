// examples/svgd of particles that are drawn, in the type that is asked for.
#include <array>
#include <fstream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "bench/workloads.h"

namespace adjoin::bench {
namespace {

// The same particles and partition as those of bench/jax/svgd.py. All tables of the update itself
// have the type that is asked for.
constexpr char kParticles[] = R"(
CREATE TABLE x (i BIGINT, c BIGINT, val DOUBLE PRECISION, PRIMARY KEY (i, c));
INSERT INTO x SELECT i, c, random_normal(0, i * 3 + c) * 1.2
FROM generate_series(0, $count - 1) AS a(i) CROSS JOIN generate_series(0, 2) AS b(c);
CREATE TABLE s (i BIGINT, c BIGINT, val DOUBLE PRECISION, PRIMARY KEY (i, c));
INSERT INTO s SELECT i, c, -val FROM x;
CREATE TABLE partition_by (leaf_size BIGINT, theta DOUBLE PRECISION);
INSERT INTO partition_by VALUES (32, 0.5);
CREATE TABLE bandwidth (id BIGINT PRIMARY KEY, h $type);
INSERT INTO bandwidth VALUES (0, 0.5);
)";

// Near pairs of leaves and the squares of the results: JAX's, in f64.
struct Reference {
  int64_t count, pairs;
  double forward, gradient;
};
constexpr std::array<Reference, 2> kReferences = {
    {{10000, 41069, 0.8160368768213302, 0.02144797331577173},
     {30000, 223665, 2.7456620138985395, 0.06153403878284393}}};

absl::StatusOr<std::string> ReadSql(const std::string& name) {
  const std::string path = absl::StrCat(ADJOIN_SOURCE_DIR "/examples/svgd/", name, ".sql");
  std::ifstream file(path);
  if (!file) return absl::NotFoundError("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::Status CreateParticles(api::Connection& connection, int64_t count, const Options& options) {
  const std::string type(options.SqlType());
  std::vector<std::string> scripts = {
      absl::StrReplaceAll(kParticles, {{"$count", absl::StrCat(count)}, {"$type", type}})};
  for (const char* name : {"partition", "particles", "stein"}) {
    auto text = ReadSql(name);
    if (!text.ok()) return text.status();
    const bool is_partition = absl::string_view(name) == "partition";
    scripts.push_back(
        absl::StrReplaceAll(*text, {{is_partition ? "apart DOUBLE PRECISION" : "DOUBLE PRECISION",
                                     is_partition ? "apart " + type : type}}));
  }
  for (const std::string& script : scripts) {
    if (auto done = connection.Query(script); !done.ok()) return done.status();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Workload> Svgd(const Options& options) {
  const std::pair<std::string, std::string> size =
      absl::StrSplit(options.size, absl::MaxSplits('-', 1));
  const bool forward = size.second == "forward";
  int64_t count = 0;
  if (!absl::SimpleAtoi(size.first, &count) || count < 2 || (!forward && !size.second.empty()))
    return absl::InvalidArgumentError("no such size: " + options.size + " (N or N-forward)");
  Workload workload;
  workload.statements = {forward ? "SELECT leaf, c, m, val FROM phi"
                                 : "SELECT leaf, c, m, grad(objective, x) AS val FROM particle"};
  workload.create = [options, count](api::Connection& connection) {
    return CreateParticles(connection, count, options);
  };
  workload.loss = "SELECT CAST(l AS DOUBLE PRECISION) FROM objective";
  for (const Reference& reference : kReferences) {
    if (reference.count != count) continue;
    const int64_t pairs = reference.pairs + (count + 31) / 32;
    workload.flops = static_cast<double>(pairs * 32 * 32) * 2 * (forward ? 8 : 20);
    workload.before = {{"SELECT COUNT(*)::DOUBLE PRECISION FROM near WHERE a < b",
                        static_cast<double>(reference.pairs)}};
    workload.after = {{"SELECT SUM(CAST(val AS DOUBLE PRECISION) ^ 2) FROM result",
                       forward ? reference.forward : reference.gradient}};
  }
  workload.left = {{"result",
                    "SELECT t.i, r.c, r.val FROM result r JOIN placed t ON t.leaf = r.leaf AND t.m "
                    "= r.m ORDER BY t.i, r.c"}};
  return workload;
}

}  // namespace adjoin::bench
