#include "live/part_file.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace conclave::live {
namespace {

std::unexpected<std::string> refuse(const std::string& path, std::uint64_t line, std::string_view why) {
  return std::unexpected(
      fmt::format("{}:{}: {}; let the trace begin in another file, or remove this one", path, line, why));
}

bool same_run(const trace::Header& one, const trace::Header& other) {
  return one.protocol == other.protocol && one.variant == other.variant && one.world == other.world &&
         one.nodes == other.nodes && one.run == other.run && one.seed == other.seed;
}

}  // namespace

std::expected<Page, std::string> PartFile::open(trace::Header header, NodeId self, bool comes_back) {
  std::optional<Bookmark> bookmark;
  if (comes_back) {
    auto found = last_page(header, self);
    if (!found) return std::unexpected(found.error());
    bookmark = std::move(*found);
  }
  file_.open(path_, std::ios::binary | (bookmark ? std::ios::app : std::ios::trunc));
  if (!file_) return std::unexpected(fmt::format("cannot write {}", path_));
  file_ << std::unitbuf;  // a process that is killed has written what it did
  return Page{.header = std::move(header), .reader = &writer_, .bookmark = std::move(bookmark)};
}

std::expected<std::optional<Bookmark>, std::string> PartFile::last_page(const trace::Header& header,
                                                                        NodeId self) {
  std::ifstream in(path_, std::ios::binary);
  Bookmark bookmark;
  std::uint64_t number = 0;
  std::uint64_t whole = 0;  // bytes
  bool torn = false;
  for (std::string text; std::getline(in, text);) {
    torn = in.eof();
    if (torn) break;
    whole += text.size() + 1;
    auto line = trace::parse_line(text);
    if (!line) return refuse(path_, ++number, line.error());
    if (++number == 1) {
      const auto* first = std::get_if<trace::Header>(&line->what);
      if (!first || first->node != self || !same_run(*first, header))
        return refuse(path_, number, "this is not what this process wrote of this run");
    } else if (auto* step = std::get_if<trace::Step>(&line->what)) {
      for (const trace::Sent& sent : step->sends) bookmark.message = std::max(bookmark.message, sent.id);
      bookmark.last = std::move(*step);
    } else {
      return refuse(path_, number, "the part has an end already");
    }
  }
  if (bookmark.last.number == 0) return std::nullopt;
  std::error_code error;
  if (torn) std::filesystem::resize_file(path_, whole, error);
  if (error) return std::unexpected(fmt::format("cannot write {}: {}", path_, error.message()));
  return bookmark;
}

}  // namespace conclave::live
