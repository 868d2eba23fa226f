// The command line: one table of options per verb, then the verb. CLI11 stays in this file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>

#include "monet/base/nearest.h"
#include "monet/cli/commands.h"
#include "monet/cli/commands_cost.h"
#include "monet/cli/commands_evaluate.h"
#include "monet/cli/commands_search.h"
#include "monet/cli/flag_values.h"
#include "monet/cli/given_flags.h"
#include "monet/mpi/launch.h"
#include "monet/report/document.h"

namespace {

using namespace monet;
using namespace monet::cli;

// Strings first, so that bad numbers are reported in our words; converted by `finish`.
struct RawModel {
  std::string batch, microbatches;
  std::vector<std::string> dims;
  std::string clip;
};

void add_output_options(CLI::App& app, Output& output) {
  app.add_flag("--json", output.json, "machine-readable result on stdout");
  app.add_flag("--quiet", output.quiet, "no progress, no warnings");
}

constexpr const char* kModelHelp = "built-in name with options (resnet18:image=32), ONNX file, or text graph (.monet)";

// All but the model itself.
void add_model_flags(CLI::App& app, ModelRequest& m, RawModel& raw) {
  app.add_option("--batch", raw.batch, "samples per iteration (default 1, or what the file says)");
  app.add_option("--microbatches", raw.microbatches, "gradient accumulation over this many parts of the batch");
  app.add_option("--dim", raw.dims, "name=value for a symbolic ONNX dimension; can be repeated");
  app.add_option("--optimizer", m.optimizer,
                 "sgd, momentum, nesterov, adam, adamw; options as in adamw:lr=0.001,wd=0.01")
      ->capture_default_str();
  app.add_option("--loss", m.loss, "cross_entropy or mse")->capture_default_str();
  app.add_option("--train", m.train,
                 "all, none (inference), last, lora:rank=R, or an expression searched in weight names")
      ->capture_default_str();
  app.add_option("--precision", m.precision,
                 "fp16 (default for training), bf16, fp32, fp64; master weights are kept for formats below fp32");
  app.add_option("--save", m.save,
                 "what is saved for the backward pass: lean (the least) or torch (what PyTorch saves)")
      ->capture_default_str();
  app.add_option("--attention", m.attention, "written, or online (softmax without stored scores)")
      ->capture_default_str();
  app.add_option("--recompute", m.recompute,
                 "drop saved activations and rebuild them: all, or an expression searched in their names");
  app.add_flag("--recompute-per-consumer", m.recompute_per_consumer, "rebuild for each reader instead of once");
  app.add_flag("--fold-batch-norm", m.fold_batch_norm, "fold frozen batch-norms into convolutions");
  app.add_option("--clip", raw.clip, "clip gradients to this global norm");
  app.add_flag("--loss-scaling", m.loss_scaling, "dynamic loss scale with overflow check");
  app.add_flag("--strict", m.strict, "an operator without a rule is an error, not an estimate");
}

void add_model_options(CLI::App& app, ModelRequest& m, RawModel& raw) {
  app.add_option("MODEL", m.model, kModelHelp)->required();
  add_model_flags(app, m, raw);
}

struct RawMap {
  RawModel model;
  std::string spatials, threads, time;
  std::vector<std::string> settings;
};

void add_map_options(CLI::App& app, MapRequest& r, RawMap& raw) {
  app.add_option("--on", r.hardware, "a built-in chip or a YAML file; CHIP/core for one of its cores");
  app.add_option("--set", raw.settings, "name=value for a parameter of the chip's file; can be repeated");
  app.add_option("--phase", r.layer.phase, "of conv: and gemm:: forward, dgrad or wgrad")->capture_default_str();
  app.add_option("--bits", r.layer.bits,
                 "STORED/SUMS, such as 8/16; default: the model's, as far as the core holds them");
  app.add_option("--mapping", r.mapping, "a ZigZag or Stream mapping file");
  app.add_option("--order", r.order, "loops from the inside out: \"C2 FX3 * OY*\"; the rest is searched");
  app.add_option("--spatial", r.spatial, "loops per array dimension: \"D1=K32 D2=C8,FX3\"");
  app.add_option("--placement", r.placement,
                 "loops inside of which a memory keeps its tile: \"W@rf=K2 C3; I@sram=OX4\"");
  app.add_option("--criterion", r.criterion, "latency, energy or edp")->capture_default_str();
  app.add_option("--quirks", r.quirks, "reproduce defects of a reference tool: zigzag, or names (docs/cost.md)");
  app.add_option("--lpf", r.lpf,
                 "with --quirks zigzag: most loops to order, or none for all prime factors (default 6)");
  app.add_flag("--even", r.even, "with --quirks zigzag: operands that share a memory keep the same loops in it");
  app.add_option("--threads", raw.threads, "layers worked on at once (default: as many as there are cores)");
  app.add_option("--spatials", raw.spatials, "unrollings to compare where none is given (default 3)");
  app.add_flag("--mixed", r.mixed, "several loops on one array dimension, where none is given");
  app.add_option("--batch", raw.model.batch, "of MODEL/node: samples per iteration");
  app.add_option("--dim", raw.model.dims, "of MODEL/node: name=value for a symbolic ONNX dimension");
  app.add_option("--train", r.layer.model.train, "of MODEL/node: all, none (inference), last, …")
      ->capture_default_str();
  app.add_option("--precision", r.layer.model.precision,
                 "of MODEL/node: fp16 (default for training), bf16, fp32, fp64");
  app.add_option("--attention", r.layer.model.attention, "of MODEL/node: written, or online")->capture_default_str();
}

void finish(ModelRequest& m, const RawModel& raw) {
  if (!raw.batch.empty()) m.batch = positive("--batch", raw.batch);
  if (!raw.microbatches.empty()) m.microbatches = positive("--microbatches", raw.microbatches);
  for (const std::string& item : raw.dims) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0)
      throw InputError(Diagnostic{.where = "--dim", .message = fmt::format("'{}' is not name=value", item)});
    m.dims[item.substr(0, equals)] = positive("--dim " + item.substr(0, equals), item.substr(equals + 1));
  }
  if (!raw.clip.empty()) m.clip_norm = above_zero("--clip", raw.clip);
}

