#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace conclave::cli {

int complain(std::string_view what) {
  fmt::print(stderr, "conclave: {}\n", what);
  return usage_error;
}

bool on_terminal(std::FILE* stream) { return isatty(fileno(stream)) != 0; }

bool use_colour() {
  static const bool use = on_terminal(stdout) && std::getenv("NO_COLOR") == nullptr;
  return use;
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 120;
}

std::string paint(std::string_view text, Colour colour) {
  if (!use_colour() || colour == Colour::none) return std::string(text);
  const char* code = "0";
  switch (colour) {
    case Colour::red: code = "31"; break;
    case Colour::green: code = "32"; break;
    case Colour::yellow: code = "33"; break;
    case Colour::dim: code = "2"; break;
    case Colour::bold: code = "1"; break;
    case Colour::none: break;
  }
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0u) != 0x80u) {
      ++count;  // continuation bytes of UTF-8 take no column
    }
  }
  return count;
}

std::string Table::to_string() const {
  std::vector<std::size_t> width(align_.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], columns(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < align_.size(); ++i) {
      const std::string cell = row.empty() ? std::string() : i < row.size() ? row[i] : std::string();
      const std::string padding(width[i] - columns(cell), ' ');
      if (i > 0) line += "  ";
      if (row.empty()) {
        for (std::size_t k = 0; k < width[i]; ++k) line += "─";
      } else {
        line += align_[i] == Align::left ? cell + padding : padding + cell;
      }
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + '\n';
  }
  return out;
}

// A pipe or a device has no place beside it to write first.
OutputFile::OutputFile(std::string path)
    : path_(std::move(path)),
      beside_(path_.starts_with("/dev/") ? path_ : fmt::format("{}.{}.tmp", path_, getpid())),
      stream_(beside_, std::ios::binary) {}

OutputFile::~OutputFile() {
  if (!beside_.empty() && beside_ != path_) std::remove(beside_.c_str());
}

std::string OutputFile::failure() const {
  return fmt::format("cannot write '{}': {}", path_, std::strerror(errno));
}

std::expected<void, std::string> OutputFile::finish() {
  stream_.flush();
  if (!stream_) return std::unexpected(failure());
  stream_.close();
  if (beside_ != path_ && std::rename(beside_.c_str(), path_.c_str()) != 0) return std::unexpected(failure());
  beside_.clear();
  return {};
}

std::expected<void, std::string> write_file(const std::string& path, std::string_view contents) {
  OutputFile file(path);
  file.stream().write(contents.data(), static_cast<std::streamsize>(contents.size()));
  return file.finish();
}

std::expected<std::string, std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  if (!file || !(contents << file.rdbuf()))
    return std::unexpected(
        fmt::format("cannot read '{}': {}", path, errno ? std::strerror(errno) : "it is empty"));
  return std::move(contents).str();
}

std::string with_commas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

}  // namespace conclave::cli
