package buckettest

import "testing"

// rows are the tests in order of the first row that each is of.
var rows = []struct {
	name     string
	test     func(*testing.T, *Host)
	together bool // several ask at once
}{
	{name: "T1T9T11WhatIsAcceptedIsMadeByReconciliation", test: t1T9T11WhatIsAcceptedIsMadeByReconciliation},
	{name: "T2T3T5T6T7ContractsThatAreNone", test: t2T3T5T6T7ContractsThatAreNone},
	{name: "T4T8DefaultsAndDigests", test: t4T8DefaultsAndDigests},
	{name: "T12ReconciledAgainNothingChanges", test: t12ReconciledAgainNothingChanges, together: true},
	{name: "T13T14T15AdoptionAndWhatIsInTheWay", test: t13T14T15AdoptionAndWhatIsInTheWay},
	{name: "T16OptionalBucketsAreMadeToo", test: t16OptionalBucketsAreMadeToo},
	{name: "T17RevokedEachBucketIsGoneOnce", test: t17RevokedEachBucketIsGoneOnce},
	{name: "T18T19PairsOfOneNameHaveBucketsOfTheirOwn", test: t18T19PairsOfOneNameHaveBucketsOfTheirOwn},
	{name: "T20ACompatibleUpdateKeepsWhatThereIs", test: t20ACompatibleUpdateKeepsWhatThereIs},
	{name: "T21T22T23T24T25T26T27T28T29ClassesOfChanges", test: t21T22T23T24T25T26T27T28T29ClassesOfChanges},
	{name: "T30AMigrationIsAcknowledged", test: t30AMigrationIsAcknowledged},
	{name: "T31ThePlanCountsWhatANewSchemaWouldRefuse", test: t31ThePlanCountsWhatANewSchemaWouldRefuse},
	{name: "T32T33ValuesHoldToTheSchema", test: t32T33ValuesHoldToTheSchema},
	{name: "T32AValueOfTooManyWaysIsRefused", test: t32AValueOfTooManyWaysIsRefused},
	{name: "T34AWatchGoesOnBehindAValueThatIsNotValid", test: t34AWatchGoesOnBehindAValueThatIsNotValid},
	{name: "T35RevisionsCountBucketWide", test: t35RevisionsCountBucketWide},
	{name: "T36T37CreateAndUpdate", test: t36T37CreateAndUpdate},
	{name: "T38T39DeleteAndPurge", test: t38T39DeleteAndPurge},
	{name: "T40T41HistoryAndRevisions", test: t40T41HistoryAndRevisions},
	{name: "T42PurgeDeletes", test: t42PurgeDeletes},
	{name: "T43T44T45Values", test: t43T44T45Values},
	{name: "T46T47TimesToLiveOfABucket", test: t46T47TimesToLiveOfABucket},
	{name: "T48ThatAValueExpiresIsToldAlways", test: t48ThatAValueExpiresIsToldAlways},
	{name: "T49TimesToLiveOfKeys", test: t49TimesToLiveOfKeys},
	{name: "T50KeysAreChecked", test: t50KeysAreChecked},
	{name: "T54ByItsIdentifier", test: t54ByItsIdentifier},
	{name: "T55T56T57KeysByFilters", test: t55T56T57KeysByFilters},
	{name: "T58AListIsOfOneMoment", test: t58AListIsOfOneMoment},
	{name: "T59AWatchBeginsWithWhatThereIsInOrder", test: t59AWatchBeginsWithWhatThereIsInOrder},
	{name: "T59NothingIsMissedAtTheSeam", test: t59NothingIsMissedAtTheSeam, together: true},
	{name: "T60WhatAWatchLeavesOut", test: t60WhatAWatchLeavesOut},
	{name: "T61AWatchHasAThousandFilters", test: t61AWatchHasAThousandFilters},
	{name: "T62ASlowWatchIsToldWhatThereIsNow", test: t62ASlowWatchIsToldWhatThereIsNow},
	{name: "T64Merge", test: t64Merge},
	{name: "T64AMergeHoldsToTheSchema", test: t64AMergeHoldsToTheSchema},
	{name: "T65ABindingLeadsToTheServicesBucketAlone", test: t65ABindingLeadsToTheServicesBucketAlone},
}
