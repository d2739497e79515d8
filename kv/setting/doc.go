// Package setting is the configuration of a tenant, typed: how long locks are held, how long
// approvals and tasks wait, what risk is high, and which features are switched on.
//
// [New] makes a [Store] of a kv.Store. [Store.Set], [Store.Get], [Store.List], [Store.Delete] and
// [Store.Watch] are for those who configure, by the names of name.go; [Store.Values] is for
// who goes by it, as often as there are requests. README.md has the names and the bytes.
package setting
