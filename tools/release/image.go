package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// The media types of the OCI image specification.
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor names a blob of an image.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// layout collects the files of an OCI image layout.
type layout struct{ files []file }

// blob adds a blob and returns its descriptor.
func (l *layout) blob(kind string, data []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	l.files = append(l.files, file{name: "blobs/sha256/" + sum, data: data, mode: 0o644})
	return descriptor{MediaType: kind, Digest: "sha256:" + sum, Size: len(data)}
}

// writeImage builds packaging/Containerfile for each Linux platform and writes the image as an OCI archive.
func writeImage(ctx context.Context, r *release) error {
	rec, err := readRecipe(filepath.Join(r.dir, "packaging", "Containerfile"))
	if err != nil {
		return err
	}
	rec.config.Labels["org.opencontainers.image.version"] = r.version.semver
	var l layout
	var manifests []descriptor
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		d, err := l.platform(ctx, r, rec, p)
		if err != nil {
			return err
		}
		manifests = append(manifests, d)
	}
	versions, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": manifests})
	if err != nil {
		return err
	}
	all := l.blob(indexType, versions)
	all.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.version.tag}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": []descriptor{all}})
	if err != nil {
		return err
	}
	l.files = append(l.files, file{name: "index.json", data: index, mode: 0o644},
		file{name: "oci-layout", data: []byte(`{"imageLayoutVersion":"1.0.0"}`), mode: 0o644})
	data, err := tarball(l.files, r.when)
	if err != nil {
		return err
	}
	return r.write("redline-"+r.version.tag+"-oci.tar", data)
}

// platform adds the image of one platform.
func (l *layout) platform(ctx context.Context, r *release, rec *recipe, p platform) (descriptor, error) {
	layer, err := r.layer(ctx, rec, p)
	if err != nil {
		return descriptor{}, err
	}
	packed, err := gzipped(layer)
	if err != nil {
		return descriptor{}, err
	}
	config, err := json.Marshal(map[string]any{
		"created": r.when.Format(time.RFC3339), "os": p.os, "architecture": p.arch, "config": rec.config,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	if err != nil {
		return descriptor{}, err
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": l.blob(configType, config), "layers": []descriptor{l.blob(layerType, packed)},
	})
	if err != nil {
		return descriptor{}, err
	}
	d := l.blob(manifestType, manifest)
	d.Platform = map[string]string{"os": p.os, "architecture": p.arch}
	return d, nil
}

// layer is the root file system of the image as a tar file.
func (r *release) layer(ctx context.Context, rec *recipe, p platform) ([]byte, error) {
	dir, err := r.stage(ctx, p)
	if err != nil {
		return nil, err
	}
	folders := map[string]bool{}
	addFolders := func(name string) {
		for ; name != "." && name != "/" && name != ""; name = path.Dir(name) {
			folders[name] = true
		}
	}
	var list []file
	for _, c := range rec.copies {
		info, err := os.Stat(filepath.Join(dir, c[0]))
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(filepath.Join(dir, c[0]))
		if err != nil {
			return nil, err
		}
		list = append(list, file{name: c[1], data: data, mode: info.Mode()})
		addFolders(path.Dir(c[1]))
	}
	addFolders(strings.TrimPrefix(rec.config.WorkingDir, "/"))
	for name := range folders {
		list = append(list, file{name: name + "/", mode: 0o755})
	}
	return tarball(list, r.when)
}
