package frame

import "github.com/stoadb/stoa/rpc/stoav1"

// Method is a call that goes in frames.
type Method struct {
	Number uint16 // never reused
	Name   string // as gRPC has it
	// Short calls are answered on the goroutine that reads the connection, which
	// saves handing them over: those that take some microseconds.
	Short bool
}

// Methods returns all calls that go in frames. Those of one service have numbers
// of the same hundred. A service whose calls are unary, or streams of messages
// either way, needs no more than a line for each here, and
// server.framed.register.
func Methods() []Method {
	return []Method{
		{101, stoav1.Store_Get_FullMethodName, true},
		{102, stoav1.Store_MultiGet_FullMethodName, true},
		{103, stoav1.Store_Apply_FullMethodName, false},
		{104, stoav1.Store_Scan_FullMethodName, false},
		{105, stoav1.Store_ApproximateSize_FullMethodName, true},
		{106, stoav1.Store_Session_FullMethodName, false},

		{301, stoav1.Namespace_NewIdentity_FullMethodName, false},
		{302, stoav1.Namespace_GetIdentity_FullMethodName, false},
		{303, stoav1.Namespace_ExportIdentity_FullMethodName, false},
		{304, stoav1.Namespace_ImportIdentity_FullMethodName, false},
		{305, stoav1.Namespace_Create_FullMethodName, false},
		{306, stoav1.Namespace_Propose_FullMethodName, false},
		{307, stoav1.Namespace_Apply_FullMethodName, false},
		{308, stoav1.Namespace_ApplyMany_FullMethodName, false},
		{309, stoav1.Namespace_List_FullMethodName, false},
		{310, stoav1.Namespace_Get_FullMethodName, false},
		{311, stoav1.Namespace_Tree_FullMethodName, false},
		{312, stoav1.Namespace_Heads_FullMethodName, false},
		{313, stoav1.Namespace_GetOp_FullMethodName, false},
		{314, stoav1.Namespace_OpsSince_FullMethodName, false},
		{315, stoav1.Namespace_Missing_FullMethodName, false},
		{316, stoav1.Namespace_Pending_FullMethodName, false},
		{317, stoav1.Namespace_Equivocations_FullMethodName, false},
		{318, stoav1.Namespace_Invite_FullMethodName, false},
		{319, stoav1.Namespace_Join_FullMethodName, false},
		{320, stoav1.Namespace_Admit_FullMethodName, false},
		{321, stoav1.Namespace_Verify_FullMethodName, false},
		{322, stoav1.Namespace_ListPending_FullMethodName, false},
		{401, stoav1.Group_Get_FullMethodName, false},
		{402, stoav1.Group_Members_FullMethodName, false},
		{403, stoav1.Group_Contexts_FullMethodName, false},
		{404, stoav1.Group_Resolve_FullMethodName, false},
		{405, stoav1.Group_Ops_FullMethodName, false},
		{406, stoav1.Group_Follow_FullMethodName, false},
		{407, stoav1.Group_Voided_FullMethodName, false},
		{408, stoav1.Group_Reissue_FullMethodName, false},
		{409, stoav1.Group_Keys_FullMethodName, false},
		{410, stoav1.Group_Rotate_FullMethodName, false},
		{411, stoav1.Group_SigningKeys_FullMethodName, false},
		{412, stoav1.Group_AddSigningKey_FullMethodName, false},
		{413, stoav1.Group_DeleteSigningKey_FullMethodName, false},
		{414, stoav1.Group_Names_FullMethodName, false},
		{415, stoav1.Group_Place_FullMethodName, false},
	}
}
