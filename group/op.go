package group

import "github.com/stoadb/stoa/codec"

// Op is one op of a namespace as this node can read it. Its signatures, nonce and
// form have been checked: what fails there is refused and never becomes an Op.
type Op struct {
	Version codec.OpVersion
	ID      codec.OpID
	Parents []codec.OpID
	Signer  codec.Identity
	Nonce   uint64

	Root *codec.RootOp // of a root op; else nil

	Group codec.GroupID  // of a group op
	Body  *codec.GroupOp // of a group op; nil where it cannot be read
	Fault Reason         // why it is void for good, whatever else it is; zero, of a group op without Body: its key may yet come
	KeyOp codec.OpID     // of a sealed op of version 2: the op that introduces its key
	Keys  []Key          // of a clear op: by group, at most one of each
}

// states reports whether op states the authority of a group.
func (op *Op) states(g codec.GroupID) bool {
	return op.Root != nil && op.Root.Kind == codec.RootAuthorityStated && op.Root.GroupID == g
}

// isLogged reports whether op counts among those of its group: it can be read.
func (op *Op) isLogged() bool { return op.Root == nil && op.Body != nil }

// hasNonce reports whether the row of its signer's nonce in its group counts op. In
// version 2 that does not depend on keys.
func (op *Op) hasNonce() bool {
	return op.isLogged() || op.Root == nil && !op.KeyOp.IsZero() && op.Fault != NoGroup
}

// Outcome is what has become of an op. The zero Outcome is none.
type Outcome uint8

// The outcomes.
const (
	Effective Outcome = iota + 1 // it does what it says
	Void                         // its signer was not entitled to it
	Skipped                      // its signer was, but it would break an invariant of rows, so it changes none
	Sealed                       // it cannot be opened here, and does nothing
)

var outcomes = []string{"none", "effective", "void", "skipped", "sealed"}

// String returns "effective", "void", "skipped", "sealed", or "none".
func (o Outcome) String() string { return outcomes[min(int(o), len(outcomes))%len(outcomes)] }

// Verdict is the present judgement of an op. It is a function of the ops and keys
// that this node has, and changes when others arrive.
type Verdict struct {
	Outcome Outcome
	Reason  Reason // of Void and Skipped; else zero
}

// String returns, for example, "void: no right".
func (v Verdict) String() string {
	if v.Reason == 0 {
		return v.Outcome.String()
	}
	return v.Outcome.String() + ": " + v.Reason.String()
}

// Reason says why an op is void or skipped.
type Reason uint8

// The reasons. Void: NoRight to ContextElsewhere, NotPlaced to Outranked, and NoGroup of an
// op that no namespace takes any more. Skipped: Exists to NoUpgrade. Numbers are stored, and never
// change.
const (
	NoRight          Reason = iota + 1 // no grant among its ancestors gives its signer the right to it
	Revoked                            // there is one, but it was revoked, and the op does not descend from that
	AdminIdentity                      // it would remove or demote the admin identity
	NotInNamespace                     // its target is not a member of the namespace
	Consumed                           // its invitation was used by an ancestor
	Withdrawn                          // its invitation was revoked
	Unopenable                         // it fails to open under its key
	Malformed                          // what was sealed is no group op
	Rewrapped                          // what was sealed belongs to another place, signer or group
	Forged                             // what was sealed has a bad signature
	ContextElsewhere                   // the context belongs to another group
	Exists                             // the group has been created before
	NoGroup                            // there is no such group at its place in the order
	NotMember                          // its target is no member
	Cycle                              // the group would be below itself
	TooDeep                            // the group would be more than 16 below the root
	NameTaken                          // another has that name
	NoContext                          // the context does not belong to the group
	NoUpgrade                          // no upgrade is in progress, or the counts are larger than it
	NotPlaced                          // the key of the context has not signed for the group
	NotClear                           // what was sealed decides who may do what, which in version 2 is clear
	BadKey                             // what introduces its key does not give it to exactly the members
	Abandoned                          // an Admin's rotation has left its key behind
	Outranked                          // it would remove or demote an Admin who ranks above its signer
)

var reasons = []string{"", "no right", "right revoked", "admin identity", "target not in the namespace", "invitation used",
	"invitation revoked", "cannot be opened", "malformed", "rewrapped", "forged", "context in another group", "group exists", "no such group",
	"target not a member", "cycle", "too deep", "name taken", "no such context", "no such upgrade",
	"not signed by the context's creator", "not in clear", "key not good", "key abandoned",
	"target ranks above"}

// String returns a few words for people.
func (r Reason) String() string { return reasons[int(r)%len(reasons)] }
