package zoldjinja
import ("testing";"unicode/utf8";"os";"path/filepath";"regexp";"strings";"github.com/redline-bench/redline/internal/tokenizer/jinja")
const data=`{"name":"Ann","n":3,"f":1.5,"items":["b","A","c"],"d":{"z":1,"a":[true,null]},"none":null,"messages":[{"role":"system","content":"S"},{"role":"user","content":" hi\n é"},{"role":"assistant","content":"ok","tool_calls":[{"name":"f"}]}]}`
func FuzzDiff(f *testing.F){
 b,_:=os.ReadFile("../jinja/jinja_test.go")
 for _,m:=range regexp.MustCompile("(?m)^\tf\\(\"((?:[^\"\\\\]|\\\\.)*)\"").FindAllStringSubmatch(string(b),-1){ f.Add(strings.NewReplacer(`\"`,`"`,`\\`,`\`,`\n`,"\n").Replace(m[1])) }
 for _,e:=range []string{"trim","upper","lower","title","capitalize","replace('a','b')","string","safe","e","indent(2,true)","wordcount","format(1)","default('x')","d('x',true)","length","int","float","abs","round(1)","tojson(indent=1)","items","dictsort","attr('z')","join('-')","first","last","list","reverse","sort(reverse=true)","unique","sum","min","max","map('upper')","map(attribute='role')","select('string')","reject('none')","selectattr('role','eq','user')","rejectattr('role')"} {
  for _,v:=range []string{"name","n","f","items","d","none","missing","messages","' a\\tb '","[3,1,2]","-7"} { f.Add("{{ "+v+"|"+e+" }}") } }
 for _,e:=range []string{".upper()",".split('b')",".rsplit(',',1)",".strip('A')",".find('n')",".get('z')",".items()",".keys()",".pop()",".append(1)",".index('A')",".count('b')","[1:]","[::-1]","[-1]","[0]","['z']",".startswith(('A','x'))",".format(1,a=2)"," % 3"," * 2"," + 1"," ~ 1"," // 2"," in 'Ann'"," is string"," is iterable"," == 3"," < 4",".splitlines()",".isdigit()",".update(q=1)"} {
  for _,v:=range []string{"name","n","f","items","d","none","missing","messages"} { f.Add("{{ "+v+e+" }}") } }
 fs,_:=filepath.Glob("/tmp/tpl/*.jinja"); for _,p:=range fs{ b,_:=os.ReadFile(p); if len(b)<6000 {f.Add(string(b))} }
 f.Fuzz(func(t *testing.T, src string){
  if strings.Contains(src,"strftime") || !utf8.ValidString(src) || strings.ContainsAny(src,"\f\v") || regexp.MustCompile(`[^\x00-\x7f\p{L}]`).MatchString(src) {return}
  vars:=func(parse func([]byte)(any,error), each func(any,func(string,any))) map[string]any { v,_:=parse([]byte(data)); m:=map[string]any{}; each(v,func(k string,x any){m[k]=x}); return m }
  run:=func() (a,b string,ea,eb error){
   ta,ea:=Parse(src); if ea==nil { a,ea=ta.Render(vars(FromJSON,func(v any,f func(string,any)){v.(*Dict).Each(f)})) }
   tb,eb:=jinja.Parse(src); if eb==nil { b,eb=tb.Render(vars(jinja.FromJSON,func(v any,f func(string,any)){v.(*jinja.Dict).Each(f)})) }
   return a,b,ea,eb }
  a,b,ea,eb:=run()
  if (ea!=nil)!=(eb!=nil) || ea==nil&&a!=b { t.Errorf("%q\nold %q %v\nnew %q %v",src,a,ea,b,eb) }
 })
}