std::vector<std::pair<std::string, std::string>> settings_of(const std::vector<std::string>& items) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const std::string& item : items) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0)
      throw InputError(Diagnostic{.where = "--set", .message = fmt::format("'{}' is not name=value", item)});
    for (const auto& [name, value] : settings)
      if (name == item.substr(0, equals))
        throw InputError(Diagnostic{.where = "--set", .message = fmt::format("'{}' is set twice", name)});
    settings.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  return settings;
}

void finish(MapRequest& r, const RawMap& raw) {
  finish(r.layer.model, raw.model);
  if (!raw.spatials.empty()) r.spatials = positive("--spatials", raw.spatials);
  if (!raw.time.empty()) r.time_s = seconds("--time", raw.time);
  if (!raw.threads.empty()) r.threads = static_cast<std::size_t>(positive("--threads", raw.threads));
  r.parameters = settings_of(raw.settings);
}

// Whether the second of two values is asked for.
bool is_second(const std::string& flag, const std::string& value, const std::string& first, const std::string& second) {
  if (value != first && value != second)
    throw InputError(Diagnostic{.where = flag,
                                .message = fmt::format("unknown value '{}'", value),
                                .hint = fmt::format("known: {}, {}", first, second)});
  return value == second;
}

struct RawEvaluate {
  RawModel model;
  std::string iterations, threads, wgrad = "direct", updates = "steps";
  std::vector<std::string> settings;
};

// What does not name a chip or a plan.
void add_evaluate_flags(CLI::App& app, EvaluateRequest& r, RawEvaluate& raw) {
  app.add_option("--mode", r.mode, "training, inference or both")->capture_default_str();
  app.add_option("--wgrad", raw.wgrad, "convolution weight gradients as loop nests (direct) or by im2col")
      ->capture_default_str();
  app.add_option("--updates", raw.updates,
                 "element-wise steps of a weight's update as single nodes (steps) or as one (fused)")
      ->capture_default_str();
  app.add_option("--cache", r.cache, "a file of mappings found before: read if it is there, written with what is new");
  app.add_option("--threads", raw.threads, "mappings searched at once (default: as many as there are cores)");
}

