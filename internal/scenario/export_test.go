package scenario

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/redline-bench/redline/internal/option"
)

// Schema is the JSON Schema of scenario files. Editors complete and check files with it.
func Schema(g *Grammar) []byte {
	r := &reader{grammar: g}
	scenario := object("", r.top(&Scenario{}))
	scenario["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	scenario["title"] = "Redline scenario"
	scenario["description"] = "Traffic classes that load servers at the same time; run it with: redline run FILE"
	scenario["required"] = []string{"classes"}
	class := object("one kind of traffic: the options of a command, and its rate", r.class(&Class{}))
	var one []any
	for _, c := range g.Commands {
		one = append(one, map[string]any{"required": []string{c.Name}})
	}
	class["oneOf"] = one
	stage := object("a part of a load", r.stage(&stage{}))
	stage["required"] = []string{"for"}
	stage["oneOf"] = []any{map[string]any{"required": []string{"rate"}}, map[string]any{"required": []string{"from", "to"}}}
	defs := map[string]any{"class": class, "stage": stage, "run": optionsSchema(g.Run, nil)}
	for _, c := range g.Commands {
		defs[c.Name] = optionsSchema(c.Rows, c.Outside)
	}
	scenario["$defs"] = defs
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(scenario); err != nil {
		panic("BUG: a schema of plain values is not encoded: " + err.Error())
	}
	return b.Bytes()
}

// object describes fields.
func object(help string, fields []field) map[string]any {
	props := map[string]any{}
	for _, f := range fields {
		p := map[string]any{"description": f.help}
		maps.Copy(p, f.schema)
		props[f.name] = p
	}
	out := map[string]any{"type": "object", "additionalProperties": false, "properties": props}
	if help != "" {
		out["description"] = help
	}
	return out
}

// optionsSchema describes the options of a command.
func optionsSchema(rows []option.Row, outside []string) map[string]any {
	props := map[string]any{}
	for i := range rows {
		row := &rows[i]
		if row.Instead != "" || row.Long == "help" || slices.Contains(outside, row.Name()) {
			continue
		}
		for _, key := range row.Keys() {
			props[key] = optionSchema(row)
		}
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": props}
}

func optionSchema(row *option.Row) map[string]any {
	out := map[string]any{}
	if row.Help != "" {
		out["description"] = row.Help
	}
	value := map[string]any{"type": []string{"string", "number", "boolean"}}
	if len(row.To.Words) > 0 {
		value = map[string]any{"examples": row.To.Words, "type": []string{"string", "number"}}
	}
	switch {
	case row.Arg == "":
		out["type"] = "boolean"
	case row.Repeat:
		out["anyOf"] = []any{value, list(value)}
	default:
		maps.Copy(out, value)
	}
	return out
}
