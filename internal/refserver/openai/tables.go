package openai

const (
	openaiFault = `{"error":{"message":$message,"type":"$kind","param":null,"code":null}}`
	chatUsage   = `{"prompt_tokens":$in,"completion_tokens":$out,"total_tokens":$total,"prompt_tokens_details":{"cached_tokens":$cached},` +
		`"completion_tokens_details":{"reasoning_tokens":$reasoned}}`
)

// apis are the interfaces by path.
func apis() map[string]*api {
	generations, edits := images(), images()
	generations.read, edits.read, edits.form = readImages, readEdits, true
	tgi := tgi()
	list := map[string]*api{
		"/v1/chat/completions": chat(), "/v1/completions": completions(), "/v1/responses": responses(), "/v1/messages": messages(),
		"/v1/embeddings": {
			read: readEmbeddings, choice: `{"object":"embedding","index":$choice,"embedding":$data}`,
			whole: `{"object":"list","data":[$choices],"model":$model,"usage":{"prompt_tokens":$in,"total_tokens":$in}}`,
		},
		"/v1/images/generations": generations, "/v1/images/edits": edits, "/v1/audio/transcriptions": transcriptions(),
		"/{$}": tgi, "/generate": tgi, "/generate_stream": tgi,
		"/v1/rerank": cohere(), "/v2/rerank": cohere(), "/rerank": cohere(),
		"/v1/ranking": {read: readRanking, choice: `{$data}`, whole: `{"rankings":[$choices],"usage":{"prompt_tokens":$in,"total_tokens":$in}}`},
	}
	for _, a := range list {
		if a.fault == "" {
			a.fault = openaiFault
		}
		if a.kinds[0] == "" {
			a.kinds = [2]string{"invalid_request_error", "server_error"}
		}
	}
	return list
}

// completion is the template of a chat completion, a text completion, or an event of one.
func completion(prefix, object, choices, rest string) string {
	return `{"id":"` + prefix + `$id","object":"` + object + `","created":$created,"model":$model,"system_fingerprint":"redline","choices":[` + choices + `]` + rest + `}`
}

func chat() *api {
	chunk := func(delta, finish string) string {
		return completion("chatcmpl-", "chat.completion.chunk", `{"index":$choice,"delta":{`+delta+`},"logprobs":null,"finish_reason":`+finish+`}`, `$always`)
	}
	delta := func(delta string) event { return event{data: chunk(delta, `null`), each: true} }
	// The first event has the role, so that it is the first token, unless the script sends the role alone.
	role := []event{{data: chunk(`"role":"assistant","content":""`, `null`), each: true, when: func(p *page) bool { return p.script.Role && p.token == 0 }}}
	return &api{
		read: readChat, done: true,
		whole:  completion("chatcmpl-", "chat.completion", `$choices`, `,"usage":`+chatUsage),
		choice: `{"index":$choice,"message":{"role":"assistant","refusal":null,$parts},"logprobs":null,"finish_reason":"$finish"}`,
		part: map[kind]string{
			thought: `"reasoning_content":$part`, spoken: `"content":$part`,
			calling: `"content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":$call,"arguments":$part}}]`,
		},
		open: map[kind][]event{thought: role, spoken: role, calling: role},
		delta: map[kind]event{
			thought: delta(`$role"reasoning_content":$said`), spoken: delta(`$role"content":$said`),
			calling: delta(`$role"tool_calls":[{"index":0,$named"function":{$name"arguments":$said}}]`),
		},
		end: []event{
			{data: chunk(``, `"$finish"`), each: true},
			{data: completion("chatcmpl-", "chat.completion.chunk", ``, `,"usage":`+chatUsage), when: (*page).wantsUsage},
		},
	}
}

func completions() *api {
	text := func(text, finish string) string {
		return `{"index":$choice,"text":` + text + `,"logprobs":null,"finish_reason":` + finish + `}`
	}
	all := func(choices, rest string) string { return completion("cmpl-", "text_completion", choices, rest) }
	return &api{
		read: readCompletions, done: true,
		whole: all(`$choices`, `,"usage":`+chatUsage), choice: text(`$all`, `"length"`),
		delta: map[kind]event{spoken: {data: all(text(`$said`, `null`), `$always`), each: true}},
		end: []event{
			{data: all(text(`""`, `"length"`), `$always`), each: true},
			{data: all(``, `,"usage":`+chatUsage), when: (*page).wantsUsage},
		},
	}
}

