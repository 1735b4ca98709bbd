package load

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// session is a conversation under way.
type session struct {
	conv    *llm.Conversation
	next    int // the turn to ask next
	answers []string
	first   *prepared // turn 0, made ready before it is needed
	input   int       // tokens of turn 0; -1 unknown
	name    string    // what all its requests share in a header
	bodies  [][]byte  // of all turns, answers left out, where somebody wants them
}

// prepared is a request that can be sent.
type prepared struct {
	req  service.Request
	id   string
	body []byte // where it is kept
}

// job is one turn that is to be sent.
type job struct {
	r       *levelRun
	session *session
	turn    int
	req     service.Request
	due     int64 // due time in an open loop
	from    int64 // in a closed loop it is not sent before this time
	held    bool  // a timer will wake its slot
	in      bool  // it has its place among those that wait for a first token
	ask     *ask
	worker  *worker // of the slot that sends it
}

// ask is what the collector must know of a request.
type ask struct {
	phase  *phase
	conv   *llm.Conversation
	turn   int
	tokens int // asked for
	input  int // tokens; -1 unknown
	// answers are those to the turns before.
	answers []string
	body    []byte
	id      string // of the request
	name    string // of the conversation
	cut     bool
	err     error
	// limit is after how many chunks it is cut; 0 never.
	limit int
	// from is the earliest time at which it may be sent; 0 is at once.
	from int64
	// dropped are the turns of the conversation that are not asked because this one failed.
	dropped int
	// bodies are those of the conversation, where KeepBodies asks for them; only its first request has them.
	bodies [][]byte
}

// ready is a conversation whose first request is made.
type ready struct {
	session *session
	err     error
}

// supplyAhead is how many conversations are made ready before they are needed.
const supplyAhead = 64

// supply draws conversations from a source and makes their first requests, ahead of the load.
type supply struct {
	out  chan ready
	quit chan struct{}
	done sync.WaitGroup
	// begun receives each conversation when it begins, if a file lists the request bodies; else it is nil.
	begun chan *session
	told  sync.WaitGroup
}

// newSupply starts the supply of a phase. The conversations of a warm-up are not sent to begun: the measurement repeats them.
func (r *levelRun) newSupply(p *phase) (*supply, error) {
	src, err := r.cfg.Open()
	if err != nil {
		return nil, err
	}
	s := &supply{out: make(chan ready, supplyAhead), quit: make(chan struct{})}
	if p.none {
		close(s.out)
		return s, src.Close()
	}
	if !p.deal.Segment.Whole() {
		src = &ownSource{Source: src, deal: p.deal}
	}
	if r.cfg.Bodies != nil && !p.warm {
		s.begun = make(chan *session, supplyAhead)
		s.told.Go(func() {
			for t := range s.begun {
				r.cfg.Bodies(t.conv.ID, t.bodies)
				t.bodies = nil
			}
		})
	}
	s.done.Go(func() {
		defer close(s.out)
		defer src.Close()
		for {
			conv, ok := src.Next()
			next := ready{}
			if !ok {
				if next.err = src.Err(); next.err == nil {
					return
				}
			} else {
				next.session, next.err = r.open(conv)
			}
			select {
			case s.out <- next:
			case <-s.quit:
				return
			}
			if next.err != nil {
				return
			}
		}
	})
	return s, nil
}

// begin notes that a conversation begins.
func (s *supply) begin(t *session) {
	if s.begun != nil && t.bodies != nil {
		s.begun <- t
	}
}

// close ends the supply, when nothing begins any more. After an interrupt it does not wait for the conversation that is
// being made, which may take minutes.
func (s *supply) close(ctx context.Context) {
	close(s.quit)
	if ctx.Err() == nil {
		s.done.Wait()
	}
	if s.begun != nil {
		close(s.begun)
		s.told.Wait()
	}
}

// open makes the first request of a conversation.
func (r *levelRun) open(conv *llm.Conversation) (*session, error) {
	if len(conv.Turns) == 0 {
		return nil, fmt.Errorf("conversation %s has no turns", conv.ID)
	}
	t := &session{conv: conv, name: r.ids.next()}
	var err error
	if t.first, err = r.request(t, 0); err != nil {
		return nil, err
	}
	if t.input, err = r.countInput(conv, 0, nil); err != nil {
		return nil, err
	}
	if (r.cfg.Bodies != nil || r.cfg.KeepBodies) && !conv.Again {
		t.bodies = r.bodies(conv)
	}
	return t, nil
}

