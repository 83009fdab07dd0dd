// The lines of a stream, one block of memory at a time.
#pragma once
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace conclave::causality {

class LineReader {
 public:
  // `head` is what was read from the stream already.
  LineReader(std::istream& in, std::string_view head, std::size_t longest);

  // False at the end, or at a line that is too long. The view holds until the next call. Neither \n nor \r\n
  // is part of the line.
  bool next(std::string_view& line);
  std::uint64_t number() const { return number_; }  // of the last line, from 1
  bool too_long() const { return too_long_; }
  // The text that comes next, as far as it is in memory: at least a block, or all that is left.
  std::string_view peek();

 private:
  bool fill();

  std::istream& in_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of what was not yet given out
  std::size_t end_ = 0;
  std::uint64_t number_ = 0;
  bool at_end_ = false;
  bool too_long_ = false;
};

}  // namespace conclave::causality
