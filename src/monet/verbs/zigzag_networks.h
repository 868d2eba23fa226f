#pragma once
#include <string>
#include <vector>

#include "monet/base/config.h"
#include "monet/cost/layer.h"
#include "monet/graph/graph.h"
#include "monet/verbs/validate.h"
#include "monet/verbs/zigzag_cases.h"

namespace monet {

// Whole networks as ZigZag runs them: every layer searched alone, totals are sums over layers.

// Files by the names that cases call them, in the folders given and below, nearest first.
class FileFinder {
 public:
  explicit FileFinder(std::vector<std::string> folders);
  // The files that `name` (workload/resnet18.yaml) may mean: those that end so, else those of the same last part.
  std::vector<std::string> find(const std::string& name) const;

 private:
  std::vector<std::string> files_;
};

// Appends a row for each entry of `measured` (and each of its layers) and of `expectations`.
void run_networks(const config::Value& root, Accelerators& accelerators, const FileFinder& files,
                  ValidationSuite& suite);

// The layers ZigZag's ONNX front end makes of a model: convolutions and matrix products, in 8 bits with sums of 16;
// everything else is free. Its loop dimensions keep their order, and non-square kernels their exchanged axes.
std::vector<cost::Layer> zigzag_layers(const Graph& graph);

}  // namespace monet
