// The models that more than one benchmark times, each as one statement: a training step, or the
// gradients of an attention or of particles.
#pragma once

#include "absl/status/statusor.h"
#include "bench/workload.h"

namespace adjoin::bench {

// An SGD step of the GPT: forward, backward and the update of every parameter. Sizes small, base,
// deep, layers-N.
absl::StatusOr<Workload> Gpt(const Options& options);

// One head of causal attention of 64 channels: forward, and the gradients of queries, keys and
// values. Sizes 512, 2048: positions.
absl::StatusOr<Workload> Attention(const Options& options);

// An SGD step of a perceptron for images of 28 x 28: 784 - 128 - 10, tanh, 128 images. Size mnist.
absl::StatusOr<Workload> Mlp(const Options& options);

// An SGD step of examples/models/<size>.sql on its tables in tests/data: kmeans or factorization,
// in f64.
absl::StatusOr<Workload> SmallModel(const Options& options);

// Stein's update of particles over their near pairs (examples/svgd): size N-forward, or N: the
// gradient of the sum of its squares by the positions of N particles.
absl::StatusOr<Workload> Svgd(const Options& options);

}  // namespace adjoin::bench
