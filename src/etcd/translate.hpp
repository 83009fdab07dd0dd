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

// A transaction that writes nothing, whichever way its comparisons go; and one of those that is content with
// what may be old, as all its reads are.
bool only_reads(const etcdserverpb::TxnRequest& request);
bool is_serializable(const etcdserverpb::TxnRequest& request);

mvccpb::KeyValue message_of(const kv::RecordRef& record);
void fill(etcdserverpb::PutResponse& response, const kv::PutResult& result);
void fill(mvccpb::Event& told, const kv::Event& event, bool with_previous);

}  // namespace conclave::etcd
