#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "monet/base/json.h"
#include "monet/search/alike_tasks.h"
#include "monet/search/sensitivity.h"
#include "monet/verbs/evaluate.h"

namespace monet {

// Which chip of a space is best: for training, for inference, for each model and for all of them.

struct ExploreRequest {
  EvaluateRequest evaluate{};         // model: the first one; hardware: a space; plan and scale: none
  std::vector<std::string> models{};  // all of them; options of the models as in `evaluate`
  std::string space{};
  std::string strategy = "grid";  // random, quasi, nsga2, prune
  std::string objectives = "latency,energy";
  std::vector<std::string> also{};            // KIND=LIST: batch, recompute or fusion, and what else may be chosen
  std::optional<double> area_mm2{}, tdp_w{};  // limits beside those of the space
  std::size_t evaluations = 1000;             // candidates; not for the grid
  std::uint64_t seed = 1;
  std::optional<double> seconds{};
  std::string store{};               // a file for what is evaluated
  std::vector<std::string> merge{};  // folders of other runs of the same question
  bool resume = false;
  std::optional<double> sensitivity{};  // each constant that nobody states, smaller and larger by this part of it
  Watch watch{};
};

// What is explored, made of a request; parts refer to one another.
struct ExploreProblem {
  std::unique_ptr<hardware::Family> family{};
  std::unique_ptr<cost::Cache> cache{};
  std::unique_ptr<search::Exploration> exploration{};
  search::ExplorationGoal goal{};
  std::vector<Diagnostic> warnings{};
  std::vector<DocumentInput> inputs{};
  std::vector<std::vector<std::string>> dims{};  // by workload: the names of --dim that its model has
};
ExploreProblem explore_problem(const ExploreRequest& request);  // throws InputError
// Workloads are the models, each in the modes that were asked for.
std::string model_of(const ExploreRequest& request, std::size_t workload);
std::string mode_of(const ExploreRequest& request, std::size_t workload);  // training or inference
// Everything that a result depends on, and nothing that chooses which results there are.
std::string question_of(const ExploreRequest& request, const ExploreProblem& problem);

// Who runs tasks, those that are to be; `done` is to be told of each as it is finished, one at a time.
using Workforce = search::AlikeTasks::Work;

// What a rank did; of a run in one process there is none.
struct RankEffort {
  std::string host{};
  std::size_t threads = 1, tasks = 0;
  std::uint64_t mappings_searched = 0;
  double busy_s = 0, idle_s = 0;  // of its threads while there were tasks, in tasks and not
};

struct ExploreRun {
  ExploreProblem problem{};
  search::Explored found{};
  std::vector<solve::FrontVolume> volumes{};  // by workload
  solve::FrontVolume common_volume{};
  std::vector<search::Regret> regrets{};
  std::optional<search::Sensitivity> sensitivity{};
  std::size_t looked_up = 0;          // results that were in the store
  std::size_t shared = 0;             // points whose chip is that of another one, which was evaluated
  std::vector<RankEffort> efforts{};  // by rank
};

// Throws InputError. Without a workforce, on threads here.
ExploreRun explore(const ExploreRequest& request, ExploreProblem problem, const Workforce& workforce = {});

// How many points there are, and why some are not valid, without running anything.
struct SpaceCount {
  double points = 0;
  std::size_t looked_at = 0, valid = 0;  // all of them, or so many drawn at random where there are too many
  struct Broken {
    std::string what{};  // a constraint, or "the chip"
    std::size_t count = 0;
    std::string example{};  // values and figures of the first
  };
  std::vector<Broken> broken{};
  double least_area = 0, most_area = 0, least_tdp = 0, most_tdp = 0;  // of the valid ones
  bool has_power = false;                                             // else they have no clock
};
SpaceCount count_space(const ExploreProblem& problem, const ExploreRequest& request);

// What to give `evaluate` for a point in a mode: " --set x=4 --set y=2 --batch 8".
std::string flags_of(const ExploreRun& run, const search::Candidate& candidate, const std::string& mode);
// The plan of a point for a workload, as a file; empty: it is the default one.
std::string plan_yaml(const ExploreRun& run, const search::Candidate& candidate, std::size_t workload);
// Where it stands in the folder of a run: "chips/12.training.plan.yaml"; of several models with the number of its own.
std::string plan_name(const ExploreRequest& request, std::uint32_t point, std::size_t workload);
// The chip of a point, as a file.
std::string chip_yaml(const ExploreRun& run, const search::Candidate& candidate);

std::string text(const ExploreRun& run, const ExploreRequest& request);
std::string csv(const ExploreRun& run);
Json json(const ExploreRun& run, const ExploreRequest& request);
std::string text(const SpaceCount& count, const ExploreProblem& problem);
Json json(const SpaceCount& count);
Json options_json(const ExploreRequest& request);
// Mappings that were searched, by all ranks and by each: for `run` of the document, for they hang on who was faster.
std::vector<std::pair<std::string, Json>> effort_json(const ExploreRun& run);

}  // namespace monet
