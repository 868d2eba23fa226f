#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "monet/base/json.h"

namespace monet {

// How far figures of the model were from what somebody measured: data/validation/bands.json, made by
// tools/error_bands.py of what `monet validate` gives. Every row that could be compared is in its band, those that miss
// their aim too.

struct BandRow {
  std::string chip{}, workload{};
  double error = 0;  // ours over theirs, less one
};

struct ErrorBand {
  std::string figure{};      // latency or energy
  std::string mode{};        // training or inference
  bool is_measured = false;  // else theirs are figures of another model
  std::string of{};          // what theirs are
  std::string command{};     // what shows the rows
  std::vector<BandRow> rows{};

  double low() const, high() const, median() const;
  // The largest ratio of two figures of ours whose true order could be the other one if each was off by an error of
  // the band. An error that both share takes nothing away from their order.
  double span() const;
  std::vector<std::string> chips() const, workloads() const;  // each once

  // The same of rows of one workload on several chips: how far errors of chips differ where the workload is not the
  // reason. The workload for which it is largest; none: no workload was measured on several.
  struct SameWorkload {
    std::string workload{};
    std::vector<std::string> chips{};
    double span = 1;
  };
  std::optional<SameWorkload> same_workload() const;
};

std::vector<ErrorBand> read_error_bands(std::string_view json, const std::string& path);  // throws InputError
std::vector<ErrorBand> error_bands();                                                     // those that come with MONET

// The measured one for a figure; null: nobody measured it.
const ErrorBand* measured_band(const std::vector<ErrorBand>& bands, std::string_view figure, std::string_view mode);

// "latency, inference: -18.9 to -4.8 %, median -5.7 %, …": one line.
std::string text(const ErrorBand& band);
Json json(const ErrorBand& band);

}  // namespace monet