void add_evaluate_options(CLI::App& app, EvaluateRequest& r, RawEvaluate& raw) {
  add_model_options(app, r.model, raw.model);
  app.add_option("--on", r.hardware, "a built-in chip or a YAML file")->required();
  app.add_option("--set", raw.settings,
                 "name=value for a parameter of the chip's file, or a field (cores.x.array.…); can be repeated");
  app.add_option("--plan", r.plan, "a plan (docs/plan.md) or a Stream mapping file; what it leaves out is decided");
  app.add_option("--stacks", r.stacks, "fused groups of layers: \"[(0, 1, 2), (3,)]\", by number or name");
  app.add_option("--iterations", raw.iterations, "so many iterations one after the other (default 1)");
  add_evaluate_flags(app, r, raw);
}

void finish(EvaluateRequest& r, const RawEvaluate& raw) {
  finish(r.model, raw.model);
  r.im2col_weight_gradient = is_second("--wgrad", raw.wgrad, "direct", "im2col");
  r.fused_updates = is_second("--updates", raw.updates, "steps", "fused");
  if (!raw.iterations.empty()) r.iterations = positive("--iterations", raw.iterations);
  if (!raw.threads.empty()) r.threads = static_cast<std::size_t>(positive("--threads", raw.threads));
  r.parameters = settings_of(raw.settings);
}

// What the verb does not know, with the nearest of its own options.
[[noreturn]] void refuse_extras(const CLI::App& app) {
  std::vector<Diagnostic> found;
  for (const CLI::App* verb : app.get_subcommands()) {
    std::vector<std::string> options;
    for (const CLI::Option* option : verb->get_options())
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
    for (const std::string& word : verb->remaining())
      found.push_back(
          {.where = "monet " + verb->get_name(),
           .message = fmt::format("unknown {} '{}'", word.starts_with("-") ? "option" : "argument", word),
           .hint = did_you_mean(word, options, fmt::format("monet {} --help lists the options", verb->get_name()))});
  }
  if (found.empty())
    found.push_back({.where = "monet", .message = "arguments were not understood", .hint = "monet --help"});
  throw InputError(std::move(found));
}

