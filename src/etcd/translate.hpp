// Between etcd's messages and the commands and answers of the store.
#pragma once
#include <proto/rpc.pb.h>

#include <expected>

#include "kv/answer.hpp"
#include "kv/command.hpp"
#include "rpc/status.hpp"

namespace conclave::etcd {

// Commands borrow their texts from the messages.
kv::Put command_of(const etcdserverpb::PutRequest& request);
kv::DeleteRange command_of(const etcdserverpb::DeleteRangeRequest& request);
std::expected<kv::Range, rpc::Status> command_of(const etcdserverpb::RangeRequest& request);
std::expected<kv::Txn, rpc::Status> command_of(const etcdserverpb::TxnRequest& request);

mvccpb::KeyValue message_of(const kv::RecordRef& record);
void fill(etcdserverpb::PutResponse& response, const kv::PutResult& result);
void fill(etcdserverpb::DeleteRangeResponse& response, const kv::DeleteResult& result);
void fill(etcdserverpb::RangeResponse& response, const kv::RangeResult& result, bool keys_only);
// What is nested says at which revision, and nothing else.
void fill(etcdserverpb::TxnResponse& response, const kv::TxnResult& result,
          const etcdserverpb::TxnRequest& request, kv::Revision revision);
void fill(mvccpb::Event& told, const kv::Event& event, bool with_previous);

}  // namespace conclave::etcd
