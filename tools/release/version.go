package main

import (
	"regexp"
	"strings"
)

// version is the version of a release in the forms that its files need.
type version struct {
	tag    string // as the program prints it: v0.1.0
	semver string // 0.1.0; a build without a tag is 0.0.0-dev+COMMIT
	python string // by PEP 440: 0.1.0, or 0.0.0.dev0+COMMIT
	// tagged: a tag of the repository names this version.
	tagged bool
}

var (
	releaseTag  = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-(rc)\.?(\d+))?$`)
	notInSemver = regexp.MustCompile(`[^0-9A-Za-z]+`)
)

func parseVersion(tag string) version {
	if m := releaseTag.FindStringSubmatch(tag); m != nil {
		return version{tag: tag, semver: strings.TrimPrefix(tag, "v"), python: m[1] + m[2] + m[3], tagged: true}
	}
	if tag == "" {
		tag = "dev"
	}
	local := strings.Trim(notInSemver.ReplaceAllString(tag, "."), ".")
	return version{tag: tag, semver: "0.0.0-dev+" + local, python: "0.0.0.dev0+" + strings.ToLower(local)}
}
