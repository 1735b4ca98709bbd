package tokenizer_test
import ("testing";"os";"encoding/json";"bytes";"fmt";"syscall";"runtime";"strings";"github.com/redline-bench/redline/internal/tokenizer";"path/filepath")
func benchTexts() (out []string, n int) {
 data,err:=os.ReadFile("/tmp/data/bench.jsonl"); if err!=nil{panic(err)}
 d:=json.NewDecoder(bytes.NewReader(data))
 for d.More(){var s string; if err:=d.Decode(&s);err!=nil{panic(err)}; out=append(out,s); n+=len(s)}
 return
}
func cpu() float64 { var r syscall.Rusage; syscall.Getrusage(1,&r); return float64(r.Utime.Nano()+r.Stime.Nano()) }
func TestCPU(t *testing.T){
 if os.Getenv("CPU")=="" {t.Skip()}
 runtime.LockOSThread(); runtime.GOMAXPROCS(1)
 texts,n:=benchTexts()
 for _,name:=range strings.Fields(os.Getenv("CPU")) {
   tok,err:=tokenizer.Load(filepath.Join("/tmp/tk",name)); if err!=nil{t.Fatal(err)}
   var ids []int
   best:=1e18
   for i:=0;i<12;i++ { c:=cpu(); for _,s:=range texts{ids=tok.AppendIDs(ids[:0],s,true)}; if d:=cpu()-c; i>0 && d<best {best=d} }
   fmt.Printf("%s %.2f\n",name,float64(n)/best*1e3)
 }
}
func BenchmarkEncode(b *testing.B){
 texts,n:=benchTexts()
 for _,name:=range []string{"qwen2_5","deepseek_v3","bert"} {
  b.Run(name,func(b *testing.B){
   tok,err:=tokenizer.Load(filepath.Join("/tmp/tk",name)); if err!=nil{b.Fatal(err)}
   var ids []int
   for _,s:=range texts{ids=tok.AppendIDs(ids[:0],s,true)}
   b.SetBytes(int64(n)); b.ReportAllocs()
   for b.Loop(){ for _,s:=range texts{ids=tok.AppendIDs(ids[:0],s,true)} }
  })
 }
}
