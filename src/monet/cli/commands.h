#pragma once
#include <string>
#include <vector>

#include "monet/verbs/graph.h"
#include "monet/verbs/hardware.h"
#include "monet/verbs/verify.h"

// What each verb does with its parsed options: one library call, then print. Returns the exit code.

namespace monet::cli {

struct Output {
  bool json = false, quiet = false;
};

struct GraphCommand {
  GraphRequest request;
  bool text = false;  // print the graph itself
};

struct HardwareCommand {
  HardwareRequest request;
  bool yaml = false;  // print the chip as a file of MONET's own form
};

int run_models(const std::string& name, const Output& output);
int run_hardware(const HardwareCommand& command, const Output& output);
int run_graph(const GraphCommand& command, const Output& output);
int run_verify(const VerifyRequest& request, const Output& output);
int run_check(const std::vector<std::string>& files, const Output& output);

// Warnings and errors on stderr.
void print_diagnostics(const std::vector<Diagnostic>& diagnostics);
void print_errors(const InputError& error);
void flush_output();   // throws InputError if not all of it could be written
int report_failure();  // the exception at hand; with what code to end

}  // namespace monet::cli
