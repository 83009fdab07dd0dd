// gRPC's own framing inside an HTTP/2 stream: a byte that says "compressed", four bytes of length, the
// message.
#pragma once
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace conclave::rpc {

inline constexpr std::size_t prefix_bytes = 5;

// Writes the prefix of an uncompressed message to the five bytes at `to`.
void put_prefix(char* to, std::size_t message_bytes);

enum class FrameError {
  compressed,  // we announce no encoding, so nobody may use one
  too_large,
};

// Cuts a stream of bytes, arriving in pieces of any size, into messages.
//
//   while (true) {
//     auto message = reader.next(input);        // takes from the front of `input`
//     if (!message) return refuse(message.error());
//     if (!*message) break;                     // the input is used up
//     use(**message);                           // valid until the next call, or until the input goes
//   }
//
// A message that lies in one piece is handed out where it lies. Memory grows with the bytes that came, never
// with a length that somebody claims.
class FrameReader {
 public:
  explicit FrameReader(std::size_t largest_message) : largest_(largest_message) {}

  std::expected<std::optional<std::string_view>, FrameError> next(std::string_view& input);

  // Whether the stream may end here: no message is half read.
  bool at_boundary() const { return kept_.empty() || delivered_; }
  // Bytes held for a message that is not complete.
  std::size_t kept() const { return delivered_ ? 0 : kept_.size(); }
  void reset();

 private:
  bool take_prefix(std::string_view& input);

  std::size_t largest_;
  std::string kept_;                        // prefix and as much of the message as came
  std::optional<std::size_t> wanted_ = {};  // length of the message under way
  bool delivered_ = false;                  // what is kept was handed out already
};

}  // namespace conclave::rpc