// request makes the request of a turn. Its body is kept where samples carry it.
func (r *levelRun) request(t *session, turn int) (*prepared, error) {
	if turn == 0 && t.first != nil {
		return t.first, nil
	}
	in, err := r.inputs(t.conv, turn, t.answers)
	if err != nil {
		return nil, err
	}
	p := &prepared{id: r.ids.next()}
	if name := r.cfg.RequestHeader; name != "" {
		in.Headers = append(in.Headers, service.Header{Name: name, Value: p.id})
	}
	if name := r.cfg.SessionHeader; name != "" {
		in.Headers = append(in.Headers, service.Header{Name: name, Value: t.name})
	}
	if r.cfg.KeepWire {
		p.body = written(in.Tensors)
	}
	p.req, err = r.cfg.Service.Prepare(in)
	return p, err
}

func (r *levelRun) inputs(conv *llm.Conversation, turn int, answers []string) (service.Inputs, error) {
	return r.cfg.Endpoint.Inputs(&endpoint.Request{Conversation: conv, Turn: turn, Answers: answers, MaxTokens: conv.Turns[turn].MaxTokens})
}

// bodies are what a conversation will send, as far as it is known before the answers are.
func (r *levelRun) bodies(conv *llm.Conversation) [][]byte {
	var list [][]byte
	for turn := range conv.Turns {
		in, err := r.inputs(conv, turn, nil)
		body := written(in.Tensors)
		if err != nil || body == nil {
			return nil
		}
		list = append(list, body)
	}
	return list
}

// written is a request as files show it: its body, or the inputs of a model as a JSON object by name. It is nil for
// inputs that have no such form.
func written(list []tensor.Tensor) []byte {
	if len(list) == 1 && list[0].Type == tensor.JSON {
		return list[0].Data
	}
	b := []byte{'{'}
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(tensor.AppendQuoted(b, []byte(list[i].Name)), ':')
		value, err := tensor.AppendJSON(nil, list[i].Type, list[i].Data)
		if err != nil {
			return nil
		}
		// One element is written without the list around it.
		var elements []json.RawMessage
		if json.Unmarshal(value, &elements) == nil && len(elements) == 1 {
			value = elements[0]
		}
		b = append(b, value...)
	}
	return append(b, '}')
}

// countInput counts the input tokens of a turn: as the chat template writes it, or the texts of the conversation so far. It is
// -1 where nothing can be counted.
func (r *levelRun) countInput(conv *llm.Conversation, turn int, answers []string) (int, error) {
	if r.cfg.Count == nil {
		return -1, nil
	}
	if t := r.cfg.ChatTemplate; t != nil {
		n, err := t.Tokens(&endpoint.Request{Conversation: conv, Turn: turn, Answers: answers})
		if err != nil {
			return -1, fmt.Errorf("turn %d of conversation %s: %w", turn+1, conv.ID, err)
		}
		return n, nil
	}
	if n := conv.Turns[turn].InputTokens; n > 0 && turn == 0 {
		return n, nil
	}
	text := inputText(conv, turn, answers)
	if text == "" {
		return -1, nil
	}
	return r.cfg.Count(text), nil
}

// inputText joins the texts that a turn sends by spaces.
func inputText(conv *llm.Conversation, turn int, answers []string) string {
	t := &conv.Turns[turn]
	var b []byte
	add := func(s string) {
		if s == "" {
			return
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(b, s...)
	}
	own := func(t *llm.Turn) {
		add(t.Query)
		for _, s := range t.Passages {
			add(s)
		}
		for _, s := range t.Texts {
			add(s)
		}
	}
	if t.Messages != nil || t.Raw != nil {
		own(t)
		return string(b)
	}
	add(conv.System)
	for i := range turn {
		if conv.Alone {
			break
		}
		own(&conv.Turns[i])
		if i < len(answers) {
			add(answers[i])
		}
	}
	own(t)
	return string(b)
}
