begin_twins(multi_paxos MultiPaxos multi-paxos)
twin(ignores_votes "proposes nothing where others have voted already"
  "vote == found.end() ? Content{} : vote->second.content"
  "vote == found.end() ? Content{} : Content{}")
twin(obeys_old_leaders "votes below what it has promised"
  "if (ballot < promised) {"
  "if (ballot < promised && ballot.round + 3 < promised.round) {")
twin(forgets_its_votes "keeps its promise and not its votes over a crash"
  "node.votes = durable.votes;"
  "(void)durable.votes;")
twin(trusts_old_votes "takes its vote in an older ballot for what was chosen"
  "vote == votes.end() || vote->second.ballot != promised"
  "vote == votes.end()")
twin(counts_twice "counts a vote as often as it hears it"
  "flight->second.accepted_by.insert(from);"
  "flight->second.accepted_by.insert(flight->second.accepted_by.contains(from) ? NodeId{from.value + 100} : from);")
twin(counts_repetitions "takes a repeated proposal for a new one"
  "return last != applied.end() && entry.serial <= last->second;"
  "return last != applied.end() && entry.serial < last->second;")
twin(does_not_repeat "never repeats what was not answered"
  "if (!flight.accepted_by.contains(peer))"
  "if (flight.accepted_by.empty())")
end_twins()
