#include "monet/verbs/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "monet/base/file.h"
#include "monet/interpret/run.h"
#include "monet/onnx/export.h"
#include "monet/report/table.h"

namespace monet {
namespace {

constexpr std::size_t kSavedShown = 8, kOperatorsShown = 12;

std::string title(const GraphResult& r, const GraphRequest& request) {
  const Prepared& p = r.prepared;
  const std::string formats = p.precision == "own" ? "the model's own formats" : p.precision;
  if (!p.is_training) return fmt::format("{}: one inference, {}", request.model.model, formats);
  if (p.imported_training)
    return fmt::format("{}: one training iteration as the file has it, {}", request.model.model, formats);
  return fmt::format("{}: one training iteration, {} storage, {}, {}, saves: {}", request.model.model, p.precision,
                     p.loss_name, p.optimizer_name, request.model.save);
}

std::string phases_table(const Summary& s) {
  Table table({"phase", "nodes", "MACs", "vector operations", "vector bytes"});
  std::array<std::uint64_t, 4> total{};
  for (std::size_t i = 0; i < kPhases; ++i) {
    if (s.nodes[i] == 0) continue;
    const std::array<std::uint64_t, 4> row{s.nodes[i], s.macs[i], s.vector_ops[i], s.moved_bytes[i]};
    table.row({std::string(name(static_cast<Phase>(i))), grouped(row[0]), grouped(row[1]), grouped(row[2]),
               byte_count(row[3])});
    for (std::size_t k = 0; k < 4; ++k) total[k] += row[k];
  }
  table.row({"total", grouped(total[0]), grouped(total[1]), grouped(total[2]), byte_count(total[3])});
  return table.text("  ");
}

// The largest of what is saved.
std::string saved_lines(const Summary& s) {
  std::vector<Summary::Saved> largest = s.saved;
  std::stable_sort(largest.begin(), largest.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  Table table;
  for (std::size_t i = 0; i < std::min(kSavedShown, largest.size()); ++i)
    table.row({largest[i].tensor, byte_count(largest[i].bytes)});
  if (largest.size() > kSavedShown)
    table.row({fmt::format("… {} more (--json lists all)", largest.size() - kSavedShown)});
  return table.text("  ");
}

std::string counts_line(const std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> list(counts.begin(), counts.end());
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (std::size_t i = 0; i < std::min(kOperatorsShown, list.size()); ++i)
    out += fmt::format("{}{} {}", i ? ", " : "", list[i].first, list[i].second);
  if (list.size() > kOperatorsShown) out += fmt::format(", … {} more kinds", list.size() - kOperatorsShown);
  return out;
}

Json counts_json(const std::map<std::string, std::uint64_t>& counts) {
  Json object = Json::object();
  for (const auto& [key, count] : counts) object.set(key, count);
  return object;
}

Json by_phase(const std::array<std::uint64_t, kPhases>& values, const Summary& s) {
  Json object = Json::object();
  for (std::size_t i = 0; i < kPhases; ++i)
    if (s.nodes[i] > 0 || i == 0 || i == 2 || i == 3) object.set(std::string(name(static_cast<Phase>(i))), values[i]);
  return object;
}

void write_graph(const GraphRequest& request, const GraphResult& r) {
  ExportOptions options{.weights = request.weights, .version = version()};
  Values<double> values;
  if (request.weights) values = initial_values<double>(r.prepared.graph, 1, r.prepared.values);
  write_file(request.write, export_onnx(r.prepared.graph, options, request.weights ? &values : nullptr));
}

}  // namespace

GraphResult describe_graph(const GraphRequest& request) {
  ModelRequest model = request.model;
  model.load_weights = model.load_weights || (request.weights && !request.write.empty());
  const DecomposeOptions options{.im2col_weight_gradient = request.im2col_weight_gradient};
  GraphResult r{prepare(model), {}};
  r.summary = summarise(r.prepared.graph, options);
  if (request.decomposed) r.prepared.graph = decompose(std::move(r.prepared.graph), options);
  if (!request.write.empty()) write_graph(request, r);
  return r;
}

std::string brief(const GraphResult& r, const GraphRequest& request) {
  const Summary& s = r.summary;
  std::string out = title(r, request) + "\n\n" + phases_table(s) + "\n";
  out += fmt::format("parameters          {}", grouped(static_cast<std::uint64_t>(r.prepared.parameters)));
  if (!r.prepared.is_training) return out + "\n";
  out += fmt::format(", {} trained\n", grouped(static_cast<std::uint64_t>(r.prepared.trained_parameters)));
  return out + fmt::format("saved for backward  {} tensors, {}\n", s.saved.size(), byte_count(s.saved_bytes));
}

std::string text(const GraphResult& r, const GraphRequest& request) {
  const Summary& s = r.summary;
  std::string out = brief(r, request);
  if (r.prepared.is_training) out += saved_lines(s);
  out += "operators           " + counts_line(s.operators) + "\n";
  if (!s.fallback_operators.empty())
    out += "estimated only      " + counts_line(s.fallback_operators) + "  (no rule: see fallback_operators)\n";
  for (const std::string& note : r.prepared.notes) out += "note: " + note + "\n";
  if (!request.write.empty()) out += "wrote " + request.write + "\n";
  return out;
}

Json json(const GraphResult& r) {
  const Summary& s = r.summary;
  Json result = Json::object();
  std::uint64_t nodes = 0;
  for (const std::uint64_t n : s.nodes) nodes += n;
  result.set("nodes", nodes)
      .set("nodes_by_phase", by_phase(s.nodes, s))
      .set("macs", by_phase(s.macs, s))
      .set("vector_ops", by_phase(s.vector_ops, s));
  result.set("vector_bytes", by_phase(s.moved_bytes, s));
  result.set("parameters", r.prepared.parameters).set("trained_parameters", r.prepared.trained_parameters);
  Json saved = Json::array();
  for (const Summary::Saved& t : s.saved)
    saved.push(Json::object().set("tensor", t.tensor).set("category", name(t.category)).set("bytes", t.bytes));
  result.set("saved_activations", std::move(saved)).set("saved_bytes", s.saved_bytes);
  result.set("operators", counts_json(s.operators)).set("fallback_operators", counts_json(s.fallback_operators));
  Json notes = Json::array();
  for (const std::string& note : r.prepared.notes) notes.push(note);
  return result.set("notes", std::move(notes));
}

Json options_json(const ModelRequest& r, const Prepared& p) {
  Json dims = Json::object();
  for (const auto& [key, value] : r.dims) dims.set(key, value);
  Json o = Json::object();
  o.set("model", r.model)
      .set("batch", r.batch ? Json(*r.batch) : Json())
      .set("microbatches", r.microbatches)
      .set("dims", std::move(dims));
  o.set("optimizer", r.optimizer)
      .set("loss", r.loss)
      .set("train", r.train)
      .set("precision", p.precision)
      .set("save", r.save);
  o.set("attention", r.attention)
      .set("recompute", r.recompute)
      .set("recompute_per_consumer", r.recompute_per_consumer)
      .set("fold_batch_norm", r.fold_batch_norm);
  o.set("clip", r.clip_norm ? Json(*r.clip_norm) : Json()).set("loss_scaling", r.loss_scaling).set("strict", r.strict);
  return o;
}

}  // namespace monet
