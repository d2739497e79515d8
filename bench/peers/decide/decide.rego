# The rules of decisions as kv/policy/README.md has them. WORLD is where the records are:
# delegations by delegate, rules of active policies by scope, as one would lay them out for
# this engine to find them. A condition is a list of questions, all of which must hold.
package stoa

agent := WORLD.agents[input.agent]

applies(pattern, _) if pattern == "*"

applies(pattern, action) if pattern == action

applies(pattern, action) if {
	endswith(pattern, ".*")
	startswith(action, trim_suffix(pattern, "*"))
}

any_applies(patterns, action) if {
	some pattern in patterns
	applies(pattern, action)
}

# Conditions: true, false or error, by the first question that does not hold.
says(condition) := "true" if count(unheld(condition)) == 0

says(condition) := first if first := unheld(condition)[0]

unheld(condition) := [answer | some one in condition; answer := answers(one); answer != "true"]

answers(one) := "error" if not there(one)

answers(one) := "true" if holds(one)

answers(one) := "false" if {
	there(one)
	not holds(one)
}

there(one) if one.field == ""

there(one) if _ = input.context[one.field]

holds(one) if one.op == "true"

holds(one) if {
	one.op == "eq"
	input.context[one.field] == one.value
}

holds(one) if {
	one.op == "lt"
	input.context[one.field] < one.value
}

holds(one) if {
	one.op == "in"
	input.context[one.field] in one.value
}

holds(one) if {
	one.op == "notin"
	there(one)
	not input.context[one.field] in one.value
}

holds(one) if {
	one.op == "approved"
	input.context[one.field] in input.context.approved
}

holds(one) if {
	one.op == "starts"
	startswith(input.context[one.field], one.value)
}

# Delegations that cover the action and would be in force, uses aside.
covering := [d |
	some d in WORLD.delegations[input.agent]
	any_applies(d.scope, input.action)
	d.active
	not d.revoked
	d.from <= input.time
	input.time < d.until
	every condition in d.conditions { says(condition) == "true" }
]

grants := sort([[approval(d), d.limited, d.id] | some d in covering; d.uses < d.max])

exhausted := sort([[d.limited, d.id] | some d in covering; d.uses >= d.max])

approval(d) := 1 if any_applies(d.approval, input.action)
else := 0

# Rules of the patterns that match the action.
patterns contains input.action

patterns contains "*"

patterns contains concat(".", array.concat(array.slice(segments, 0, n), ["*"])) if {
	count(segments) > 1
	some n in numbers.range(1, count(segments) - 1)
}

segments := split(input.action, ".")

ranks := {"deny": 0, "require_human_approval": 2, "transform": 3, "allow": 4}

results := {"deny": "denied", "require_human_approval": "pending_approval", "transform": "transformed", "allow": "allowed"}

rank(rule, answer) := 1 if answer == "error"
else := ranks[rule.action]

result(rule, answer) := "denied" if answer == "error"
else := results[rule.action]

sayings := sort([[0 - rule.priority, rank(rule, answer), rule.policy, rule.place, rule.rule, result(rule, answer)] |
	some pattern in patterns
	some rule in WORLD.rules[pattern]
	answer := says(rule.condition)
	answer != "false"
])

decision := {"result": "denied", "reason": "agent disabled"} if agent.status == "disabled"

else := {"result": "denied", "reason": "agent pending"} if agent.status == "pending"

else := {"result": "denied", "reason": "exhausted", "delegation": exhausted[0][1]} if {
	count(grants) == 0
	input.consume
	count(exhausted) > 0
}

else := {"result": "denied", "reason": "No delegation for this action"} if count(grants) == 0

else := {"result": "pending_approval", "reason": "Requires human approval", "policy": "delegation", "delegation": grants[0][2]} if grants[0][0] == 1

else := {"result": "pending_approval", "reason": "Requires human approval", "policy": "agent", "delegation": grants[0][2]} if any_applies(agent.approval, input.action)

else := {"result": sayings[0][5], "policy": sayings[0][2], "rule": sayings[0][4], "delegation": grants[0][2]} if count(sayings) > 0

else := {"result": "denied", "reason": "No policy allows this action", "delegation": grants[0][2]} if WORLD.settings.default_deny

else := {"result": "allowed", "reason": "No policy restriction", "delegation": grants[0][2]}
