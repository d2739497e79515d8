package inspect

import "github.com/stoadb/stoa/column"

// checks is the table of what Verify looks at beside the form of rows. A new
// check is a new line here and a file of its name. It is never written to.
var checks = []struct {
	column column.Column
	full   bool   // only in a full verification
	phase  string // of its work
	begin  func(*verifier) check
}{
	{column.Meta, false, phaseReferences, checkContextHeads},
	{column.Meta, true, phaseReplay, checkReplay},
	{column.Meta, true, phaseReferences, checkContent},
	{column.Delta, true, phaseReferences, checkDeltas},
	{column.Delta, true, phaseReferences, checkOrphans},
	{column.Blobs, false, phaseBlobs, checkBlobs},
	{column.Blobs, true, phaseBlobs, checkBlobHashes},
	{column.Application, true, phaseReferences, checkApplications},
	{column.Alias, true, phaseReferences, checkAliases},
	{column.Generic, false, phaseReferences, checkOrder},
	{column.Generic, true, phaseReferences, checkOrphans},
	{column.Generic, false, phaseReferences, checkKVRows},
	{column.Generic, true, phaseKV, checkKV},
	{column.Generic, true, phaseRecords, checkRecords},
	{column.Generic, true, phaseRecords, checkCapabilities},
	{column.Group, false, phaseReferences, checkOpLog},
	{column.Group, false, phaseReferences, checkGovHeads},
	{column.Group, true, phaseGovernance, checkGovernance},
	{column.Group, true, phaseReferences, checkTree},
	{column.Group, true, phaseReferences, checkContexts},
	{column.Group, true, phaseReferences, checkKeyIDs},
}

// rowCheck is a check that looks at every row by itself.
type rowCheck func(r row) error

func (c rowCheck) row(r row) error { return c(r) }

func (rowCheck) end() error { return nil }
