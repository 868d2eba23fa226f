#pragma once
#include <string>
#include <vector>

#include "monet/base/json.h"
#include "monet/report/document.h"

namespace monet {

// What differs between two runs of `evaluate`, and which parts make the difference.

struct Difference {
  std::string name{};
  double first = 0, second = 0;
  double change() const { return second - first; }
};

// A figure and the parts that sum to it (or are beside it), largest change first.
struct ComparedFigure {
  std::string title{}, unit{};
  Difference total{};
  std::vector<Difference> parts{};
};

struct RunComparison {
  std::string first{}, second{};       // folders
  std::vector<std::string> options{};  // "batch: 1, 8"
  std::vector<ComparedFigure> figures{};
  std::vector<DocumentInput> inputs{};
};

// Reads both folders' results. Throws InputError.
RunComparison compare_runs(const std::string& first, const std::string& second);
std::string text(const RunComparison& comparison);
Json json(const RunComparison& comparison);

}  // namespace monet
