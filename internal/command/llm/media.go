package llm

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/llm/dataset"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
)

// settleMedia makes one image, audio clip or video a request if an option describes it and none gives the number, as AIPerf does.
// What the endpoint cannot send is an error.
func (o *options) settleMedia() error {
	m := &o.Data.Media
	if api.Kind(o.Kind) == api.Transcription && len(o.Inputs) == 0 {
		o.Data.Input = dataset.Lengths{} // a text beside the audio only helps the model, and is sent if the user asks for it
	}
	given := func(names ...string) string {
		for _, n := range names {
			if o.table.Given(n) {
				return n
			}
		}
		return ""
	}
	for _, part := range []struct {
		number string
		n      *int
		named  string // an option that describes the part
	}{
		{"image-batch-size", &m.Images, given("image-width-mean", "image-width-stddev", "image-height-mean", "image-height-stddev", "image-format", "image-source")},
		{"audio-batch-size", &m.Audios, given("audio-length-mean", "audio-length-stddev", "audio-sample-rates", "audio-depths", "audio-format", "audio-num-channels")},
		{"video-batch-size", &m.Videos, given("video-duration", "video-fps", "video-width", "video-height")},
	} {
		if part.named != "" && *part.n == 0 && !o.table.Given(part.number) && !o.zeroSize(part.number) {
			*part.n = 1
		}
		if *part.n > 0 && o.Data.Path != "" {
			return fmt.Errorf("--%s is for generated prompts: --input-file has its own images, audio and videos", cmp.Or(part.named, part.number))
		}
	}
	return nil
}

// zeroSize reports whether the size of a part is given as 0, which is AIPerf's way to say that there is none.
func (o *options) zeroSize(number string) bool {
	m := &o.Data.Media
	switch number {
	case "image-batch-size":
		return m.Width.Mean+m.Height.Mean == 0 && (o.table.Given("image-width-mean") || o.table.Given("image-height-mean"))
	case "audio-batch-size":
		return m.Seconds.Mean == 0 && o.table.Given("audio-length-mean")
	}
	return false
}

// carries returns an error if the endpoint cannot send a part of the prompts.
func (p *Plan) carries(info *dataset.Info) error {
	k := api.Kind(p.Kind)
	for _, m := range info.Media {
		if !k.Carries(m) {
			return fmt.Errorf("--endpoint-type %s cannot send %s: use chat, or another endpoint type that can, or leave them out", p.Kind, m)
		}
	}
	if p.ChatTemplate && k.TakesText() && len(info.Media) > 0 {
		return errors.New("--apply-chat-template renders one text, which cannot carry images, audio or videos: use chat")
	}
	return nil
}