// responses is OpenAI's responses API. A part of the response is an item with a piece of content.
func responses() *api {
	body := func(status, failure, usage string) string {
		return `{"id":"resp_$id","object":"response","created_at":$created,"status":"` + status + `","model":$model,"output":[$parts],"error":` + failure +
			`,"incomplete_details":null,"instructions":null,"metadata":{},"parallel_tool_calls":true,"temperature":1.0,"tool_choice":"auto","tools":[],"top_p":1.0,"usage":` + usage + `}`
	}
	const usage = `{"input_tokens":$in,"output_tokens":$n,"total_tokens":$sum,"input_tokens_details":{"cached_tokens":$cached},"output_tokens_details":{"reasoning_tokens":$thoughts}}`
	of := func(name, data string) event {
		return event{name: name, data: `{"type":"$type","sequence_number":$seq,` + data + `}`}
	}
	a := &api{
		read: readResponses, whole: body("completed", `null`, usage),
		begin:  []event{of("response.created", `"response":`+body("in_progress", `null`, `null`)), of("response.in_progress", `"response":`+body("in_progress", `null`, `null`))},
		end:    []event{of("response.completed", `"response":`+body("completed", `null`, usage))},
		failed: []event{of("error", `"code":"$kind","message":$message,"param":null`), of("response.failed", `"response":`+body("failed", `{"code":"$kind","message":$message}`, `null`))},
		part:   map[kind]string{}, open: map[kind][]event{}, delta: map[kind]event{}, close: map[kind][]event{},
	}
	for kind, k := range map[kind]struct {
		id     string
		item   func(status, content, text string) string // an item with a list of content, or a text
		place  string                                    // of content in its item
		inside func(text string) string                  // content
		field  string                                    // name of the whole text at the end
		names  [4]string                                 // of the events: content added, its delta, its end, content complete
	}{
		thought: {
			"rs_", func(status, content, _ string) string {
				return `"type":"reasoning","status":"` + status + `","summary":[` + content + `]`
			}, `,"summary_index":0`,
			func(text string) string { return `{"type":"summary_text","text":` + text + `}` }, "text",
			[4]string{"reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.done", "reasoning_summary_part.done"},
		},
		spoken: {
			"msg_", func(status, content, _ string) string {
				return `"type":"message","status":"` + status + `","role":"assistant","content":[` + content + `]`
			}, `,"content_index":0,"logprobs":[]`,
			func(text string) string {
				return `{"type":"output_text","text":` + text + `,"annotations":[],"logprobs":[]}`
			}, "text",
			[4]string{"content_part.added", "output_text.delta", "output_text.done", "content_part.done"},
		},
		calling: {
			"fc_", func(status, _, text string) string {
				return `"type":"function_call","status":"` + status + `","call_id":"call_0","name":$call,"arguments":` + text
			}, `,"name":$call`, nil, "arguments",
			[4]string{"", "function_call_arguments.delta", "function_call_arguments.done", ""},
		},
	} {
		item := func(status, content, text string) string {
			return `{"id":"` + k.id + `$id",` + k.item(status, content, text) + `}`
		}
		within := func(name, data string) event {
			return of("response."+name, `"item_id":"`+k.id+`$id","output_index":$index`+k.place+`,`+data)
		}
		a.open[kind] = []event{of("response.output_item.added", `"output_index":$index,"item":`+item("in_progress", ``, `""`))}
		a.delta[kind] = within(k.names[1], `"delta":$said`)
		a.close[kind] = []event{within(k.names[2], `"`+k.field+`":$part`)}
		content := ``
		if k.inside != nil {
			content = k.inside(`$part`)
			a.open[kind] = append(a.open[kind], within(k.names[0], `"part":`+k.inside(`""`)))
			a.close[kind] = append(a.close[kind], within(k.names[3], `"part":`+content))
		}
		a.part[kind] = item("completed", content, `$part`)
		a.close[kind] = append(a.close[kind], of("response.output_item.done", `"output_index":$index,"item":`+a.part[kind]))
	}
	return a
}

