#include "bench/workloads.h"

int main(int argc, char** argv) {
  return adjoin::bench::Main(argc, argv, "gpt", "small", "small, base, deep or layers-N",
                             adjoin::bench::Gpt);
}
