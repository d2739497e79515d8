package wire

// PolicyDecide is a stoav1.PolicyDecideRequest on its way out.
type PolicyDecide struct {
	Tenant        []byte // not kept
	Agent, Action string // UTF-8
	Context       []byte // not kept
}

// AppendTo appends the message to dst.
func (d *PolicyDecide) AppendTo(dst []byte) []byte {
	if len(d.Tenant) > 0 {
		dst = appendBytesField(dst, 1, d.Tenant)
	}
	if d.Agent != "" {
		dst = appendBytesField(dst, 2, d.Agent)
	}
	if d.Action != "" {
		dst = appendBytesField(dst, 3, d.Action)
	}
	if len(d.Context) > 0 {
		dst = appendBytesField(dst, 4, d.Context)
	}
	return dst
}
