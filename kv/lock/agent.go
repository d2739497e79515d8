package lock

// agentWord is what the key of an agent's record begins with.
const agentWord = "agent"

// may reports whether an agent has room for a request.
func (u *turn) may(*waiter) (bool, error) { return true, nil }

func (u *turn) noCapacity(agent string) error {
	return refuse(CodeCapacity, "agent", "%s has as many tasks as it can do", agent)
}
