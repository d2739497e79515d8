// Package policy answers whether somebody may do something, by records of agents,
// delegations and policies.
//
// A [World] holds what the decisions of a tenant are made by, in memory; it knows no store and no
// clock. [ParseAgent], [ParseDelegation], [ParsePolicy] and [ParseSettings] make its records of their
// documents, [World.Apply] puts them in, [World.Decide] answers a [Question], [World.Explain] with all that
// was looked at. [World.WhatCan] and [World.WhoCan] are the questions both ways. A [Chain] verifies
// the events of a ledger, each of which names the hash of the one before, against its [Head].
//
// A [Store] keeps the records, as [Collections] declares them, in package record, and the worlds of its
// tenants up to date with them: [Store.Decide] and [Store.Use] answer, [Store.Append] and
// [Store.Verify] are the ledger's. README.md has the rules.
package policy
