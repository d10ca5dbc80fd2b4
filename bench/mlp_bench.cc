#include "bench/workloads.h"

int main(int argc, char** argv) {
  return adjoin::bench::Main(argc, argv, "mlp", "mnist", "mnist", adjoin::bench::Mlp);
}
