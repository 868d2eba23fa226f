#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "monet/base/rng.h"
#include "monet/interpret/run.h"
#include "monet/models/catalogue.h"

// Runs small models on numbers and compares with torch. tests/oracle/torch_models.py draws the same numbers by the same
// rules and prints tests/data/logits.txt.

namespace monet {
namespace {

std::vector<double> uniform(const std::string& name, std::int64_t count) {
  std::uint64_t stream = 0;
  for (const char c : name) stream = 31 * stream + static_cast<unsigned char>(c);
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(random_uniform(1, stream, static_cast<std::uint64_t>(i)));
  return values;
}

// `vocab` is the number of token ids; 0 for models without tokens.
Array<double> drawn(const Tensor& t, double vocab) {
  const std::int64_t count = elements(t.shape);
  Array<double> array{t.shape, uniform(t.name, count)};
  const bool vector = t.shape.size() == 1;
  const double reach = std::sqrt(3.0 * static_cast<double>(t.shape.front()) / static_cast<double>(count));
  for (double& u : array.data) {
    if (t.category == Category::Index)
      u = std::floor(u * (t.name == "token_type_ids" ? 2 : vocab));
    else if (t.category == Category::Input)
      u = 2 * u - 1;
    else if (t.name.ends_with("running_var") ||
             (vector && !t.name.ends_with("bias") && !t.name.ends_with("running_mean")))
      u += 0.5;
    else if (vector)
      u -= 0.5;
    else
      u = (2 * u - 1) * reach;
  }
  return array;
}

double checksum(const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * std::cos(static_cast<double>(i));
  return sum;
}

void compare_with_torch(const std::string& line) {
  std::istringstream words(line);
  std::string spec;
  double logits_sum = 0, states_sum = 0, first[3] = {};
  ASSERT_TRUE(words >> spec >> logits_sum >> states_sum >> first[0] >> first[1] >> first[2]) << line;
  const Graph graph = build_model(spec, 2);
  const std::size_t at = spec.find("vocab=");
  const double vocab = at == std::string::npos ? 0 : std::stod(spec.substr(at + 6));
  Values<double> given;
  for (const Tensor& t : graph.tensors)
    if (t.category == Category::Input || t.category == Category::Index || t.category == Category::Weight ||
        (t.category == Category::ModelState && t.overwrites == kNoTensor))
      given[t.name] = drawn(t, vocab);
  const Values<double> results = run<double>(graph, initial_values<double>(graph, 0, given));

  const std::vector<double>& logits = results.at(graph[graph.outputs[0]].name).data;
  const double scale = 1e-9 * (1 + std::abs(logits_sum));
  EXPECT_NEAR(checksum(logits), logits_sum, scale) << spec;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(logits[i], first[i], 1e-9 * (1 + std::abs(first[i]))) << spec;
  double states = 0;
  for (std::size_t i = 1; i < graph.outputs.size(); ++i)
    states += checksum(results.at(graph[graph.outputs[i]].name).data);
  EXPECT_NEAR(states, states_sum, 1e-9 * (1 + std::abs(states_sum))) << spec;
}

TEST(Forward, GivesTheLogitsAndStatisticsOfTorch) {
  std::ifstream in(MONET_TEST_DATA "/logits.txt");
  std::size_t models = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    compare_with_torch(line);
    ++models;
  }
  EXPECT_EQ(models, 17u);
}

}  // namespace
}  // namespace monet
