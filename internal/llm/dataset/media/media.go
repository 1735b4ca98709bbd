// Package media generates images, audio and videos for requests, and reads media files, as data URLs.
//
// Generated media are a gradient with noise: they cost a codec about as much as a photograph, and equal seeds give equal data.
package media

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// MaxFile limits the size of a media file.
const MaxFile = 256 << 20

// URL is data in a data URL.
func URL(kind string, data []byte) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// Image makes a picture as PNG or JPEG.
func Image(r *rand.Rand, width, height int, format string) ([]byte, string, error) {
	var b bytes.Buffer
	var kind string
	var err error
	switch format {
	case "jpeg", "jpg":
		kind, err = "image/jpeg", jpeg.Encode(&b, picture(r, width, height), &jpeg.Options{Quality: 80})
	case "", "png":
		e := png.Encoder{CompressionLevel: png.BestSpeed}
		kind, err = "image/png", e.Encode(&b, picture(r, width, height))
	default:
		return nil, "", fmt.Errorf("pictures of format %q cannot be made; choose png or jpeg", format)
	}
	if err != nil {
		return nil, "", fmt.Errorf("make a picture of %d×%d: %w", width, height, err)
	}
	return b.Bytes(), kind, nil
}

// picture is a gradient of two colors with noise.
func picture(r *rand.Rand, width, height int) *image.RGBA {
	p := image.NewRGBA(image.Rect(0, 0, width, height))
	c := color.RGBA{uint8(r.UintN(256)), uint8(r.UintN(256)), uint8(r.UintN(256)), 255}
	for y := range height {
		row := p.Pix[y*p.Stride:]
		for x := range width {
			noise := r.Uint32()
			row[4*x] = c.R + uint8(x*255/width) + uint8(noise&15)
			row[4*x+1] = c.G + uint8(y*255/height) + uint8(noise>>8&15)
			row[4*x+2] = c.B + uint8(noise>>16&15)
			row[4*x+3] = 255
		}
	}
	return p
}

// types are the media types of files by their endings; the standard table depends on the machine.
var types = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".bmp": "image/bmp",
	".wav": "audio/wav", ".mp3": "audio/mpeg", ".flac": "audio/flac", ".ogg": "audio/ogg", ".m4a": "audio/mp4",
	".mp4": "video/mp4", ".webm": "video/webm", ".avi": "video/avi", ".mov": "video/quicktime", ".mkv": "video/x-matroska",
}

// Of returns what is sent for an entry of a data file: a URL or a data URL unchanged, AIPerf's "wav,<base64>" as a data URL, and
// a file with its contents. Relative paths start in dir, or in the current folder.
func Of(text, dir string) (string, error) {
	if strings.HasPrefix(text, "data:") || strings.Contains(text, "://") {
		return text, nil
	}
	if kind, data, ok := strings.Cut(text, ","); ok && (strings.EqualFold(kind, "wav") || strings.EqualFold(kind, "mp3")) {
		return "data:" + types["."+strings.ToLower(kind)] + ";base64," + data, nil
	}
	data, kind, err := File(text, dir)
	if err != nil {
		return "", err
	}
	return URL(kind, data), nil
}

// Check reports whether Of will work, without reading a file.
func Check(text, dir string) error {
	if strings.HasPrefix(text, "data:") || strings.Contains(text, "://") || strings.HasPrefix(text, "wav,") || strings.HasPrefix(text, "mp3,") {
		return nil
	}
	_, err := find(text, dir)
	return err
}

// File reads a media file and returns its type.
func File(name, dir string) (data []byte, kind string, err error) {
	path, err := find(name, dir)
	if err != nil {
		return nil, "", err
	}
	if data, err = os.ReadFile(path); err != nil {
		return nil, "", fmt.Errorf("read the media file: %w", err)
	}
	kind = types[strings.ToLower(filepath.Ext(path))]
	if kind == "" {
		kind, _, _ = strings.Cut(http.DetectContentType(data), ";")
	}
	return data, kind, nil
}

// find returns the path of a named file.
func find(name, dir string) (string, error) {
	path := name
	info, err := os.Stat(path)
	if err != nil && dir != "" && !filepath.IsAbs(name) {
		path = filepath.Join(dir, name)
		info, err = os.Stat(path)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("the media file %.200q cannot be read; write a path, an address or a data URL", name)
	case info.IsDir():
		return "", fmt.Errorf("the media file %.200q is a folder", name)
	case info.Size() > MaxFile:
		return "", fmt.Errorf("the media file %.200q has %d bytes, at most %d are sent", name, info.Size(), MaxFile)
	}
	return path, nil
}
