package torture

// oldCalls are those that newer systems do not have.
func oldCalls() map[uint32]call { return nil }

// removesDir is no call: here one call removes whatever there is.
const removesDir = 1<<32 - 1
