// The file of a process that writes its part of a run, and goes on with it when it is started again: the
// clocks of its steps have to follow from those of the steps before it died.
//
//   live::PartFile part("m1.jsonl");
//   auto page = part.open(header, self, comes_back);
//   live::Scribe<P> scribe(*page, self);
#pragma once
#include <expected>
#include <fstream>
#include <string>

#include "live/scribe.hpp"
#include "trace/json.hpp"

namespace conclave::live {

class PartFile {
 public:
  explicit PartFile(std::string path) : path_(std::move(path)) {}

  // Anew, unless a process comes back whose part of this run is there; a last line that was torn when it died
  // is taken away. Refuses to go on with anything else.
  std::expected<Page, std::string> open(trace::Header header, NodeId self, bool comes_back);

  const std::string& path() const { return path_; }
  // Nothing is missing so far. A part with a gap would show what never happened: it ends where the disk was
  // full.
  bool whole() const { return file_.good(); }

 private:
  std::expected<std::optional<Bookmark>, std::string> last_page(const trace::Header& header, NodeId self);

  std::string path_;
  std::ofstream file_;
  trace::JsonWriter writer_{file_};
};

}  // namespace conclave::live
