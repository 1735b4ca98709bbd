//go:build !race

package compare_test

// comparisons is how many are simulated.
const comparisons = 1000
