// Stein's update of N particles over their near pairs (examples/svgd), or, with it, the gradient of
// the sum of its squares by their positions.
#include "bench/workloads.h"

int main(int argc, char** argv) {
  return adjoin::bench::Main(argc, argv, "svgd", "10000",
                             "N particles: the update and its gradient; N-forward: the update",
                             adjoin::bench::Svgd);
}
