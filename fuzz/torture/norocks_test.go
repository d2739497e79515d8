//go:build !cgo

package torture

const hasRocks = false
