#include "monet/cli/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <new>

#include "monet/base/file.h"
#include "monet/cli/clock.h"
#include "monet/graph/text.h"
#include "monet/graph/verify.h"
#include "monet/hardware/yaml.h"
#include "monet/models/catalogue.h"
#include "monet/report/table.h"

namespace monet::cli {
namespace {

void print_document(const std::string& verb, std::vector<DocumentInput> inputs, Json options, Json result,
                    const Clock& clock) {
  fmt::print("{}", dump(Document{verb, std::move(inputs), std::move(options), std::move(result), clock.seconds()}));
}

// "12/62 weights, 3 s left", rewritten in place while stderr is a terminal.
class WeightsChecked {
 public:
  explicit WeightsChecked(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO)) {}
  ~WeightsChecked() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }
  void operator()(std::size_t done, std::size_t total) const {
    if (!shown_) return;
    const double left = clock_.seconds() / static_cast<double>(done) * static_cast<double>(total - done);
    fmt::print(stderr, "\r\033[K{}/{} weights checked, {:.0f} s left", done, total, left);
    std::fflush(stderr);
  }

 private:
  bool shown_;
  Clock clock_;
};

std::string describe(const ModelEntry& m) {
  std::string out = fmt::format("{}: {}\n\n", m.name, m.description);
  Table table({"option", "default", "meaning"});
  for (const ModelOption& o : m.options) table.row({o.name, o.default_value, o.meaning});
  return out + table.text("  ") +
         fmt::format("\nloss: {}\nexample: monet graph {}{}\n", m.loss, m.name,
                     m.options.empty() ? "" : fmt::format(":{}={}", m.options[0].name, m.options[0].default_value));
}

Json to_json(const ModelEntry& m) {
  Json options = Json::array();
  for (const ModelOption& o : m.options) {
    Json entry = Json::object();
    entry.set("name", o.name).set("meaning", o.meaning).set("default", o.default_value);
    if (!o.choices.empty()) entry.set("choices", Json(o.choices));
    options.push(std::move(entry));
  }
  return Json::object()
      .set("name", m.name)
      .set("description", m.description)
      .set("loss", m.loss)
      .set("options", std::move(options));
}

std::string verify_text(const VerifyResult& r, const VerifyRequest& request) {
  std::string out =
      fmt::format("{}: {} weights, {} direction{} each, central differences in double\n\n", request.model.model,
                  r.weights.size(), request.samples, request.samples == 1 ? "" : "s");
  out += fmt::format("gradients    {}: largest relative error {} at {}\n", r.gradients_agree ? "agree" : "DISAGREE",
                     scientific(r.worst_error), r.worst_weight);
  out += fmt::format("single works {}: broken up by decompose, largest difference {}\n",
                     r.decomposed_agrees ? "agree" : "DISAGREE", scientific(r.decomposed_error));
  if (!r.losses.empty()) {
    out += fmt::format("loss over {} step{} of {}:", r.losses.size(), r.losses.size() == 1 ? "" : "s",
                       request.model.optimizer);
    for (const double loss : r.losses) out += fmt::format(" {:.6f}", loss);
    out += "\n";
  }
  if (!r.gradients_agree) {
    Table table({"weight", "elements", "|gradient|", "error"});
    for (const WeightCheck& w : r.weights)
      if (!(w.error < request.tolerance))
        table.row({w.weight, grouped(static_cast<std::uint64_t>(w.elements)), scientific(w.gradient_norm),
                   scientific(w.error)});
    out += "\n" + table.text("  ");
  }
  for (const std::string& note : r.prepared.notes) out += "note: " + note + "\n";
  return out;
}

Json verify_json(const VerifyResult& r) {
  Json weights = Json::array(), losses = Json::array();
  for (const WeightCheck& w : r.weights)
    weights.push(Json::object()
                     .set("name", w.weight)
                     .set("elements", w.elements)
                     .set("gradient_norm", w.gradient_norm)
                     .set("error", w.error));
  for (const double loss : r.losses) losses.push(loss);
  Json result = Json::object();
  result.set("gradients_agree", r.gradients_agree)
      .set("worst_error", r.worst_error)
      .set("worst_weight", r.worst_weight);
  result.set("decomposed_agrees", r.decomposed_agrees).set("decomposed_error", r.decomposed_error);
  return result.set("losses", std::move(losses)).set("weights", std::move(weights));
}

bool is_text_graph(const std::string& path) { return path.ends_with(".monet"); }

bool is_configuration(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".json");
}

// What a sound model file holds. Throws InputError.
std::string check_model(const std::string& file, std::vector<Diagnostic>& found) {
  if (!is_text_graph(file) && !file.ends_with(".onnx")) {
    read_file(file);  // says so if it is not there, or a folder
    throw InputError(Diagnostic{.file = file,
                                .message = "not a kind of file MONET reads",
                                .hint = "ONNX models end in .onnx, text graphs in .monet, hardware, plan, space, "
                                        "fusion rule, mapping and workload files in .yaml"});
  }
  ModelRequest request;
  request.model = file;
  request.train = "none";
  const Prepared p = prepare(request);
  found = p.warnings;
  return fmt::format("{} nodes, {} tensors, {} parameters", p.graph.nodes.size(), p.graph.tensors.size(),
                     grouped(static_cast<std::uint64_t>(p.parameters)));
}

}  // namespace

