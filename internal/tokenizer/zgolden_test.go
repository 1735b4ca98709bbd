package tokenizer
import ("testing";"encoding/json";"os";"fmt";"sort";"bytes";"bufio";"hash/fnv";"github.com/redline-bench/redline/internal/tokenizer/jinja")
// GOLD=out: writes hash of each rendering
func TestGoldenTemplates(t *testing.T){
 out:=os.Getenv("GOLD"); if out=="" {t.Skip()}
 b,err:=os.ReadFile("/tmp/golden_tpl.json"); if err!=nil{t.Fatal(err)}
 var g map[string]struct{Source string; Tokens map[string]string; Out []*string}
 if err:=json.Unmarshal(b,&g);err!=nil{t.Fatal(err)}
 cb,_:=os.ReadFile("/tmp/convs.jsonl")
 var convs []json.RawMessage
 { d:=json.NewDecoder(bytes.NewReader(cb)); for d.More(){var r json.RawMessage; if err:=d.Decode(&r);err!=nil{t.Fatal(err)}; convs=append(convs,r)} }
 var names []string; for n:=range g{names=append(names,n)}; sort.Strings(names)
 f,_:=os.Create(out); defer f.Close(); w:=bufio.NewWriter(f); defer w.Flush()
 same:=0
 for _,n:=range names{ e:=g[n]
  p,err:=jinja.Parse(e.Source)
  tok:=&Tokenizer{chat:&chat{templates:map[string]renderer{"default":func() renderer { if err!=nil {return failing(err)}; return p.Render }()},tokens:e.Tokens}}
  for i,c:=range convs[:96]{ got,err:=tok.Render(c,false); want:=e.Out[i]
   h:=fnv.New64a(); h.Write([]byte(got)); msg:=""; if err!=nil {msg=err.Error()}
   fmt.Fprintf(w,"%s %d %x %v | %s\n",n,i,h.Sum64(),err!=nil,msg)
   if (err!=nil)==(want==nil) && (want==nil || *want==got) {same++}
  }
 }
 fmt.Println("same as jinja2:",same)
}
