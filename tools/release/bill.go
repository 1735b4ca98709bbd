package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// The part of CycloneDX 1.6 that the bill of materials uses.
type (
	billOfMaterials struct {
		Format       string          `json:"bomFormat"`
		Spec         string          `json:"specVersion"`
		Serial       string          `json:"serialNumber"`
		Version      int             `json:"version"`
		Metadata     billMetadata    `json:"metadata"`
		Components   []component     `json:"components"`
		Dependencies []billReference `json:"dependencies"`
	}
	billMetadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type     string          `json:"type"`
		Ref      string          `json:"bom-ref"`
		Name     string          `json:"name"`
		Version  string          `json:"version"`
		Licenses []licenseChoice `json:"licenses"`
		PURL     string          `json:"purl"`
	}
	licenseChoice struct {
		Expression string `json:"expression"`
	}
	billReference struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

// bill is the software bill of materials in CycloneDX JSON: everything that the programs of the release contain.
func (r *release) bill(ctx context.Context) ([]byte, error) {
	list, err := r.linked(ctx)
	if err != nil {
		return nil, err
	}
	self := newComponent("application", module{
		Name: "redline", Version: r.version.semver, License: "Apache-2.0", PURL: "pkg:golang/github.com/redline-bench/redline@" + r.version.tag,
	})
	b := billOfMaterials{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: billMetadata{Timestamp: r.when.Format(time.RFC3339), Component: self}}
	needs := billReference{Ref: self.Ref}
	for _, m := range list {
		c := newComponent("library", m)
		b.Components = append(b.Components, c)
		needs.DependsOn = append(needs.DependsOn, c.Ref)
	}
	b.Dependencies = []billReference{needs}
	content, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	b.Serial = serial(content)
	return json.MarshalIndent(b, "", "  ")
}

func newComponent(kind string, m module) component {
	return component{Type: kind, Ref: m.PURL, Name: m.Name, Version: m.Version, Licenses: []licenseChoice{{m.License}}, PURL: m.PURL}
}

// serial is a UUID that follows from the content, so that equal bills have equal numbers.
func serial(content []byte) string {
	s := sha256.Sum256(content)
	s[6], s[8] = s[6]&0x0f|0x80, s[8]&0x3f|0x80 // version 8, variant 1
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", s[:4], s[4:6], s[6:8], s[8:10], s[10:16])
}
