package kv

import (
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// TenantRows says which rows of a store are those of one tenant, for a copy of it alone.
type TenantRows struct {
	number uint64
	name   string
}

// RowsOf returns which rows of a store are those of a tenant. It returns ErrSpaceNotFound
// if there is no such tenant.
func RowsOf(g engine.Getter, tenant string) (TenantRows, error) {
	t, err := lookTenant(func(key []byte) ([]byte, error) { return g.Get(nil, column.Generic, key) }, tenant)
	return TenantRows{t.number, tenant}, err
}

// Has reports whether a row is of the tenant, or of what the rows of all tenants go by: the
// names of spaces, which numbers have been given, and how late it is.
func (t TenantRows) Has(row Row) bool {
	switch row.Shape {
	case ShapeTenant:
		return string(row.Key) == t.name
	case ShapeTenantName, ShapeTenantSpaces:
		return row.Number == t.number
	case ShapeDue:
		return row.Of.Tenant() == t.number
	case ShapeSpace, ShapeSpaceName, ShapeStore:
		return true
	}
	return row.Scope.Tenant() == t.number
}
