#pragma once
#include <string>
#include <variant>
#include <vector>

#include "monet/base/json.h"
#include "monet/report/document.h"

namespace monet {

// Our figures beside those of a reference tool, case by case.

struct ValidateRequest {
  std::string suite = "zigzag";             // or stream, silicon, fusemax
  std::vector<std::string> cases{};         // JSON files; none: the cases that come with MONET
  std::vector<std::string> accelerators{};  // JSON files of accelerators by name, or single accelerator files
  std::vector<std::string> folders{};       // where the files stand that network cases name
};

// What the figure of a row would be with some of the effects only, or under another reading of what was measured.
struct ValidationEffect {
  std::string name{};
  double value = 0;
  bool is_alternative = false;
};

struct ValidationRow {
  std::string id{};
  std::string figure{};                                // the one that is furthest off; of equals the latency
  std::variant<double, std::string> ours{}, theirs{};  // text where there is no number: why it is infeasible
  double error = 0;                                    // (ours - theirs) / |theirs|; over 1 where theirs is 0
  std::size_t figures = 0;                             // compared
  bool matches = false;                                // all of them, each to its tolerance
  bool comparable = true;                              // false: the reference failed by accident where we have a figure
  std::vector<ValidationEffect> effects{};             // of measured cases
};

struct ValidationSuite {
  std::string name{};
  std::vector<ValidationRow> rows{};
  struct Skipped {
    std::string id{}, reason{};
    bool matters = true;  // false: a second look at what other cases show, too
  };
  std::vector<Skipped> skipped{};  // cases that could not be run

  std::size_t exact() const, uncomparable() const;
  double mean_abs_error() const, median_abs_error() const, worst_abs_error() const;
};

struct ValidateResult {
  std::string heading{};    // what is compared with what
  std::string agreement{};  // what it means that all agree
  std::vector<ValidationSuite> suites{};
  std::vector<DocumentInput> inputs{};
  bool is_measured = false;  // theirs are measurements: every row is shown, with its effects
  bool matches = false;      // every case was run and agrees
};

// Throws InputError.
ValidateResult validate(const ValidateRequest& request);
std::string text(const ValidateResult& result);
Json json(const ValidateResult& result);

}  // namespace monet
