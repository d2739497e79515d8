package approvaltest

import "testing"

// rows are the tests in order of the first row that each is of.
var rows = []struct {
	name     string
	test     func(*testing.T, *Host)
	together bool // several ask at once
}{
	{"A1A2A44A45A57LiteralKeys", a1A2A44A45A57LiteralKeys, false},
	{"A42ARequestIsMade", a42ARequestIsMade, false},
	{"A43TheQueueOfAUser", a43TheQueueOfAUser, false},
	{"A44TheQueueOfAll", a44TheQueueOfAll, false},
	{"A46AnAnswerIsOneBatch", a46AnAnswerIsOneBatch, false},
	{"A47RejectAndRequestChanges", a47RejectAndRequestChanges, false},
	{"A48WhoIsNotAsked", a48WhoIsNotAsked, false},
	{"A49TheFirstAnswerCounts", a49TheFirstAnswerCounts, true},
	{"A50Quorum", a50Quorum, false},
	{"A51A52A60StatisticsAreARecount", a51A52A60StatisticsAreARecount, false},
	{"A52StatisticsOfAUser", a52StatisticsOfAUser, false},
	{"A53A54Delegation", a53A54Delegation, false},
	{"A55A56DelegationPolicies", a55A56DelegationPolicies, false},
	{"A57PoliciesThatAreNotInForce", a57PoliciesThatAreNotInForce, false},
	{"A58Escalation", a58Escalation, false},
	{"A59Archive", a59Archive, false},
	{"A60AllPairsOfStates", a60AllPairsOfStates, false},
	{"A61OneTransitionWins", a61OneTransitionWins, true},
	{"A63TimesOfTransitions", a63TimesOfTransitions, false},
	{"A64AConfigIsSetOnce", a64AConfigIsSetOnce, false},
	{"A65A93TasksComeBackAndEnd", a65A93TasksComeBackAndEnd, false},
	{"A66IndexesOfTasks", a66IndexesOfTasks, false},
	{"A67Execution", a67Execution, false},
	{"A68AnExecutionTimesOut", a68AnExecutionTimesOut, false},
	{"A69Retry", a69Retry, false},
	{"A70Preview", a70Preview, false},
	{"A71Risk", a71Risk, false},
	{"A83EachChangeIsAnEvent", a83EachChangeIsAnEvent, false},
	{"A90AnswersTogether", a90AnswersTogether, false},
}
