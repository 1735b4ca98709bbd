package jinja

import (
	"strings"
	"testing"
	"time"
)

// The expected texts are those of Jinja2 with trim_blocks, lstrip_blocks and the helpers of transformers.
func TestRender(t *testing.T) {
	vars := map[string]any{}
	v, err := FromJSON([]byte(`{"name":"Ann","n":3,"f":1.5,"items":["b","A","c"],"d":{"z":1,"a":[true,null]},"none":null,
		"messages":[{"role":"system","content":"S"},{"role":"user","content":" hi\n"},{"role":"assistant","content":"ok","tool_calls":[{"name":"f"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	d := v.(*Dict)
	for _, k := range d.keys {
		vars[k.(string)], _ = d.Get(k)
	}
	f := func(src, want string) {
		t.Helper()
		tpl, err := Parse(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			return
		}
		got, err := tpl.Render(vars)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, not %q", src, got, err, want)
		}
	}
	f("plain", "plain")
	f("ends\n", "ends")
	f("{{ name }} {{ n + 1 }} {{ n / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** 3 }} {{ 'a' ~ 1 ~ none }}", "Ann 4 1.5 3 -4 2 8 a1None")
	f("{{ True }} {{ none }} {{ 1.0 }} {{ [1, 'x', \"it's\"] }} {{ {'a': 1} }} {{ (1,) }}", "True None 1.0 [1, 'x', \"it's\"] {'a': 1} (1,)")
	f("{{ missing }}|{{ missing is defined }}|{{ missing | default('d') }}|{{ none | default('e', true) }}", "|False|d|e")
	f("{% if n > 2 and not none %}\nyes\n{% elif n %}\nno\n{% else %}\nelse\n{% endif %}\n.", "yes\n.")
	f("  {% if true %}  x  {% endif %}  \ny", "  x    \ny")
	f("a \n {%- if true -%} \n b \n {%- endif -%} \n c", "abc")
	f("{% for m in messages %}{{ loop.index }}{{ loop.first }}{{ loop.last }}:{{ m.role }}={{ m['content'] | trim }};{% endfor %}",
		"1TrueFalse:system=S;2FalseFalse:user=hi;3FalseTrue:assistant=ok;")
	f("{% for m in messages if m.role != 'user' %}{{ m.role }}{% if not loop.last %},{% endif %}{% else %}none{% endfor %}", "system,assistant")
	f("{% for x in [] %}a{% else %}none{% endfor %}", "none")
	f("{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}{% for k in d %}{{ k }}{% endfor %}", "z1a[True, None]za")
	f("{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}", "02")
	f("{% set ns = namespace(x=1) %}{% for i in range(3) %}{% set ns.x = ns.x + i %}{% set y = i %}{% endfor %}{{ ns.x }}{{ y is defined }}", "4False")
	f("{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c %}x{{ a }}{% endset %}{{ c }}", "12x1")
	f("{% macro m(a, b='B') %}{{ a }}-{{ b }};{% endmacro %}{{ m(1) }}{{ m(1, b=2) }}{{ m('x', 'y') }}", "1-B;1-2;x-y;")
	f("{{ d | tojson }} {{ d | tojson(indent=2) }}", "{\"z\": 1, \"a\": [true, null]} {\n  \"z\": 1,\n  \"a\": [\n    true,\n    null\n  ]\n}")
	f("{{ 'é<\"' | tojson }}", `"é<\""`)
	f("{{ items | join(', ') }} {{ items | sort | join }} {{ items | first }} {{ items | last }} {{ items | length }} {{ items | reverse | list }}", "b, A, c Abc b c 3 ['c', 'A', 'b']")
	f("{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list }} {{ messages | map(attribute='role') | join('/') }}", `[' hi\n'] system/user/assistant`)
	f("{{ messages[1:] | length }} {{ messages[-1].role }} {{ items[::-1] }} {{ 'hello'[1:3] }} {{ 'héllo'[-4:] }}", "2 assistant ['c', 'A', 'b'] el éllo")
	f("{{ 'a,b,c'.split(',') }} {{ 'a b'.split() }} {{ ' x '.strip() }} {{ 'x'.startswith('x') }} {{ 'aXb'.replace('X', '-') }} {{ 'ab'.upper() }}{{ 'a-b-c'.rsplit('-', 1) }}",
		"['a', 'b', 'c'] ['a', 'b'] x True a-b AB['a-b', 'c']")
	f("{{ none | selectattr('type', 'equalto', 'x') | list }}{{ false | map('upper') | list }}", "[][]")
	f("{{ 'x' in 'xyz' }} {{ 'q' not in items }} {{ 'z' in d }} {{ 1 < 2 < 3 }} {{ messages[2].tool_calls is defined and messages[2].tool_calls }}", "True True True True [{'name': 'f'}]")
	f("{{ 'yes' if n == 3 else 'no' }}{{ 'x' if none }}", "yes")
	f("{{ name is string }} {{ items is iterable }} {{ d is mapping }} {{ none is none }} {{ n is not number }} {{ n is odd }} {{ n is divisibleby 3 }}", "True True True True False True True")
	f("{# comment #}x{% raw %}{{ raw }}{% endraw %}", "x{{ raw }}")
	f("{% generation %}{{ name }}{% endgeneration %}", "Ann")
	f("{% filter upper %}abc{{ name }}{% endfilter %}", "ABCANN")
	f("{{ '%s is %d' % ('x', 3) }} {{ '{} {a}'.format(1, a=2) }}", "x is 3 1 2")
	f("{{ 'a\\nb' }}{{ \"\\u00e9\" }}", "a\nbé")
	f("{{ 'one\ntwo' | indent(2) }}|{{ 'T i'|title }}|{{ 'xY'|capitalize }}", "one\n  two|T I|Xy")
	f("{{ dict(a=1).get('b', 'q') }}{% set l = [1] %}{% do l.append(2) %}{{ l }}", "q[1, 2]")
}

func TestRenderErrors(t *testing.T) {
	f := func(src, want string) {
		t.Helper()
		tpl, err := Parse(src)
		if err == nil {
			_, err = tpl.Render(map[string]any{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", src, err, want)
		}
	}
	f("{{ raise_exception('roles must alternate') }}", "roles must alternate")
	f("{{ a.b }}", `"a" is undefined`)
	f("line\n{{ 1 + 'a' }}", "line 2")
	f("{% if %}", "an expression is missing")
	f("{% if true %}", "endif is missing")
	f("{{ 'a }}", "no end")
	f("{{ 1 | nofilter }}", `unknown filter "nofilter"`)
	f("{% nope %}", `unknown tag "nope"`)
	f("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "calls itself too often")
	f("{% for a in range(10000000000) %}{% endfor %}", "too long")
	f("{% for a in range(90000) %}{% for b in range(90000) %}x{% endfor %}{% endfor %}", "does not end")
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{
		"{% for m in messages %}{{ m.role }}{% endfor %}", "{{ messages[0]['content'][1:] | trim | upper }}", "{%- set x = 1 -%}{{ x ~ 'a' }}",
		"{% macro a(b) %}{{ b }}{% endmacro %}{{ a(1) }}", "{% raw %}{% endraw %}", "{{ {'a': [1, 2]} | tojson }}", "{% if a is defined %}{% else %}{% endif %}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, src string) {
		if len(src) > 300 {
			return
		}
		tpl, err := Parse(src)
		if err != nil {
			return
		}
		m := NewDict()
		m.Set("role", "user")
		m.Set("content", "hi")
		_, _ = tpl.Render(map[string]any{"messages": &List{Items: []any{m}}}) // only a panic is a failure
	})
}

// strftime_now writes the time as Python's strftime does; templates of Llama write the date of today with it.
func TestTimesAreWrittenAsPythonDoes(t *testing.T) {
	at := time.Date(2026, 3, 7, 15, 4, 5, 0, time.UTC)
	if got, want := strftime("%d %b %Y, %A %B %H:%M:%S %I %p %j %y %%", at), "07 Mar 2026, Saturday March 15:04:05 03 PM 066 26 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	tpl, err := Parse("{{ strftime_now('%d %b %Y') }}")
	if err != nil {
		t.Fatal(err)
	}
	before := strftime("%d %b %Y", time.Now())
	got, err := tpl.Render(nil)
	if after := strftime("%d %b %Y", time.Now()); err != nil || got != before && got != after {
		t.Errorf("%q, %v, want the date of today, %q", got, err, after)
	}
}