// messages is Anthropic's messages API. A part of the response is a content block.
func messages() *api {
	body := func(content, reason, out string) string {
		return `{"id":"msg_$id","type":"message","role":"assistant","model":$model,"content":[` + content + `],"stop_reason":` + reason + `,"stop_sequence":null,"usage":` + anthropicUsage(out) + `}`
	}
	of := func(name, data string) event { return event{name: name, data: `{"type":"$type"` + data + `}`} }
	first := func(e event) event {
		e.when = func(p *page) bool { return p.part.index == 0 }
		return e
	}
	delta := func(data string) event { return of("content_block_delta", `,"index":$index,"delta":{`+data+`}`) }
	open := func(block string) []event {
		return []event{
			first(of("message_start", `,"message":`+body(``, `null`, `0`))), of("content_block_start", `,"index":$index,"content_block":{`+block+`}`), first(of("ping", ``)),
		}
	}
	stop := of("content_block_stop", `,"index":$index`)
	return &api{
		read: readMessages, fault: `{"type":"error","error":{"type":"$kind","message":$message}}`,
		kinds: [2]string{"invalid_request_error", "api_error"}, whole: body(`$parts`, `"$finish"`, `$n`),
		failed: []event{{name: "error", data: `{"error":{"message":$message,"type":"$kind"},"type":"error"}`}},
		part: map[kind]string{
			thought: `{"type":"thinking","thinking":$part,"signature":"signed"}`, spoken: `{"type":"text","text":$part}`,
			calling: `{"type":"tool_use","id":"toolu_0","name":$call,"input":$input}`,
		},
		open: map[kind][]event{
			thought: open(`"type":"thinking","thinking":"","signature":""`), spoken: open(`"type":"text","text":""`),
			calling: open(`"type":"tool_use","id":"toolu_0","name":$call,"input":{}`),
		},
		delta: map[kind]event{
			thought: delta(`"type":"thinking_delta","thinking":$said`), spoken: delta(`"type":"text_delta","text":$said`),
			calling: delta(`"type":"input_json_delta","partial_json":$said`),
		},
		close: map[kind][]event{thought: {delta(`"type":"signature_delta","signature":"signed"`), stop}, spoken: {stop}, calling: {stop}},
		end: []event{
			of("message_delta", `,"delta":{"stop_reason":"$finish","stop_sequence":null},"usage":`+anthropicUsage(`$n`)), of("message_stop", ``),
		},
	}
}

func anthropicUsage(out string) string {
	return `{"input_tokens":$new,"output_tokens":` + out + `,"cache_read_input_tokens":$cached,"cache_creation_input_tokens":0}`
}

// images is OpenAI's images API. A stream has a partial image for each token but the last.
func images() *api {
	const picture = `"b64_json":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="`
	const usage = `"usage":{"input_tokens":$in,"output_tokens":$many,"total_tokens":$insum}`
	of := func(name, data string) event {
		return event{name: name, data: `{"type":"$type",` + picture + `,` + data + `}`}
	}
	final := of("image_generation.completed", usage)
	return &api{
		whole: `{"created":$created,"data":[$choices],` + usage + `}`, choice: `{` + picture + `}`, final: &final,
		delta: map[kind]event{spoken: of("image_generation.partial_image", `"partial_image_index":$token`)},
	}
}

func transcriptions() *api {
	const usage = `"usage":{"type":"tokens","input_tokens":$in,"output_tokens":$n,"total_tokens":$sum}`
	return &api{
		form: true, read: readTranscription, whole: `{"text":$all,` + usage + `}`,
		delta: map[kind]event{spoken: {data: `{"type":"transcript.text.delta","delta":$said}`}},
		end:   []event{{data: `{"type":"transcript.text.done","text":$all,` + usage + `}`}},
	}
}

const tgiDetails = `"details":{"finish_reason":"length","generated_tokens":$n,"input_length":$in,"seed":null}`

// tgi is the API of Hugging Face's text-generation-inference.
func tgi() *api {
	of := func(rest string) event {
		return event{data: `{"index":$next,"token":{"id":$token,"text":$said,"logprob":0,"special":false},` + rest + `}`}
	}
	final := of(`"generated_text":$all,` + tgiDetails)
	return &api{
		read: readGenerate, fault: `{"error":$message,"error_type":"$kind"}`, kinds: [2]string{"validation", "generation"},
		whole: `{"generated_text":$all}`,
		delta: map[kind]event{spoken: of(`"generated_text":null,"details":null`)}, final: &final,
	}
}

func cohere() *api {
	return &api{
		read: readRerank, fault: `{"message":$message}`, choice: `{$data}`,
		whole: `{"id":"rerank-$id","model":$model,"results":[$choices],"usage":{"total_tokens":$in},"meta":{"api_version":{"version":"2"},"billed_units":{"search_units":1}}}`,
	}
}
