#include "bench/workloads.h"

int main(int argc, char** argv) {
  return adjoin::bench::Main(argc, argv, "attention", "512", "512 or 2048 positions",
                             adjoin::bench::Attention);
}
