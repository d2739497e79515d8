package op

// OfService are arguments about what a service of a tenant has. They are Tenanted, and Operated.
type OfService struct {
	OfTenant
	ByUser
	Service string // that asks; "": none does
}

// ByUser says of the user who asks, on the daemon's end, whether that is an operator. It is
// embedded in arguments that are Tenanted, which are Operated by it.
type ByUser struct{ operator bool }

// SetOperator says whether the user is bound to no tenant.
func (u *ByUser) SetOperator(is bool) { u.operator = is }

// Operator reports whether the user who asks is bound to no tenant.
func (u *ByUser) Operator() bool { return u.operator }

// Operated are arguments by which users who are bound to a tenant reach less than others.
type Operated interface {
	Tenanted
	// SetOperator says whether the user is bound to no tenant.
	SetOperator(is bool)
}
