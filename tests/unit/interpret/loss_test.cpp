#include "unit/interpret/arrays.h"

namespace monet {
namespace {

using V = std::vector<double>;
using A = Array<double>;

const A kLogits{{2, 3, 2}, {1, 0, 2, -1, 0.5, 3, 0, 1, 1, 1, 2, 1}};
const A kLabels{{2, 2}, {1, -100, 0, 2}};
const A kOne{{}, {1}};

// torch 1.13: cross_entropy(logits, labels, ignore_index=-100), mean and sum, and the mean's gradient
TEST(CrossEntropyLoss, AsInTorch) {
  const auto mean = evaluate_all<double>(CrossEntropy{}, {&kLogits, &kLabels});
  EXPECT_NEAR(mean[0].data[0], 1.323529012406812, 1e-14);
  EXPECT_NEAR(evaluate_one<double>(CrossEntropy{.mean = false}, {&kLogits, &kLabels}).data[0], 3.9705870372204357,
              1e-14);
  expect_near(mean[1], evaluate_one<double>(Softmax{1, true}, {&kLogits}), 1e-15);
  expect_near(evaluate_one<double>(CrossEntropyGradient{}, {&kOne, &mean[1], &kLabels}),
              {{2, 3, 2},
               {0.07707463254071634, 0, -0.12382276026274586, 0, 0.04674812772202949, 0, -0.30332314227653984,
                0.1111111111111111, 0.08157615701826587, 0.1111111111111111, 0.2217469852582739, -0.2222222222222222}},
              1e-13);
}

TEST(CrossEntropyLoss, IsLogSoftmaxAndNegativeLogLikelihood) {
  const A dloss{{}, {2.5}};
  for (const bool mean : {true, false}) {
    const A log_prob = evaluate_one<double>(Softmax{1, true}, {&kLogits});
    const A loss = evaluate_one<double>(NegativeLogLikelihood{.mean = mean}, {&log_prob, &kLabels});
    EXPECT_NEAR(loss.data[0], evaluate_one<double>(CrossEntropy{.mean = mean}, {&kLogits, &kLabels}).data[0], 1e-14);
    const A d = evaluate_one<double>(NegativeLogLikelihoodGradient{.mean = mean}, {&dloss, &log_prob, &kLabels});
    expect_near(d, numeric_gradient(NegativeLogLikelihood{.mean = mean}, {log_prob, kLabels}, 0, dloss), 1e-8);
    expect_near(evaluate_one<double>(SoftmaxGradient{1, true}, {&d, &log_prob}),
                evaluate_one<double>(CrossEntropyGradient{.mean = mean}, {&dloss, &log_prob, &kLabels}), 1e-13);
  }
}

TEST(CrossEntropyLoss, TheClassAxisOfAGradientMayStandElsewhere) {
  const A log_prob = evaluate_one<double>(Softmax{1, true}, {&kLogits});
  const A moved = evaluate_one<double>(Transpose{{0, 2, 1}}, {&log_prob});
  const A want = evaluate_one<double>(CrossEntropyGradient{}, {&kOne, &log_prob, &kLabels});
  const A got = evaluate_one<double>(CrossEntropyGradient{.axis = 2}, {&kOne, &moved, &kLabels});
  EXPECT_EQ(evaluate_one<double>(Transpose{{0, 2, 1}}, {&got}), want);
}

TEST(CrossEntropyLoss, WithEveryLabelIgnoredIsZero) {
  const A labels{{2, 2}, {5, 5, 5, 5}};
  const auto out = evaluate_all<double>(CrossEntropy{.ignore_index = 5}, {&kLogits, &labels});
  EXPECT_EQ(out[0].data[0], 0);
  const A d = evaluate_one<double>(CrossEntropyGradient{.ignore_index = 5}, {&kOne, &out[1], &labels});
  EXPECT_EQ(d.data, V(12, 0));
  EXPECT_EQ(evaluate_one<double>(NegativeLogLikelihoodGradient{.ignore_index = 5}, {&kOne, &out[1], &labels}).data,
            V(12, 0));
}

TEST(CrossEntropyLoss, LabelsOutOfRangeAreRefusedByName) {
  for (const double label : {3.0, -1.0, 1e300, std::nan("")}) {
    const A labels{{2, 2}, {0, 1, label, 0}};
    try {
      evaluate_all<double>(CrossEntropy{}, {&kLogits, &labels});
      FAIL() << label;
    } catch (const ValueError& error) {
      EXPECT_NE(std::string(error.what()).find("(number 2) is not among 3 classes"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace monet
