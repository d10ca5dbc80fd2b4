// One contraction: a join and a grouped SUM of products, of the shapes that a GPT step is made of.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "bench/workload.h"

namespace adjoin::bench {
namespace {

constexpr uint64_t kSeed = 5;

struct Product {
  int64_t count, m, n, k;
  bool left_transposed, right_transposed;  // (k,m) and (n,k) instead of (m,k) and (k,n)
};

// "MxNxK", plain layouts; or a name of bench/products.txt.
absl::StatusOr<Product> ProductByName(const std::string& name) {
  Product product = {1, 0, 0, 0, false, false};
  int length = 0;
  if (std::sscanf(name.c_str(), "%ldx%ldx%ld%n", &product.m, &product.n, &product.k, &length) ==
          3 &&
      static_cast<size_t>(length) == name.size() && std::min({product.m, product.n, product.k}) > 0)
    return product;
  std::ifstream file(ADJOIN_SOURCE_DIR "/bench/products.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string found, form;
    if (!(words >> found >> product.count >> product.m >> product.n >> product.k >> form)) continue;
    product.left_transposed = form == "tn";
    product.right_transposed = form == "nt";
    if (found == name) return product;
  }
  return absl::InvalidArgumentError("not MxNxK, nor a name of bench/products.txt: " + name);
}

gpt::Parameter Operand(const Product& product, const std::string& name,
                       std::vector<std::string> dims, std::vector<int64_t> extents,
                       bool transposed) {
  if (transposed) {
    std::swap(dims[0], dims[1]);
    std::swap(extents[0], extents[1]);
  }
  if (product.count > 1) {
    dims.insert(dims.begin(), "z");
    extents.insert(extents.begin(), product.count);
  }
  // Positive, so that the sums which are checked do not cancel.
  return {name, dims, extents, 0.5, 1.0};
}

// Sums over one dim of an operand, each element times one more than its index there: for every z
// and k. `first` is the operand's place in the stream of initial values.
std::vector<double> WeightedSums(const Product& product, int64_t first, int64_t extent,
                                 bool k_is_first) {
  std::vector<double> sums(static_cast<size_t>(product.count * product.k));
  const int64_t each = product.k * extent;
  int64_t at = 0;
  for (uint64_t bits : gpt::SplitMix64(kSeed, first, product.count * each)) {
    const int64_t cell = at % each;
    const int64_t k = k_is_first ? cell / extent : cell % product.k;
    const int64_t index = k_is_first ? cell % extent : cell / product.k;
    sums[static_cast<size_t>(at / each * product.k + k)] +=
        static_cast<double>(index + 1) * static_cast<double>(bits >> 11) * 0x1p-53;
    ++at;
  }
  return sums;
}

// SUM((i + 1) * (j + 1) * result), from the operands alone.
double ExpectedSum(const Product& product) {
  const auto left = WeightedSums(product, 0, product.m, product.left_transposed);
  const auto right = WeightedSums(product, product.count * product.k * product.m, product.n,
                                  !product.right_transposed);
  double sum = 0;
  for (size_t i = 0; i < left.size(); ++i) sum += left[i] * right[i];
  return sum;
}

absl::StatusOr<Workload> Contraction(const Options& options) {
  auto product = ProductByName(options.size);
  if (!product.ok()) return product.status();
  const std::vector<gpt::Parameter> operands = {
      Operand(*product, "a", {"i", "k"}, {product->m, product->k}, product->left_transposed),
      Operand(*product, "b", {"k", "j"}, {product->k, product->n}, product->right_transposed)};
  const bool many = product->count > 1;
  Workload workload;
  workload.statements = {absl::StrCat("SELECT ", many ? "a.z, " : "",
                                      "a.i, b.j, SUM(a.val * b.val) AS val ",
                                      "FROM a JOIN b ON b.k = a.k ", many ? "AND b.z = a.z " : "",
                                      "GROUP BY ", many ? "a.z, " : "", "a.i, b.j")};
  workload.flops = 2.0 * static_cast<double>(product->count * product->m) *
                   static_cast<double>(product->n * product->k);
  workload.create = [options, operands](api::Connection& connection) {
    return CreateTables(connection, operands, kSeed, options);
  };
  workload.after = {{"SELECT SUM((i + 1) * (j + 1) * CAST(val AS DOUBLE PRECISION)) FROM result",
                     ExpectedSum(*product)}};
  workload.left = {{"result", "SELECT * FROM result"}};
  return workload;
}

}  // namespace
}  // namespace adjoin::bench

int main(int argc, char** argv) {
  return adjoin::bench::Main(argc, argv, "contraction", "weight-gradient",
                             "MxNxK, or a name of bench/products.txt", adjoin::bench::Contraction);
}
