//go:build linux

// Package browser opens the pages that Redline writes and serves in a real Chromium and clicks through them, in a
// network namespace that has no way out: what a page would fetch from elsewhere fails there.
//
// Chromium is this machine's, or Debian's package unpacked in the cache folder. Where it cannot be had the tests end with
// outcome.NotTested.
package browser
