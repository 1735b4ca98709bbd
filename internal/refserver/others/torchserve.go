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
	mux.HandleFunc("GET /models/{model}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, []any{map[string]any{"modelName": r.PathValue("model"), "modelVersion": "1.0", "minWorkers": 1, "maxWorkers": 1, "batchSize": 1}})
	})
	mux.HandleFunc("POST /predictions/{model}", c.predict)
	mux.HandleFunc("POST /predictions/{model}/{version}", c.predict)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		failure(w, http.StatusNotFound, "ResourceNotFoundException", "Requested resource is not found, please refer to API document.")
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
		failure(w, http.StatusBadRequest, "BadRequestException", err.Error())
		return
	}
	if c.Clock.Until(r.Context(), received.Add(c.Delay)) != nil {
		return // the client has gone
	}
	answer(w, http.StatusOK, map[string]any{"bytes": size})
	c.Log.Add(received, reqlog.Entry{Model: r.PathValue("model"), Parent: r.Header.Get("Traceparent")})
}

func failure(w http.ResponseWriter, status int, kind, text string) {
	answer(w, status, map[string]any{"code": status, "type": kind, "message": text})
}

func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no response
}
