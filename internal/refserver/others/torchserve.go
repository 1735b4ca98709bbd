package others

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/redline-bench/redline/internal/refserver/reqlog"
)

// TorchServe makes the handler of TorchServe's API: predictions, ping and the list of models. It accepts every model name and responds
// with the size of the received data, after a fixed time.
func (c Config) TorchServe() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"status": "Healthy"})
	})
	mux.HandleFunc("GET /models", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"models": []any{map[string]any{"modelName": "mock", "modelUrl": "mock.mar"}}})
	})
	mux.HandleFunc("POST /predictions/{model}", c.predict)
	mux.HandleFunc("POST /predictions/{model}/{version}", c.predict)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusNotFound, map[string]any{"code": 404, "type": "ResourceNotFoundException", "message": "the resource is not there"})
	})
	return mux
}

// sizeOf reads the parts of a form, or the whole body if it is not a form.
func sizeOf(r *http.Request) (size int64, err error) {
	form, err := r.MultipartReader()
	if err != nil {
		return io.Copy(io.Discard, r.Body)
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		var n int64
		if err == nil {
			n, err = io.Copy(io.Discard, part)
		}
		if size += n; err != nil {
			return size, err
		}
	}
}

func (c Config) predict(w http.ResponseWriter, r *http.Request) {
	size, err := sizeOf(r)
	received := time.Now()
	if err != nil {
		answer(w, http.StatusBadRequest, map[string]any{"code": 400, "type": "BadRequestException", "message": err.Error()})
		return
	}
	if c.Clock.Until(r.Context(), received.Add(c.Delay)) != nil {
		return // the client has gone
	}
	answer(w, http.StatusOK, map[string]any{"bytes": size})
	c.Log.Add(received, reqlog.Entry{Model: r.PathValue("model"), Parent: r.Header.Get("Traceparent")})
}

func answer(w http.ResponseWriter, status int, v any) {
	body, _ := json.Marshal(v) // of texts and numbers
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no response
}
