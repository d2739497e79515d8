package op

// OfService are arguments about what a service of a tenant has. They are Tenanted, and Operated.
type OfService struct {
	OfTenant
	Service string // that asks; "": none does

	operator bool
}

// SetOperator says whether the user is bound to no tenant.
func (a *OfService) SetOperator(is bool) { a.operator = is }

// Operator reports whether the user who asks is bound to no tenant: on the daemon's end.
func (a *OfService) Operator() bool { return a.operator }

// Operated are arguments by which users who are bound to a tenant reach less than others.
type Operated interface {
	Tenanted
	// SetOperator says whether the user is bound to no tenant.
	SetOperator(is bool)
}
