package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/dataset/media"
)

// mediaMaker makes the parts of a turn other than text.
type mediaMaker struct {
	m     *Media
	files []string // of ImageDir
}

func (m *Media) any() bool { return m.Images > 0 || m.Audios > 0 || m.Videos > 0 }

// kinds returns the kinds of parts that are made.
func (m *Media) kinds() []llm.MediaKind {
	var list []llm.MediaKind
	for k, n := range map[llm.MediaKind]int{llm.Image: m.Images, llm.Audio: m.Audios, llm.Video: m.Videos} {
		if n > 0 {
			list = append(list, k)
		}
	}
	slices.Sort(list)
	return list
}

func (m *Media) check() error {
	switch {
	case m.Images < 0 || m.Audios < 0 || m.Videos < 0:
		return errors.New("the number of images, audio clips and videos must not be negative")
	case m.Channels < 0 || m.Channels > 64 || m.FPS < 0 || m.VideoWidth < 0 || m.VideoHeight < 0 || m.VideoSeconds < 0:
		return errors.New("sample rates, channels, frames per second and sizes of videos must not be negative")
	case m.VideoWidth > 1<<14 || m.VideoHeight > 1<<14:
		return fmt.Errorf("a video of %d×%d is too large; at most 16384×16384", m.VideoWidth, m.VideoHeight)
	case m.Width.Mean > 1<<14 || m.Height.Mean > 1<<14:
		return fmt.Errorf("an image of %v×%v is too large; at most 16384×16384", m.Width.Mean, m.Height.Mean)
	}
	return nil
}

// load finds the images of the folder, and makes one part of each kind, so that errors are found before the load.
func (m *mediaMaker) load() error {
	if m.m.ImageDir != "" {
		entries, err := os.ReadDir(m.m.ImageDir)
		if err != nil {
			return fmt.Errorf("read the folder of images: %w", err)
		}
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); !e.IsDir() && slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"}, ext) {
				m.files = append(m.files, filepath.Join(m.m.ImageDir, e.Name()))
			}
		}
		if len(m.files) == 0 {
			return fmt.Errorf("the folder of images %s has no image (png, jpg, gif, webp, bmp)", m.m.ImageDir)
		}
	}
	_, err := m.make(rand.New(rand.NewPCG(1, 1)), 0)
	return err
}

// make makes the parts of one turn of conversation i.
func (m *mediaMaker) make(r *rand.Rand, i int) ([]llm.Media, error) {
	var list []llm.Media
	for k := range m.m.Images {
		url, err := m.image(r, i*m.m.Images+k)
		if err != nil {
			return list, err
		}
		list = append(list, llm.Media{Kind: llm.Image, URL: url})
	}
	for range m.m.Audios {
		seconds := 1.0
		if m.m.Seconds.Set() {
			// Tenths, because a length is a whole number.
			l := m.m.Seconds
			seconds = float64(Lengths{Kind: l.Kind, Mean: 10 * l.Mean, Std: 10 * l.Std, Min: 10 * l.Min, Max: 10 * l.Max}.Draw(r)) / 10
		}
		data, err := media.Audio(r, seconds, oneOf(r, m.m.SampleRates, 16000), cmp.Or(m.m.Channels, 1), oneOf(r, m.m.Depths, 16))
		if err != nil {
			return list, err
		}
		list = append(list, llm.Media{Kind: llm.Audio, URL: media.URL("audio/wav", data)})
	}
	for range m.m.Videos {
		data, err := media.Video(r, cmp.Or(m.m.VideoSeconds, 1), cmp.Or(m.m.FPS, 4), cmp.Or(m.m.VideoWidth, 640), cmp.Or(m.m.VideoHeight, 480))
		if err != nil {
			return list, err
		}
		list = append(list, llm.Media{Kind: llm.Video, URL: media.URL("video/avi", data)})
	}
	return list, nil
}

func (m *mediaMaker) image(r *rand.Rand, i int) (string, error) {
	if len(m.files) > 0 {
		return media.Of(m.files[i%len(m.files)], "")
	}
	draw := func(l Lengths) int {
		if !l.Set() {
			return 512
		}
		return min(l.Draw(r), 1<<14)
	}
	format := m.m.ImageFormat
	if format == "random" {
		format = [...]string{"png", "jpeg"}[r.IntN(2)]
	}
	data, kind, err := media.Image(r, draw(m.m.Width), draw(m.m.Height), format)
	return media.URL(kind, data), err
}

// oneOf draws from a list. It draws no number for a list of one, so that a seed gives the same audio with and without the list.
func oneOf(r *rand.Rand, list []int, def int) int {
	switch len(list) {
	case 0:
		return def
	case 1:
		return list[0]
	}
	return list[r.IntN(len(list))]
}
