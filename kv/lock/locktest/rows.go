package locktest

import "testing"

// rows are the tests in order of the first row that each is of.
var rows = []struct {
	name     string
	test     func(*testing.T, *Host)
	together bool // several ask at once
	told     bool // changes are told in the stream of locks
}{
	{name: "A1A2A24A32A33A34A36LiteralKeys", test: a1A2A24A32A33A34A36LiteralKeys},
	{name: "A3A4AFreeTaskAndOneThatIsHeld", test: a3A4AFreeTaskAndOneThatIsHeld},
	{name: "A5AHolderAcquiresAgain", test: a5AHolderAcquiresAgain},
	{name: "A6NeverTwoHolders", test: a6NeverTwoHolders, together: true},
	{name: "A7A13A14TokensGrowAndReleasesAreTheHolders", test: a7A13A14TokensGrowAndReleasesAreTheHolders},
	{name: "A7WritesWithATokenThatIsNotThePresentOneAreFenced", test: a7WritesWithATokenThatIsNotThePresentOneAreFenced},
	{name: "A8A9HeartbeatsUpToTheEnd", test: a8A9HeartbeatsUpToTheEnd},
	{name: "A10TimesToLive", test: a10TimesToLive},
	{name: "A11A12TheNextInLineGetsIt", test: a11A12TheNextInLineGetsIt, together: true},
	{name: "A11A17ExpiryIsOneEvent", test: a11A17ExpiryIsOneEvent},
	{name: "A12A24A31EventsInOrder", test: a12A24A31EventsInOrder, together: true},
	{name: "A15A16A18A19SharedLocks", test: a15A16A18A19SharedLocks, together: true},
	{name: "A17AllExpireAtOnce", test: a17AllExpireAtOnce},
	{name: "A20UpgradeAndDowngrade", test: a20UpgradeAndDowngrade, together: true},
	{name: "A21CapacityOfAnAgent", test: a21CapacityOfAnAgent, together: true},
	{name: "A21WhatHasExpiredHidesNothing", test: a21WhatHasExpiredHidesNothing},
	{name: "A21ExpiredTasksLeaveRoom", test: a21ExpiredTasksLeaveRoom, together: true},
	{name: "A22DrainingAndOffline", test: a22DrainingAndOffline, together: true},
	{name: "A22HeartbeatsKeepAnAgent", test: a22HeartbeatsKeepAnAgent},
	{name: "A23DeregistrationLeavesNothing", test: a23DeregistrationLeavesNothing},
	{name: "A24PlacesInTheQueue", test: a24PlacesInTheQueue, together: true},
	{name: "A25FirstComeFirstServed", test: a25FirstComeFirstServed, together: true},
	{name: "A26PriorityThenArrival", test: a26PriorityThenArrival, together: true},
	{name: "A27A28WhoWaitsForLongEnoughIsTold", test: a27A28WhoWaitsForLongEnoughIsTold, together: true},
	{name: "A29OneEntryForAnAgent", test: a29OneEntryForAnAgent, together: true},
	{name: "A30WhoIsGoneHoldsUpNobody", test: a30WhoIsGoneHoldsUpNobody, together: true},
	{name: "A30ALockThatIsNotClaimedGoesToTheNext", test: a30ALockThatIsNotClaimedGoesToTheNext, together: true},
	{name: "A35AllLocksOfAnAgent", test: a35AllLocksOfAnAgent},
	{name: "A37TwoThatWaitForEachOther", test: a37TwoThatWaitForEachOther, together: true},
	{name: "A38RingsOfAnySize", test: a38RingsOfAnySize, together: true},
	{name: "A38AGrantThatClosesACycle", test: a38AGrantThatClosesACycle, together: true},
	{name: "A39ChainsAndDiamondsAreNoCycles", test: a39ChainsAndDiamondsAreNoCycles, together: true},
	{name: "A40A41WithoutDetection", test: a40A41WithoutDetection, together: true},
	{name: "A83EachChangeIsToldOnce", test: a83EachChangeIsToldOnce, told: true},
	{name: "A83WhoWaitsIsToldOf", test: a83WhoWaitsIsToldOf, told: true},
}
