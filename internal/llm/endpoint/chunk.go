package endpoint

import "github.com/redline-bench/redline/internal/llm"

// openAI reads one event or body of OpenAI's chat and completions APIs.
func (c *common) openAI(a *Answer, payload []byte, at int64) {
	data := c.begun(a, payload)
	if isDone(data) {
		a.Ended = true
		return
	}
	s := scan{b: data}
	known := false
	for n := 0; s.objectMore(n); n++ {
		switch string(s.key()) {
		case "choices":
			known = true
			for n := 0; s.arrayMore(n); n++ {
				a.choice(&s)
			}
		case "usage":
			known = true
			a.openAIUsage(&s)
		case "error":
			if v := s.value(); len(v) > 0 && string(v) != "null" {
				a.fault("the server reports an error: %s", excerpt(v))
			}
		case "object":
			known = true
			s.skip()
		default:
			s.skip()
		}
	}
	if !s.end() || !known {
		a.fault("this is not a response of OpenAI's API: %s", excerpt(data))
		return
	}
	a.counts()
	a.chunk(at)
}

// choice reads one element of choices.
func (a *Answer) choice(s *scan) {
	for n := 0; s.objectMore(n); n++ {
		switch string(s.key()) {
		case "delta", "message":
			a.delta(s)
		case "text":
			a.text(s.str(), llm.Text)
		case "finish_reason":
			if a.finish(s.str()) {
				a.Ended = true
			}
		default:
			s.skip()
		}
	}
}

// delta reads a message, or a part of one.
func (a *Answer) delta(s *scan) {
	for n := 0; s.objectMore(n); n++ {
		switch string(s.key()) {
		case "content":
			a.content(s)
		case "reasoning_content", "reasoning":
			a.text(s.str(), llm.Thought)
		case "refusal":
			a.text(s.str(), llm.Text)
		case "tool_calls":
			for n := 0; s.arrayMore(n); n++ {
				a.toolCall(s)
			}
		case "function_call":
			a.function(s)
		default:
			s.skip()
		}
	}
}

// content reads a text, or parts with text and reasoning.
func (a *Answer) content(s *scan) {
	if s.peek() != '[' {
		a.text(s.str(), llm.Text)
		return
	}
	for n := 0; s.arrayMore(n); n++ {
		for n := 0; s.objectMore(n); n++ {
			switch string(s.key()) {
			case "text":
				a.text(s.str(), llm.Text)
			case "thinking":
				if s.peek() == '[' {
					a.thoughts(s)
				} else {
					a.text(s.str(), llm.Thought)
				}
			default:
				s.skip()
			}
		}
	}
}

// thoughts reads parts of reasoning, each with a text.
func (a *Answer) thoughts(s *scan) {
	for n := 0; s.arrayMore(n); n++ {
		for n := 0; s.objectMore(n); n++ {
			if string(s.key()) == "text" {
				a.text(s.str(), llm.Thought)
			} else {
				s.skip()
			}
		}
	}
}

func (a *Answer) toolCall(s *scan) {
	for n := 0; s.objectMore(n); n++ {
		if string(s.key()) == "function" {
			a.function(s)
		} else {
			s.skip()
		}
	}
}

func (a *Answer) function(s *scan) {
	for n := 0; s.objectMore(n); n++ {
		switch string(s.key()) {
		case "name", "arguments":
			a.text(s.str(), llm.Tool)
		default:
			s.skip()
		}
	}
}

// openAIUsage reads the usage of every OpenAI API: older ones name it prompt and completion, newer ones input and output.
func (a *Answer) openAIUsage(s *scan) {
	if !s.open('{') {
		return
	}
	u := &a.Usage
	for n := 0; s.more('}', n); n++ {
		switch string(s.key()) {
		case "prompt_tokens", "input_tokens":
			k, ok := s.number()
			a.usage(&u.Prompt, k, ok)
		case "completion_tokens", "output_tokens":
			k, ok := s.number()
			a.usage(&u.Completion, k, ok)
		case "total_tokens":
			k, ok := s.number()
			a.usage(&u.Total, k, ok)
		case "reasoning_tokens":
			k, ok := s.number()
			a.usage(&u.Reasoning, k, ok)
		case "completion_tokens_details", "output_tokens_details":
			a.detail(s, "reasoning_tokens", &u.Reasoning)
		case "prompt_tokens_details", "input_tokens_details":
			a.detail(s, "cached_tokens", &u.Cached)
		default:
			s.skip()
		}
	}
}

// detail reads one count out of an object.
func (a *Answer) detail(s *scan, name string, to *int) {
	for n := 0; s.objectMore(n); n++ {
		if string(s.key()) == name {
			k, ok := s.number()
			a.usage(to, k, ok)
		} else {
			s.skip()
		}
	}
}

// endOpenAI checks a response: a stream must have signaled its end.
func endOpenAI(a *Answer) error {
	return ended(a, "a completion", "neither [DONE] nor a finish_reason came")
}
