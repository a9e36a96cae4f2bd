# Builds and tests Go: a module with a test, threads, a process, a web server and parallel builds.
# needs: go
# optional
set -eu
export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOPATH=$PWD/path GOCACHE=$PWD/cache CGO_ENABLED=1
mkdir small
cd small
printf 'module example.org/small\n\ngo 1.18\n' >go.mod
cat >small.go <<'G'
package main

import "fmt"

func twice(n int) int { return 2 * n }
func main()           { fmt.Println(twice(21)) }
G
cat >small_test.go <<'G'
package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
	"testing"
)

func TestTwice(t *testing.T) {
	var group sync.WaitGroup
	for i := 0; i < 64; i++ {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			if twice(n) != n+n {
				t.Error(n)
			}
		}(i)
	}
	group.Wait()
}

func TestCommand(t *testing.T) {
	if out, err := exec.Command("echo", "out").Output(); err != nil || string(out) != "out\n" {
		t.Fatal(err, out)
	}
}

func TestServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "served") }))
	defer server.Close()
	answer, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(answer.Body); string(text) != "served" {
		t.Fatal(text)
	}
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	if _, err := net.Interfaces(); err != nil {
		t.Fatal(err)
	}
}
G
go vet ./...
go build -o main .
test "$(./main)" = 42
go test ./...
