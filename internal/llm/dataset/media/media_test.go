package media_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/jpeg"
	_ "image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/llm/dataset/media"
)

func gen() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestImage(t *testing.T) {
	for _, format := range []string{"png", "jpeg"} {
		data, kind, err := media.Image(gen(), 60, 40, format)
		if err != nil {
			t.Fatal(err)
		}
		c, name, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil || c.Width != 60 || c.Height != 40 || name != format || kind != "image/"+format {
			t.Errorf("%s: %v %s %s %v", format, c, name, kind, err)
		}
		again, _, _ := media.Image(gen(), 60, 40, format)
		if !bytes.Equal(data, again) {
			t.Error("the same seed gives another picture")
		}
	}
	if _, _, err := media.Image(gen(), 5, 5, "tiff"); err == nil {
		t.Error("tiff was made")
	}
}

func TestAudio(t *testing.T) {
	for _, depth := range []int{8, 16, 24, 32} {
		data, err := media.Audio(gen(), 0.5, 8000, 2, depth)
		if err != nil {
			t.Fatal(err)
		}
		le := binary.LittleEndian
		size := 4000 * 2 * depth / 8
		if string(data[:4]) != "RIFF" || string(data[8:16]) != "WAVEfmt " || len(data) != 44+size || int(le.Uint32(data[4:])) != 36+size ||
			le.Uint16(data[22:]) != 2 || le.Uint32(data[24:]) != 8000 || int(le.Uint16(data[34:])) != depth {
			t.Errorf("%d bits: % x", depth, data[:44])
		}
	}
	if _, err := media.Audio(gen(), 1, 8000, 1, 12); err == nil {
		t.Error("12 bits were made")
	}
}

func TestVideo(t *testing.T) {
	data, err := media.Video(gen(), 1, 3, 32, 16)
	if err != nil {
		t.Fatal(err)
	}
	if string(data[:4]) != "RIFF" || string(data[8:12]) != "AVI " || int(binary.LittleEndian.Uint32(data[4:])) != len(data)-8 {
		t.Fatalf("no AVI: % x", data[:16])
	}
	frames := 0
	rest := data[bytes.Index(data, []byte("movi"))+4:]
	for ; bytes.HasPrefix(rest, []byte("00dc")); frames++ {
		n := int(binary.LittleEndian.Uint32(rest[4:]))
		c, err := jpeg.DecodeConfig(bytes.NewReader(rest[8 : 8+n]))
		if err != nil || c.Width != 32 || c.Height != 16 {
			t.Fatalf("picture %d: %v", frames, err)
		}
		rest = rest[8+n+n%2:]
	}
	if frames != 3 {
		t.Errorf("%d pictures", frames)
	}
}

func TestOf(t *testing.T) {
	dir := t.TempDir()
	data, _, err := media.Image(gen(), 4, 4, "png")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.png"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"https://example.com/x.png": "https://example.com/x.png", "data:image/png;base64,AA==": "data:image/png;base64,AA==",
		"wav,AAAA": "data:audio/wav;base64,AAAA", "a.png": "data:image/png;base64," + base64.StdEncoding.EncodeToString(data),
	} {
		got, err := media.Of(text, dir)
		if err != nil || got != want {
			t.Errorf("%s: %.60s, %v", text, got, err)
		}
		if err := media.Check(text, dir); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"none.png", ".", strings.Repeat("x", 5000)} {
		if _, err := media.Of(bad, dir); err == nil {
			t.Errorf("%.20s: no error", bad)
		}
	}
}