void print_diagnostics(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& d : diagnostics) fmt::print(stderr, "{}\n", to_string(d));
}

void print_errors(const InputError& error) { print_diagnostics(error.diagnostics()); }

void flush_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw InputError(Diagnostic{.where = "stdout", .message = "not everything could be written: is the disk full?"});
}

int report_failure() {
  try {
    throw;
  } catch (const InputError& error) {
    print_errors(error);
    return 2;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "monet: error: out of memory (a smaller batch, or fewer layers, may fit)\n");
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "monet: error: {}\n", error.what());
    return 2;
  }
}

int run_models(const std::string& name, const Output& output) {
  const Clock clock;
  const auto& all = model_catalogue();
  if (!name.empty()) {
    for (const ModelEntry& m : all) {
      if (m.name != name) continue;
      if (output.json)
        print_document("models", {}, Json::object().set("name", name), to_json(m), clock);
      else
        fmt::print("{}", describe(m));
      return 0;
    }
    build_model(name, 1);  // throws: says what names there are
  }
  if (output.json) {
    Json models = Json::array();
    for (const ModelEntry& m : all) models.push(to_json(m));
    print_document("models", {}, Json::object(), Json::object().set("models", std::move(models)), clock);
    return 0;
  }
  std::string out;
  std::size_t width = 0;
  for (const ModelEntry& m : all) width = std::max(width, m.name.size());
  for (const ModelEntry& m : all) out += fmt::format("{:<{}}  {}\n", m.name, width, m.description);
  fmt::print("{}\nmonet models NAME lists a model's options; an ONNX file can stand wherever a model's name can.\n",
             out);
  return 0;
}

int run_hardware(const HardwareCommand& command, const Output& output) {
  const Clock clock;
  if (command.request.hardware.empty()) {
    if (output.json)
      print_document("hardware", {}, Json::object(), list_hardware_json(), clock);
    else
      fmt::print("{}", list_hardware_text());
    return 0;
  }
  const hardware::Loaded loaded = describe_hardware(command.request);
  if (!output.quiet) print_diagnostics(loaded.warnings);
  Json parameters = Json::object();
  for (const auto& [name, value] : command.request.parameters) parameters.set(name, value);
  if (command.yaml)
    fmt::print("{}", hardware::print(loaded.hardware));
  else if (output.json)
    print_document("hardware", document_inputs(loaded),
                   Json::object().set("hardware", command.request.hardware).set("set", std::move(parameters)),
                   json(loaded), clock);
  else
    fmt::print("{}", text(loaded));
  return 0;
}

int run_graph(const GraphCommand& command, const Output& output) {
  const Clock clock;
  const GraphResult result = describe_graph(command.request);
  if (!output.quiet) print_diagnostics(result.prepared.warnings);
  if (command.text)
    fmt::print("{}", print(result.prepared.graph));
  else if (output.json)
    print_document("graph", result.prepared.inputs,
                   options_json(command.request.model, result.prepared)
                       .set("wgrad", command.request.im2col_weight_gradient ? "im2col" : "direct"),
                   json(result), clock);
  else
    fmt::print("{}", text(result, command.request));
  return 0;
}

int run_verify(const VerifyRequest& request, const Output& output) {
  const Clock clock;
  VerifyResult result;
  {
    const WeightsChecked progress(output.quiet);
    result = verify_gradients(request, progress);
  }
  if (!output.quiet) print_diagnostics(result.prepared.warnings);
  if (output.json) {
    Json options = options_json(request.model, result.prepared);
    options.set("samples", request.samples).set("steps", request.steps).set("seed", request.seed);
    print_document("verify", result.prepared.inputs, std::move(options), verify_json(result), clock);
  } else {
    fmt::print("{}", verify_text(result, request));
  }
  return result.gradients_agree && result.decomposed_agrees ? 0 : 1;
}

int run_check(const std::vector<std::string>& files, const Output& output) {
  const Clock clock;
  Json list = Json::array();
  bool sound = true;
  for (const std::string& file : files) {
    std::vector<Diagnostic> found;
    std::string what;
    try {
      if (is_configuration(file)) {
        CheckedFile checked = check_configuration(file);
        found = std::move(checked.warnings);
        what = std::move(checked.what);
      } else {
        what = check_model(file, found);
      }
    } catch (const InputError& error) {
      found = error.diagnostics();
      sound = false;
    }
    print_diagnostics(found);
    if (!output.json && !what.empty()) fmt::print("{}: ok, {}\n", file, what);
    Json messages = Json::array();
    for (const Diagnostic& d : found) messages.push(to_string(d));
    list.push(Json::object().set("file", file).set("sound", !what.empty()).set("diagnostics", std::move(messages)));
  }
  if (output.json) print_document("check", {}, Json::object(), Json::object().set("files", std::move(list)), clock);
  return sound ? 0 : 2;
}

}  // namespace monet::cli
