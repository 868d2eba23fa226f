#include "monet/hardware/load.h"

#include "monet/base/config_resolve.h"
#include "monet/hardware/stream_files.h"
#include "monet/hardware/yaml.h"

namespace monet::hardware {
namespace {

Loaded load(const config::Tree& tree, Sources& sources, const LoadOptions& options) {
  Loaded loaded;
  config::Findings findings;
  Places places;
  const config::Value root = tree.root();
  if (!(options.parameters.empty() && options.fields.empty()) && !looks_like_monet(root))
    findings.error(root, "only files of MONET's own form have parameters and fields to set",
                   "monet hardware FILE --yaml writes this one in that form");
  if (looks_like_monet(root)) {
    loaded.form = "MONET hardware";
    if (const auto parameters = root.find("parameters"); parameters && parameters->is_map())
      for (std::size_t i = 0; i < parameters->size(); ++i) loaded.parameters.emplace_back(parameters->key(i).text());
    const config::ResolveOptions resolve{
        .open = [&](const std::string& path) -> const config::Tree& { return sources.open(path); },
        .overrides = options.parameters,
        .fields = options.fields};
    const config::Tree& resolved = sources.adopt(config::resolve(tree, resolve, findings));
    loaded.hardware = read_monet(resolved.root(), findings, &places);
  } else if (looks_like_stream(root)) {
    loaded.form = "Stream accelerator";
    loaded.hardware = read_stream(root, sources, findings, &places);
  } else if (looks_like_zigzag(root)) {
    loaded.form = "ZigZag accelerator";
    loaded.hardware = read_zigzag(root, findings, &places);
  } else {
    findings.error(
        root, "not a hardware description",
        "MONET's own begin with 'monet: hardware', ZigZag's have 'memories' and 'operational_array', Stream's "
        "'cores' and 'core_connectivity'");
  }
  findings.throw_if_failed();
  loaded.warnings = findings.list();
  loaded.files = sources.files();
  loaded.origins = places.origins();
  return loaded;
}

}  // namespace

bool is_field(std::string_view name) {
  return name.find('.') != std::string_view::npos || name == "node" || name == "clock" || name == "supply";
}

Loaded load_hardware(const std::string& path, const LoadOptions& options) {
  Sources sources(options.read, options.known);
  return load(sources.open(path), sources, options);
}

Loaded load_hardware(const std::string& path, Sources& sources, const LoadOptions& options) {
  return load(sources.open(path), sources, options);
}

Loaded parse_hardware(std::string_view text, const std::string& path, const LoadOptions& options) {
  Sources sources(options.read);
  return load(sources.add(text, path), sources, options);
}

bool looks_like_hardware(const config::Value& root) {
  return looks_like_monet(root) || looks_like_stream(root) || looks_like_zigzag(root);
}

}  // namespace monet::hardware
