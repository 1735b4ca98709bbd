package openai

import (
	"net/http"
	"strings"
)

// picture is a PNG image of one pixel in base64.
const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// images answers /v1/images/generations after the time of one token. A stream has as many partial images as requested, one a
// token, and then the image.
func (h *Handler) images(x *exchange) error {
	var r struct {
		Prompt  string `json:"prompt"`
		N       *int   `json:"n"`
		Format  string `json:"response_format"`
		Stream  bool   `json:"stream"`
		Partial int    `json:"partial_images"`
	}
	if err := x.decode(&r); err != nil {
		return err
	}
	n := 1
	if r.N != nil {
		n = *r.N
	}
	switch {
	case strings.TrimSpace(r.Prompt) == "":
		return bad("you must provide a prompt")
	case n < 1 || n > 10:
		return bad("n must be between 1 and 10, got %d", n)
	case r.Partial < 0 || r.Partial > 3:
		return bad("partial_images must be between 0 and 3, got %d", r.Partial)
	}
	x.prompt = words(r.Prompt)
	usage := map[string]int{"input_tokens": x.prompt, "output_tokens": n, "total_tokens": x.prompt + n}
	if r.Stream {
		return x.ended(h.streamImages(x, r.Partial, usage))
	}
	if err := h.whole(x, 1); err != nil {
		return err
	}
	data := make([]any, n)
	for i := range data {
		if data[i] = map[string]any{"b64_json": picture}; r.Format == "url" {
			data[i] = map[string]any{"url": "http://127.0.0.1/picture.png"}
		}
	}
	writeJSON(x, http.StatusOK, map[string]any{"created": x.received.Unix(), "data": data, "usage": usage})
	return nil
}

func (h *Handler) streamImages(x *exchange, partial int, usage any) error {
	return h.tokens(x, partial+1, func(k int, _ string, count int) error {
		last := k + count - 1
		if last < partial {
			return x.event("image_generation.partial_image", map[string]any{"type": "image_generation.partial_image", "b64_json": picture, "partial_image_index": last}, count)
		}
		return x.event("image_generation.completed", map[string]any{"type": "image_generation.completed", "b64_json": picture, "usage": usage}, count)
	})
}
