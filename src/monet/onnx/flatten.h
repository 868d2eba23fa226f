#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "monet/onnx/findings.h"
#include "monet/onnx/proto.h"

namespace monet {

// A node of the model with all functions inlined.
struct FlatNode {
  const pb::NodeProto* proto = nullptr;
  std::string where;       // "node 12 'conv1' (Conv)"
  std::string name;        // its own, or made from its type and place
  std::int64_t opset = 0;  // version of the default domain it is written in
};

struct FlatModel {
  std::vector<FlatNode> nodes;
  std::deque<pb::NodeProto> inlined;  // what some of the nodes point to
};

// "" for the default domain, under either of its names.
std::string domain_of(const pb::NodeProto& node);
// "Conv", "com.microsoft:Gelu"
std::string type_of(const pb::NodeProto& node);

// Version of the default domain, checked to be one we know. 0 after an error.
std::int64_t default_opset(const pb::ModelProto& model, Findings& findings);

// The nodes of the main graph. Calls of the model's functions are replaced by their bodies, recursively: values get
// names below the caller's, attributes given by reference are looked up in the call.
FlatModel flatten(const pb::ModelProto& model, std::int64_t opset, Findings& findings);

// The same for a branch of the If called `name`.
FlatModel flatten_branch(const pb::ModelProto& model, const pb::GraphProto& branch, const std::string& where,
                         const std::string& name, std::int64_t opset, Findings& findings);

// Gives values other names, also where subgraphs read them.
using Renaming = std::unordered_map<std::string, std::string>;
void rename(pb::NodeProto& node, const Renaming& names);

// Names a node's subgraphs read from outside of themselves.
void collect_captures(const pb::NodeProto& node, std::vector<std::string>& captures);

}  // namespace monet
