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
	for name := range s.members {
		switch string(name) {
		case "choices":
			known = true
			for range s.elements {
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
	for name := range s.members {
		switch string(name) {
		case "delta", "message":
			a.delta(s)
		case "text":
			a.text(s.str(), llm.Text)
		case "finish_reason":
			if a.finish(s.str()) {
				a.Ended = true
			}
		}
	}
}

// delta reads a message, or a part of one.
func (a *Answer) delta(s *scan) {
	for name := range s.members {
		switch string(name) {
		case "content":
			a.content(s)
		case "reasoning_content", "reasoning":
			a.text(s.str(), llm.Thought)
		case "refusal":
			a.text(s.str(), llm.Text)
		case "tool_calls":
			for range s.elements {
				a.toolCall(s)
			}
		case "function_call":
			a.function(s)
		}
	}
}

// content reads a text, or parts with text and reasoning.
func (a *Answer) content(s *scan) {
	if s.peek() != '[' {
		a.text(s.str(), llm.Text)
		return
	}
	for range s.elements {
		for name := range s.members {
			switch string(name) {
			case "text":
				a.text(s.str(), llm.Text)
			case "thinking":
				if s.peek() == '[' {
					a.thoughts(s)
				} else {
					a.text(s.str(), llm.Thought)
				}
			}
		}
	}
}

// thoughts reads parts of reasoning, each with a text.
func (a *Answer) thoughts(s *scan) {
	for range s.elements {
		for name := range s.members {
			if string(name) == "text" {
				a.text(s.str(), llm.Thought)
			}
		}
	}
}

func (a *Answer) toolCall(s *scan) {
	for name := range s.members {
		if string(name) == "function" {
			a.function(s)
		}
	}
}

func (a *Answer) function(s *scan) {
	for name := range s.members {
		switch string(name) {
		case "name", "arguments":
			a.text(s.str(), llm.Tool)
		}
	}
}

// openAIUsage reads the usage of every OpenAI API: older ones name it prompt and completion, newer ones input and output.
func (a *Answer) openAIUsage(s *scan) {
	u := &a.Usage
	for name := range s.members {
		switch string(name) {
		case "prompt_tokens", "input_tokens":
			a.count(s, &u.Prompt)
		case "completion_tokens", "output_tokens":
			a.count(s, &u.Completion)
		case "total_tokens":
			a.count(s, &u.Total)
		case "reasoning_tokens":
			a.count(s, &u.Reasoning)
		case "completion_tokens_details", "output_tokens_details":
			a.detail(s, "reasoning_tokens", &u.Reasoning)
		case "prompt_tokens_details", "input_tokens_details":
			a.detail(s, "cached_tokens", &u.Cached)
		}
	}
}

// detail reads one count out of an object.
func (a *Answer) detail(s *scan, count string, to *int) {
	for name := range s.members {
		if string(name) == count {
			a.count(s, to)
		}
	}
}
