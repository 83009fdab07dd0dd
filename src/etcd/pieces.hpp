// An answer of the store as the bytes of its message, protobuf or JSON, made a piece at a time: the records
// are where they are until they are written, and their share is given up then.
//
//   etcd::Pieces pieces(in_json, header, std::move(result));
//   while (pieces.measure(work)) …; then pieces.bytes() is what the whole has
//   while (pieces.write(text, 64 << 10)) …text is the next piece…;
#pragma once
#include <proto/rpc.pb.h>

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kv/answer.hpp"

namespace conclave::etcd {

class Pieces {
 public:
  using Result = std::variant<kv::RangeResult, kv::DeleteResult, kv::TxnResult>;
  // The header is that of the whole; what is nested says at which revision, and nothing else.
  Pieces(bool in_json, const etcdserverpb::ResponseHeader& header, Result result);
  Pieces(Pieces&&) = default;
  Pieces& operator=(Pieces&&) = default;

  // Records are looked at, of which `work` takes some. True: there is more to do.
  bool measure(std::size_t& work);
  std::size_t bytes() const { return bytes_; }
  std::size_t records() const;
  // Appends some more, until `to` has about so many bytes. False: that was all.
  bool write(std::string& to, std::size_t about);
  // Gives up what is not written. True: there is more to do.
  bool let_go(std::size_t& work);

 private:
  // Records that stand one behind the other.
  struct List {
    std::span<kv::RecordRef> records = {};
    int field = 0;  // of protobuf
    bool keys_only = false;
    std::size_t bytes = 0;
  };
  // A text, and the records behind it, if any.
  struct Part {
    std::string text = {};
    const List* list = nullptr;
  };

  void gather(Result& result);
  void gather(kv::TxnResult& result);
  void gather(std::span<kv::RecordRef> records, int field, bool keys_only = false);
  void finish_measuring();
  // Of protobuf, whose messages begin with their size: from the end to the beginning.
  std::size_t prepend(std::string text);
  std::size_t prepend_list(const std::string& header, const std::string& rest);
  std::size_t prepend(const kv::RangeResult& range, const std::string& header);
  std::size_t prepend(const kv::DeleteResult& range, const std::string& header);
  std::size_t prepend(const kv::PutResult& put, const std::string& header);
  std::size_t prepend(const kv::TxnResult& txn, const std::string& header);
  // Of JSON: from the beginning to the end.
  void append(std::string_view text);
  void append_list(std::string_view before, std::string_view behind);
  void append(const kv::RangeResult& range, const std::string& header);
  void append(const kv::DeleteResult& range, const std::string& header);
  void append(const kv::PutResult& put, const std::string& header);
  void append(const kv::TxnResult& txn, const std::string& header);

  bool in_json_;
  etcdserverpb::ResponseHeader header_;
  Result result_;
  std::vector<List> lists_ = {};  // in the order of their places
  std::vector<Part> parts_ = {};
  std::size_t bytes_ = 0;
  std::size_t list_ = 0;    // which is being measured, and then, which comes next
  std::size_t part_ = 0;    // … being written
  std::size_t record_ = 0;  // … of the list
  bool measured_ = false;
};

}  // namespace conclave::etcd
