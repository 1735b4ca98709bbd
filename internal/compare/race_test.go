//go:build race

package compare_test

// comparisons is how many are simulated: fewer under the race detector, which makes them slow.
const comparisons = 150
