package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/httppool"
	"github.com/redline-bench/redline/internal/wire/h1"
)

// opList is the operation of errors about the list of models.
const opList = "model list"

// Ask sends one request beside the load, over HTTP/1.1, and returns the status and the body of the answer. A nil body
// sends GET, any other POST. The path is below that of the address and starts with a slash.
func (s *Service) Ask(ctx context.Context, path string, body []byte) (int, []byte, error) {
	conn, err := h1.Dial(ctx, s.at.Config(""))
	if err != nil {
		return 0, nil, s.unanswered(ctx, err)
	}
	defer conn.Close()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	head := s.at.AppendUser(s.at.AppendStart(nil, method, path))
	if body != nil {
		if !s.at.Given("content-type") {
			head = append(head, "Content-Type: "+jsonType+"\r\n"...)
		}
		head = append(strconv.AppendInt(append(head, "Content-Length: "...), int64(len(body)), 10), "\r\n"...)
	}
	r, err := conn.Do(ctx, append(head, "\r\n"...), body)
	if err != nil {
		return 0, nil, s.unanswered(ctx, err)
	}
	return r.Status, r.Body, nil
}

// unanswered is the error of a request beside the load that got no answer.
func (s *Service) unanswered(ctx context.Context, err error) error {
	e := httppool.Failure(opList, s.at.Addr(), err)
	if ctx.Err() != nil {
		e.Class, e.Text = record.Timeout, "no answer from "+s.at.Addr()+" in time"
	}
	return e
}

// listed is one model of the list /v1/models.
type listed struct {
	ID    string `json:"id"`
	Owner string `json:"owned_by"`
}

// list asks for /v1/models.
func (s *Service) list(ctx context.Context) ([]listed, error) {
	const path = "/v1/models"
	status, body, err := s.Ask(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	e := &service.Error{Op: opList, Class: record.Server, Code: status, Addr: s.at.Addr()}
	if status != http.StatusOK {
		e.Text = fmt.Sprintf("%s%s answers %d", s.at.Addr(), path, status)
		return nil, e
	}
	var doc struct {
		Data []listed `json:"data"`
	}
	if err := json.Unmarshal(body, &doc); err != nil || doc.Data == nil {
		e.Class, e.Text, e.Err = record.Protocol, fmt.Sprintf("%s%s is no list of models", s.at.Addr(), path), err
		return nil, e
	}
	return doc.Data, nil
}

// Identify asks for the list of models, in which servers name themselves, and for the version, which many have.
func (s *Service) Identify(ctx context.Context) (service.Server, error) {
	models, err := s.list(ctx)
	if err != nil {
		return service.Server{}, err
	}
	var id service.Server
	if len(models) > 0 {
		id.Name = models[0].Owner
	}
	var doc struct {
		Version string `json:"version"`
	}
	if status, body, err := s.Ask(ctx, "/version", nil); err == nil && status == http.StatusOK && json.Unmarshal(body, &doc) == nil {
		id.Version = doc.Version
	}
	return id, nil
}

// Models asks for the list of models. All that are listed can be asked.
func (s *Service) Models(ctx context.Context) ([]service.ListedModel, error) {
	models, err := s.list(ctx)
	var out []service.ListedModel
	for _, m := range models {
		out = append(out, service.ListedModel{Name: m.ID, State: service.Ready})
	}
	return out, err
}
