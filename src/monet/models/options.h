#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "monet/base/diagnostic.h"
#include "monet/models/catalogue.h"

namespace monet::models {

// The value of every option of one model: as given in the spec, else the default. Asking for an option the model does
// not have is a bug of ours.
class OptionValues {
 public:
  // Every option at its default.
  explicit OptionValues(const std::vector<ModelOption>& options);
  // `text` is what stands behind the colon: "image=32,classes=10". Faults are appended to `faults`, placed at `where`.
  OptionValues(const std::vector<ModelOption>& options, std::string_view text, const std::string& where,
               std::vector<Diagnostic>& faults);

  std::int64_t whole(std::string_view name) const;
  double real(std::string_view name) const;
  const std::string& choice(std::string_view name) const;

 private:
  const std::string& text(std::string_view name) const;

  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace monet::models
