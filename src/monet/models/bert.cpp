#include <fmt/format.h>

#include "monet/models/attention.h"
#include "monet/models/recipe.h"

// BERT (arXiv:1810.04805) with the names of Hugging Face: normalisation after each half of a layer, no padding (every
// token attends to every token). What the loss is attached to is the option `head`:
//   none      the pooled output itself, [batch,width]: BertModel, for studies of the encoder alone
//   classify  a classifier on the pooled output, [batch,classes]: BertForSequenceClassification
//   mlm       token logits through the token table, [batch·seq,vocab], without the pooler: BertForMaskedLM. Labels of
//             tokens that are not masked are the loss's ignore index.

namespace monet::models {
namespace {

constexpr double kBertEpsilon = 1e-12;

// Dense, dropout, add what the half of a layer started from, normalise.
TensorId output_of(Builder& b, TensorId x, TensorId start, double ratio, const std::string& name) {
  const std::int64_t width = b[start].shape[2];
  TensorId y = linear(b, name + ".dense", x, width);
  y = dropout(b, y, ratio, name + ".dropout");
  return layer_norm(b, name + ".LayerNorm", add(b, y, start, name + ".add"), kBertEpsilon);
}

TensorId encoder_layer(Builder& b, TensorId x, std::int64_t heads, const AttentionOptions& options,
                       const std::string& name) {
  const std::int64_t width = b[x].shape[2];
  const std::string self = name + ".attention.self";
  const auto project = [&](const char* which) {
    const std::string part = fmt::format("{}.{}", self, which);
    return split_heads(b, linear(b, part, x, width), heads, part);
  };
  const TensorId q = project("query"), k = project("key"), v = project("value");
  x = output_of(b, attention(b, q, k, v, options, self), x, options.dropout, name + ".attention.output");
  const TensorId y =
      b.unary(UnaryKind::Gelu, linear(b, name + ".intermediate.dense", x, 4 * width), name + ".intermediate.act");
  return output_of(b, y, x, options.dropout, name + ".output");
}

TensorId masked_lm_logits(Builder& b, TensorId x, TensorId token_table) {
  const std::int64_t vocab = b[token_table].shape[0], width = b[token_table].shape[1];
  const std::string name = "cls.predictions";
  x = linear(b, name + ".transform.dense", x, width);
  x = b.unary(UnaryKind::Gelu, x, name + ".transform.act");
  x = layer_norm(b, name + ".transform.LayerNorm", x, kBertEpsilon);
  const Affine decoder{.weight = token_table, .bias = weight(b, name + ".bias", {vocab}, Splat{0})};
  return flatten_tokens(b, apply(b, decoder, x, name + ".decoder"), "logits");
}

TensorId build_bert(Builder& b, const OptionValues& options, std::int64_t batch) {
  const std::int64_t seq = options.whole("seq"), width = options.whole("width"), layers = options.whole("layers");
  const std::string& head = options.choice("head");
  const std::string prefix = head == "none" ? "" : "bert.", embeddings = prefix + "embeddings";
  const AttentionOptions attention{.dropout = options.real("dropout")};

  const TensorId tokens = token_input(b, "input_ids", batch, seq), types = token_input(b, "token_type_ids", batch, seq);
  const TensorId token_table = weight(b, embeddings + ".word_embeddings.weight", {options.whole("vocab"), width});
  const TensorId positions = weight(b, embeddings + ".position_embeddings.weight", {options.whole("positions"), width});
  const TensorId type_table = weight(b, embeddings + ".token_type_embeddings.weight", {2, width});
  TensorId x = b.one(Gather{.axis = 0}, {token_table, tokens}, embeddings + ".word_embeddings");
  const TensorId type = b.one(Gather{.axis = 0}, {type_table, types}, embeddings + ".token_type_embeddings");
  x = add(b, x, type, embeddings + ".add_1");
  x = add(b, x, position_rows(b, positions, seq, embeddings + ".position_embeddings"), embeddings + ".add_2");
  x = layer_norm(b, embeddings + ".LayerNorm", x, kBertEpsilon);
  x = dropout(b, x, attention.dropout, embeddings + ".dropout");
  for (std::int64_t i = 0; i < layers; ++i)
    x = encoder_layer(b, x, options.whole("heads"), attention, fmt::format("{}encoder.layer.{}", prefix, i));
  if (head == "mlm") return masked_lm_logits(b, x, token_table);

  x = linear(b, prefix + "pooler.dense", first_token(b, x, prefix + "pooler.first"), width);
  x = b.unary(UnaryKind::Tanh, x, prefix + "pooler.activation");
  if (head == "none") return x;
  return linear(b, "classifier", dropout(b, x, attention.dropout, "dropout"), options.whole("classes"));
}

Recipe bert(std::string name, std::string description, std::int64_t layers, std::int64_t width, std::int64_t heads) {
  return {{.name = std::move(name),
           .description = std::move(description),
           .options = {whole_option("seq", "tokens of a sequence", 512),
                       layers_option(layers),
                       whole_option("width", "width of a token", width),
                       whole_option("heads", "attention heads", heads),
                       whole_option("vocab", "entries of the token table", 30522),
                       whole_option("positions", "entries of the position table, at least seq", 512),
                       dropout_option(),
                       {.name = "head",
                        .meaning = "what the loss sees: the pooled output, a classifier on it, or masked tokens",
                        .default_value = "none",
                        .kind = OptionKind::Choice,
                        .choices = {"none", "classify", "mlm"}},
                       whole_option("classes", "classes of head=classify", 2)}},
          build_bert};
}

}  // namespace

std::vector<Recipe> bert_recipes() {
  return {bert("bert-base", "BERT base, uncased vocabulary", 12, 768, 12),
          bert("bert-large", "BERT large, uncased vocabulary", 24, 1024, 16)};
}

}  // namespace monet::models
