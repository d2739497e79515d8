package fault

// The names of the fields of errors.
const (
	FieldColumn      = "column"      // the name of a column
	FieldKey         = "key"         // hex; of a key over 1,024 bytes its beginning
	FieldKeySize     = "key_size"    // the bytes of a key whose beginning is given
	FieldType        = "type"        // of a key or a value
	FieldField       = "field"       // of a key, a value or a request
	FieldOffset      = "offset"      // in a key or a value, in bytes
	FieldReason      = "reason"      // for people
	FieldChange      = "change"      // the number of a change of a batch, from 0
	FieldExpectation = "expectation" // the number of an expectation, from 0
	FieldAbsent      = "absent"      // "true": nothing was expected under the key
	FieldLimit       = "limit"
	FieldSize        = "size"
	FieldWhat        = "what"     // what there is too much of
	FieldSnapshot    = "snapshot" // the number of a snapshot
	FieldStart       = "start"    // hex, of a range
	FieldEnd         = "end"      // hex, of a range
	FieldIncident    = "incident" // what to look for in the daemon's log
	FieldBlob        = "blob_id"  // hex
	FieldApplication = "application_id"
	FieldDeclared    = "declared"
	FieldActual      = "actual"
	FieldContext     = "context_id"   // hex
	FieldDelta       = "delta_id"     // hex
	FieldRoot        = "root_hash"    // hex
	FieldTime        = "time"         // of a stamp, NTP64
	FieldNode        = "node_id"      // decimal
	FieldRead        = "read"         // hex: the root that was read
	FieldDetail      = "detail"       // for people
	FieldOwner       = "owner"        // a service
	FieldPhysical    = "physical"     // a time, RFC 3339
	FieldNext        = "next"         // a time, RFC 3339
	FieldExpected    = "expected"     // a time, RFC 3339
	FieldRetryAfter  = "retry_after"  // milliseconds
	FieldCode        = "code"         // of a refusal of the services of key-values, records and what agents coordinate by
	FieldTenant      = "tenant"       // of the services Kv, Record and Policy
	FieldCollection  = "collection"   // of the services Record and Policy
	FieldRevision    = "revision"     // that a record has
	FieldNamespace   = "namespace_id" // hex
	FieldLock        = "lock"         // the name of one
	FieldSetting     = "setting"      // the name of one
	FieldBucket      = "bucket"       // the name of one
	FieldBucketKey   = "bucket_key"   // a key of it, as it is
	FieldPointer     = "pointer"      // where in a value, RFC 6901
	FieldFaults      = "faults"       // all that is wrong with a contract, as JSON
	FieldHolders     = "holders"      // agents, as JSON
	FieldRemaining   = "remaining_ms" // of a lock's first holder to end
	FieldToken       = "token"        // of the grant, or the lease, that there is
	FieldFirst       = "first"        // the id of an entry
	FieldCycle       = "cycle"        // agents that wait for each other, as JSON
	FieldAnswers     = "answers"      // the first answer of an approval, or those that are refused, as JSON
	FieldGroup       = "group_id"     // hex
	FieldOp          = "op_id"        // hex
	FieldRole        = "role"         // of peers, with commas between several
)

// WhatRequests is the value of FieldWhat when too many bytes of requests are
// under way: the request was not looked at.
const WhatRequests = "requests"

// WhatCalls is the value of FieldWhat when a connection has too many calls under
// way: the request was not looked at.
const WhatCalls = "calls of one connection"
