#pragma once
#include <string>
#include <string_view>

namespace monet {

// All bytes of a file. InputError if it is missing (with the nearest name in its folder), a folder, or unreadable.
std::string read_file(const std::string& path);

// Replaces the file by `bytes` at once: readers see the old file or the new one, never a part, and a failure leaves
// the old one alone. Devices and pipes are written to directly. InputError if it cannot be written.
void write_file(const std::string& path, std::string_view bytes);

// With those above it; one that is there is fine. Throws InputError.
void make_folder(const std::string& path);
// The files of a folder that are named by a number and end so: 12.yaml, 12.training.plan.yaml; those named otherwise
// are not ours. None where there is no such folder. Throws InputError.
void remove_numbered(const std::string& folder, std::string_view ending);

}  // namespace monet
