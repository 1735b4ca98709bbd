package tokenizer_test
import ("testing";"os";"encoding/json";"bytes";"bufio";"fmt";"hash/fnv";"compress/gzip";"path/filepath";"sort";"github.com/redline-bench/redline/internal/tokenizer")
// DUMP=out FILES=texts...: hash of ids for each tokenizer and text
func dumpTexts(path string) (out []string) {
 data,err:=os.ReadFile(path); if err!=nil{panic(err)}
 d:=json.NewDecoder(bytes.NewReader(data))
 for d.More(){var s string; if err:=d.Decode(&s);err!=nil{panic(err)}; out=append(out,s)}
 return
}
func hashIDs(tok *tokenizer.Tokenizer, s string, dec bool) uint64 {
 h:=fnv.New64a(); 
 a,b:=tok.Encode(s,true),tok.Encode(s,false)
 fmt.Fprint(h,a,b)
 if dec {fmt.Fprint(h,tok.Decode(a,false),tok.Decode(b,true))}
 return h.Sum64()
}
func TestDump(t *testing.T){
 out:=os.Getenv("DUMP"); if out==""{t.Skip()}
 f,_:=os.Create(out); defer f.Close(); w:=bufio.NewWriter(f); defer w.Flush()
 dirs,_:=filepath.Glob(os.Getenv("DIRS")+os.Getenv("ONLY")); sort.Strings(dirs)
 for _,d:=range dirs {
  tok,err:=tokenizer.Load(d); if err!=nil{t.Error(d,err);continue}
  for _,name:=range []string{"t50k","adv"} {
   for i,s:=range dumpTexts("/tmp/data/"+name+".jsonl") { fmt.Fprintf(w,"%s %s %d %x\n",filepath.Base(d),name,i,hashIDs(tok,s,true)) }
  }
 }
 zf,_:=os.Open("/tmp/oldtree/internal/tokenizer/testdata/vectors.json.gz"); z,_:=gzip.NewReader(zf)
 var list []struct{Name string; Tokenizer json.RawMessage; Seqs [][]int}
 if err:=json.NewDecoder(z).Decode(&list);err!=nil{t.Fatal(err)}
 ts:=dumpTexts("/tmp/data/t2k.jsonl"); ts=append(ts,dumpTexts("/tmp/data/adv.jsonl")...)
 for _,v:=range list { tok,err:=tokenizer.Parse(v.Tokenizer); if err!=nil{t.Error(v.Name,err);continue}
  for i,s:=range ts { fmt.Fprintf(w,"vec:%q - %d %x\n",v.Name,i,hashIDs(tok,s,true)) }
 }
}