int parse_and_run(int argc, char** argv, const mpi::Launch& launch) {
  CLI::App app{"MONET models and optimises the training of neural networks on dataflow accelerators."};
  app.set_version_flag("--version", version());
  app.require_subcommand(1);
  app.fallthrough(false);

  Output output;
  RawModel raw;
  int code = 0;

  std::string model_name;
  CLI::App* models = app.add_subcommand("models", "the built-in models and their options");
  models->add_option("NAME", model_name, "one model");
  add_output_options(*models, output);
  models->callback([&] { code = run_models(model_name, output); });

  HardwareCommand hardware_command;
  std::vector<std::string> settings;
  CLI::App* chips = app.add_subcommand("hardware", "the built-in chips, or what was understood of one");
  chips->add_option("NAME", hardware_command.request.hardware,
                    "a built-in chip, or a YAML file (MONET's own, ZigZag's, Stream's)");
  chips->add_option("--set", settings, "name=value for a parameter of the file; can be repeated");
  chips->add_flag("--yaml", hardware_command.yaml, "print the chip as a file of MONET's own form");
  add_output_options(*chips, output);
  chips->callback([&] {
    hardware_command.request.parameters = settings_of(settings);
    code = run_hardware(hardware_command, output);
  });

  GraphCommand graph_command;
  std::string wgrad = "direct";
  CLI::App* graph = app.add_subcommand("graph", "what one training iteration consists of");
  add_model_options(*graph, graph_command.request.model, raw);
  graph->add_option("--write", graph_command.request.write, "write the iteration as standard ONNX");
  graph->add_flag("--weights", graph_command.request.weights,
                  "with --write: store the weights' values (random ones for built-in models)");
  graph->add_flag("--text", graph_command.text, "print the graph itself");
  graph->add_flag("--decompose", graph_command.request.decomposed,
                  "with --write or --text: every node one loop nest or one vector work");
  graph
      ->add_option(
          "--wgrad", wgrad,
          "convolution weight gradients as their own loop nests (direct) or as im2col and a matrix product (im2col)")
      ->capture_default_str();
  add_output_options(*graph, output);
  graph->callback([&] {
    finish(graph_command.request.model, raw);
    graph_command.request.im2col_weight_gradient = is_second("--wgrad", wgrad, "direct", "im2col");
    code = run_graph(graph_command, output);
  });

  VerifyRequest verify_request;
  std::string samples, steps, seed;
  CLI::App* verify = app.add_subcommand("verify", "are the gradients right, on numbers? With --on: is the schedule?");
  VerifyScheduleRequest schedule_request;
  RawEvaluate raw_verify;
  add_evaluate_options(*verify, schedule_request.evaluate, raw_verify);
  verify->get_option("--on")->required(false);
  verify->add_option("--samples", samples, "directions tried per weight (default 2)");
  verify->add_option("--steps", steps, "optimizer steps to run (default 3)");
  verify->add_option("--seed", seed, "of the random weights, inputs and directions (default 1)");
  add_output_options(*verify, output);
  verify->callback([&] {
    if (schedule_request.evaluate.hardware.empty())
      refuse_given(*verify,
                   {"--plan", "--stacks", "--iterations", "--mode", "--set", "--wgrad", "--updates", "--cache"},
                   "is for a schedule, and none is verified", "add --on CHIP, or leave it out");
    else
      refuse_given(*verify, {"--samples", "--steps"}, "is for gradients: a schedule is carried out once",
                   "leave it out, or --on");
    finish(schedule_request.evaluate, raw_verify);
    verify_request.model = schedule_request.evaluate.model;
    if (!samples.empty()) verify_request.samples = positive("--samples", samples);
    if (!steps.empty()) verify_request.steps = positive("--steps", steps);
    if (!seed.empty()) verify_request.seed = static_cast<std::uint64_t>(positive("--seed", seed));
    schedule_request.seed = verify_request.seed;
    code = schedule_request.evaluate.hardware.empty() ? run_verify(verify_request, output)
                                                      : run_verify_schedule(schedule_request, output);
  });

  std::vector<std::string> files;
  CLI::App* check = app.add_subcommand("check", "is this input sound?");
  check
      ->add_option("FILE", files,
                   "files MONET reads: ONNX models (.onnx), text graphs (.monet), hardware, plan, space, fusion "
                   "rule, mapping and workload files (.yaml, .json)")
      ->required();
  add_output_options(*check, output);
  check->callback([&] { code = run_check(files, output); });

  MapCommand map_command;
  RawMap raw_map;
  CLI::App* map = app.add_subcommand("map", "what one layer costs on one core, under a given or the best mapping");
  map->add_option("LAYER", map_command.request.layer.layer,
                  "conv:k=64,c=64,oy=56,ox=56,fy=3,fx=3, gemm:b=1,d=256,k=512,c=512, MODEL/node, or a ZigZag workload "
                  "file (FILE/name: one layer)")
      ->required();
  add_map_options(*map, map_command.request, raw_map);
  map->get_option("--on")->required();
  map->add_option("--time", raw_map.time, "seconds for the whole search; then the best found so far is given");
  map->add_option("--cache", map_command.request.cache,
                  "a file of mappings found before: read if it is there, written with what is new");
  map->add_option("--out", map_command.out, "write the result into this folder (for explain)");
  add_output_options(*map, output);
  map->callback([&] {
    finish(map_command.request, raw_map);
    code = run_map(map_command, output);
  });

  EvaluateCommand evaluate_command;
  RawEvaluate raw_evaluate;
  CLI::App* evaluate =
      app.add_subcommand("evaluate", "latency, energy and memory over time of one iteration on a chip");
  add_evaluate_options(*evaluate, evaluate_command.request, raw_evaluate);
  evaluate->add_option("--out", evaluate_command.out,
                       "write result.json, plan.yaml and report.html into this folder (for explain and compare)");
  evaluate->add_option("--quirks", evaluate_command.quirks,
                       "stream: the schedule that Stream makes, defects included, of a mapping file (inference only)");
  evaluate->add_option("--trace", evaluate_command.trace, "write the timeline for ui.perfetto.dev or chrome://tracing");
  add_output_options(*evaluate, output);
  evaluate->callback([&] {
    finish(evaluate_command.request, raw_evaluate);
    code = run_evaluate(evaluate_command, output);
  });

  SweepCommand sweep_command;
  RawEvaluate raw_sweep;
  CLI::App* sweep =
      app.add_subcommand("sweep", "how an evaluation moves with batch, sequence length, bandwidth, memory, …");
  add_evaluate_options(*sweep, sweep_command.request.base, raw_sweep);
  sweep
      ->add_option(
          "--vary", sweep_command.request.vary,
          "NAME=V1,V2,…: batch, microbatches, optimizer, precision, an option of the model, a --dim, a parameter "
          "of the chip, or a factor on its offchip_bandwidth, link_bandwidth or onchip_memory; can be repeated")
      ->required();
  sweep->add_option("--out", sweep_command.out, "write result.json and points.csv into this folder");
  add_output_options(*sweep, output);
  sweep->callback([&] {
    finish(sweep_command.request.base, raw_sweep);
    code = run_sweep(sweep_command, output);
  });

  FuseCommand fuse_command;
  RawEvaluate raw_fuse;
  std::string fuse_limit, fuse_evaluations, fuse_time, fuse_seed;
  CLI::App* fuse = app.add_subcommand("fuse", "the best fusion of an iteration's operators on a chip");
  add_evaluate_options(*fuse, fuse_command.request.evaluate, raw_fuse);
  fuse->get_option("--plan")->description(
      "groups by hand, to compare with: a plan (docs/plan.md) or a Stream mapping file");
  fuse->add_option("--rules", fuse_command.request.rules,
                   "which groups are allowed: default, monet, stream, or a file (docs/fuse.md)")
      ->capture_default_str();
  fuse->add_option("--limit", fuse_limit, "nodes in a group, at most (default: as the rules say)");
  fuse->add_option("--objective", fuse_command.request.objective,
                   "what is made small: groups, traffic, latency or energy")
      ->capture_default_str();
  fuse->add_flag("--refine", fuse_command.request.refine,
                 "improve the result step by step, each priced by the whole scheduler");
  fuse->add_option("--place", fuse_command.request.place,
                   "then choose the cores of each layer: local, ga (as Stream) or exact (default: cores by default)");
  fuse->add_option("--place-objective", fuse_command.request.place_objective,
                   "what --place makes small: latency, energy or edp (default: as --objective, else latency)");
  fuse->add_option("--evaluations", fuse_evaluations, "with --refine or --place: at most so many each (default 200)");
  fuse->add_option("--seed", fuse_seed, "of --place ga (default 1)");
  fuse->add_option("--time", fuse_time, "seconds; then the best found so far is given");
  fuse->add_option("--out", fuse_command.out, "write result.json and plan.yaml (for evaluate --plan) into this folder");
  add_output_options(*fuse, output);
  fuse->callback([&] {
    const bool places = !fuse_command.request.place.empty();
    if (!places && !fuse_command.request.refine)
      refuse_given(*fuse, {"--evaluations"}, "is for --refine and --place", "add one of them, or leave it out");
    if (!places) refuse_given(*fuse, {"--seed", "--place-objective"}, "is for --place", "add it, or leave it out");
    finish(fuse_command.request.evaluate, raw_fuse);
    if (!fuse_limit.empty())
      fuse_command.request.limit =
          static_cast<std::uint32_t>(std::min<std::int64_t>(positive("--limit", fuse_limit), 1'000));
    if (!fuse_evaluations.empty())
      fuse_command.request.evaluations = static_cast<std::size_t>(positive("--evaluations", fuse_evaluations));
    if (!fuse_seed.empty()) fuse_command.request.seed = static_cast<std::uint64_t>(positive("--seed", fuse_seed));
    if (!fuse_time.empty()) fuse_command.request.seconds = seconds("--time", fuse_time);
    code = run_fuse(fuse_command, output);
  });

  CheckpointCommand checkpoint_command;
  RawEvaluate raw_checkpoint;
  std::string checkpoint_evaluations, checkpoint_time, checkpoint_fit, checkpoint_seed, checkpoint_share,
      checkpoint_stagnation;
  CLI::App* checkpoint = app.add_subcommand(
      "checkpoint", "which saved activations to keep, recompute or spill: the front of latency, energy and memory");
  add_evaluate_options(*checkpoint, checkpoint_command.request.evaluate, raw_checkpoint);
  const std::vector<const CLI::Option*> checkpoint_shared =
      options_but(*checkpoint, {"on", "batch", "plan", "stacks", "mode", "threads", "cache"});
  checkpoint->get_option("--plan")->description(
      "groups of the iteration as it is: a plan (docs/plan.md), as fuse writes it");
  checkpoint
      ->add_option("--strategy", checkpoint_command.request.strategy,
                   "nsga2, exhaustive, baselines, or one of them by name (docs/checkpoint.md)")
      ->capture_default_str();
  checkpoint
      ->add_option("--decide", checkpoint_command.request.decide,
                   "what may be done beside keeping: recompute, recompute_each, recompute_tiles, spill, a format "
                   "(f8e4m3, …), between commas")
      ->capture_default_str();
  checkpoint->add_option("--also", checkpoint_command.request.also,
                         "decided together with it: fusion=LIMITS, tiles=TIMES, cores=latency,energy, batch=SIZES "
                         "(docs/checkpoint.md)");
  checkpoint->add_option("--least-share", checkpoint_share,
                         "activations below this part of all saved bytes are kept (default 0.001)");
  checkpoint
      ->add_option("--memory", checkpoint_command.request.memory, "whose peak counts: total, or a memory of the chip")
      ->capture_default_str();
  checkpoint->add_option("--fit", checkpoint_fit,
                         "BYTES (or 13MB, 12MiB): the least slowdown whose peak is not above it");
  checkpoint->add_option("--evaluations", checkpoint_evaluations, "at most so many (default 1000)");
  checkpoint->add_option("--stagnation", checkpoint_stagnation,
                         "end after so many generations without a change of the front (default: never)");
  checkpoint->add_option("--time", checkpoint_time, "seconds; then the best found so far is given");
  checkpoint->add_option("--seed", checkpoint_seed, "of the search (default 1)");
  checkpoint->add_option(
      "--out", checkpoint_command.out,
      "write result.json, points.csv, plans (for evaluate --plan) and every evaluation into this folder");
  checkpoint->add_flag("--resume", checkpoint_command.request.resume, "go on with the evaluations in --out");
  add_output_options(*checkpoint, output);
  checkpoint->callback([&] {
    CheckpointRequest& r = checkpoint_command.request;
    if (r.strategy != "nsga2")
      refuse_given(*checkpoint, {"--evaluations", "--seed", "--stagnation"}, "is for --strategy nsga2",
                   "the others try what they have to; leave it out");
    checkpoint_command.flags = given(checkpoint_shared);
    finish(r.evaluate, raw_checkpoint);
    if (!checkpoint_evaluations.empty())
      r.evaluations = static_cast<std::size_t>(positive("--evaluations", checkpoint_evaluations));
    if (!checkpoint_stagnation.empty())
      r.stagnation = static_cast<std::size_t>(positive("--stagnation", checkpoint_stagnation));
    if (!checkpoint_time.empty()) r.seconds = seconds("--time", checkpoint_time);
    if (!checkpoint_fit.empty()) r.fit_bytes = byte_size("--fit", checkpoint_fit);
    if (!checkpoint_seed.empty()) r.seed = static_cast<std::uint64_t>(positive("--seed", checkpoint_seed));
    if (!checkpoint_share.empty()) r.least_share = share("--least-share", checkpoint_share);
    code = run_checkpoint(checkpoint_command, output);
  });

  ExploreCommand explore_command;
  RawEvaluate raw_explore;
  std::string explore_evaluations, explore_time, explore_seed, explore_area, explore_tdp, explore_sensitivity;
  CLI::App* explore = app.add_subcommand("explore", "which chip of a space is best, for training and for inference");
  explore->add_option("MODEL", explore_command.request.models, kModelHelp);
  add_model_flags(*explore, explore_command.request.evaluate.model, raw_explore.model);
  explore->add_option("--space", explore_command.request.space,
                      "a built-in space of chips or a YAML file (docs/explore.md)");
  explore_command.request.evaluate.mode = "both";
  raw_explore.updates = "fused";
  add_evaluate_flags(*explore, explore_command.request.evaluate, raw_explore);
  const std::vector<const CLI::Option*> explore_shared =
      options_but(*explore, {"space", "mode", "updates", "threads", "cache"});
  explore->get_option("--threads")->description("points evaluated at once (default: as many as there are cores)");
  explore
      ->add_option("--strategy", explore_command.request.strategy,
                   "grid (all points), prune (all that could be on a front), random, quasi (spread evenly) or nsga2")
      ->capture_default_str();
  explore
      ->add_option("--objectives", explore_command.request.objectives,
                   "what fronts are of: latency, energy, area, tdp, peak, between commas")
      ->capture_default_str();
  explore->add_option("--also", explore_command.request.also,
                      "decided together with the chip: batch=SIZES, recompute=all,REGEX, fusion=LIMITS");
  explore->add_option("--area", explore_area, "mm2: chips above it are not valid");
  explore->add_option("--tdp", explore_tdp, "W: chips above it are not valid");
  explore->add_option("--evaluations", explore_evaluations, "random, quasi, nsga2: points at most (default 1000)");
  explore->add_option("--time", explore_time, "seconds; then what was found so far is given");
  explore->add_option("--seed", explore_seed, "of the search (default 1)");
  explore->add_option("--out", explore_command.out,
                      "write result.json, points.csv, the chips of the fronts and every result into this folder");
  explore->add_flag("--resume", explore_command.request.resume, "go on with the results in --out");
  explore->add_option("--merge", explore_command.request.merge,
                      "folders of other runs of the same question, whose results are taken in; can be repeated");
  explore
      ->add_option("--sensitivity", explore_sensitivity,
                   "then vary each modelled or assumed constant by so many percent (default 30) and say what holds")
      ->expected(0, 1);
  explore->add_flag("--count,--check", explore_command.count,
                    "only say how many points there are, and why some are not valid");
  explore->add_option("--query", explore_command.query,
                      "only print the points in --out for which this holds, as CSV (docs/explore.md): "
                      "'training.latency_s < 0.07 and area_mm2 <= 50'");
  add_output_options(*explore, output);
  explore->callback([&] {
    ExploreRequest& r = explore_command.request;
    if (explore_command.query) {
      for (const auto& [name, words] :
           given(options_but(*explore, {"query", "out", "space", "count", "json", "quiet"})))
        refuse_given(*explore, {name}, "a run that is asked evaluates nothing", "leave it out, or leave --query out");
      code = run_explore(explore_command, output, launch);
      return;
    }
    if (r.models.empty()) throw CLI::RequiredError("MODEL");
    if (r.space.empty()) throw CLI::RequiredError("--space");
    explore_command.flags = given(explore_shared);
    finish(r.evaluate, raw_explore);
    r.evaluate.model.model = r.models.front();
    r.evaluate.hardware = r.space;
    if (!explore_evaluations.empty())
      r.evaluations = static_cast<std::size_t>(positive("--evaluations", explore_evaluations));
    if (!explore_time.empty()) r.seconds = seconds("--time", explore_time);
    if (!explore_seed.empty()) r.seed = static_cast<std::uint64_t>(positive("--seed", explore_seed));
    if (!explore_area.empty()) r.area_mm2 = above_zero("--area", explore_area);
    if (explore->count("--sensitivity") > 0)
      r.sensitivity = explore_sensitivity.empty() ? 0.3 : percent("--sensitivity", explore_sensitivity) / 100;
    if (!explore_tdp.empty()) r.tdp_w = above_zero("--tdp", explore_tdp);
    code = run_explore(explore_command, output, launch);
  });

  std::string first_run, second_run;
  CLI::App* compare =
      app.add_subcommand("compare", "what differs between two runs of evaluate, and which parts make it");
  compare->add_option("RUN", first_run, "a folder written by evaluate --out")->required();
  compare->add_option("OTHER", second_run, "another one")->required();
  add_output_options(*compare, output);
  compare->callback([&] { code = run_compare(first_run, second_run, output); });

  ExplainRequest explain_request;
  RawMap raw_explain;
  CLI::App* explain = app.add_subcommand("explain", "where a figure comes from, what bounds it, what would help");
  explain
      ->add_option("RUN", explain_request.run, "a folder written by evaluate --out or map --out, or a LAYER with --on")
      ->required();
  explain
      ->add_option(
          "WHAT", explain_request.what,
          "of evaluate: latency, energy, peak-memory, levers (what would help), a node, a tensor or a core; of "
          "map: latency, energy, stall, accesses, levers, an operand (W), a memory, or OPERAND@MEMORY; of "
          "several layers LAYER/WHAT")
      ->required();
  add_map_options(*explain, explain_request.map, raw_explain);
  add_output_options(*explain, output);
  explain->callback([&] {
    finish(explain_request.map, raw_explain);
    code = explain_request.map.hardware.empty() && is_evaluation(explain_request.run)
               ? run_explain_run({explain_request.run, explain_request.what, explain_request.map.threads}, output)
               : run_explain(explain_request, output);
  });

  ValidateRequest validate_request;
  CLI::App* validate = app.add_subcommand("validate", "how far is the model from reference tools and from silicon?");
  validate->add_option("SUITE", validate_request.suite, "zigzag, stream, silicon or fusemax")->capture_default_str();
  validate->add_option("--cases", validate_request.cases, "files of cases; default: those that come with MONET");
  validate->add_option("--accelerators", validate_request.accelerators,
                       "files of the accelerators that the cases name");
  validate->add_option("--files", validate_request.folders,
                       "folders with the files that cases name; default: those around the cases");
  add_output_options(*validate, output);
  validate->callback([&] { code = run_validate(validate_request, output); });

  std::string demo_out = "out/demo";
  CLI::App* demo = app.add_subcommand(
      "demo", "two training iterations on two chips, what less memory costs; gradients and schedules verified");
  demo->add_option("--out", demo_out, "where the first one's report goes")->capture_default_str();
  demo->add_flag("--quiet", output.quiet, "no progress");
  demo->callback([&] { code = run_demo(demo_out, output); });

  refuse_empty(app, "--out");
  // CLI11 takes an unknown verb for a missing one: say what there is.
  if (argc > 1 && argv[1][0] != '-') {
    std::vector<std::string> verbs;
    for (const CLI::App* sub : app.get_subcommands({})) verbs.push_back(sub->get_name());
    if (std::find(verbs.begin(), verbs.end(), argv[1]) == verbs.end())
      throw InputError(Diagnostic{.where = "monet",
                                  .message = fmt::format("unknown verb '{}'", argv[1]),
                                  .hint = did_you_mean(argv[1], verbs, "monet --help lists the verbs")});
    if (std::string_view(argv[1]) != "explore") mpi::refuse_ranks(launch, argv[1]);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    refuse_extras(app);
  } catch (const CLI::ParseError& error) {
    std::ostream nowhere(nullptr);
    return (launch.rank == 0 ? app.exit(error) : app.exit(error, nowhere, nowhere)) == 0 ? 0 : 2;
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit of a file's size is to fail, not to end us
  const mpi::Launch launch = mpi::launched();
  try {
    const int code = parse_and_run(argc, argv, launch);
    if (launch.rank > 0) return 0;
    flush_output();
    return code;
  } catch (...) {
    // What ails one rank ails all; a code other than 0 would have mpirun end the first one before it has said so.
    if (launch.rank > 0) return 0;
    return report_failure();
  }
}
