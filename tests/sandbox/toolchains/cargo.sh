# Builds and tests Rust: a crate with a build script, a library, a program and tests.
# needs: cargo rustc
# optional
set -eu
export CARGO_HOME=$PWD/home CARGO_NET_OFFLINE=true
mkdir -p small/src small/tests
cd small
printf '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2018"\n' >Cargo.toml
echo 'fn main() { println!("cargo:rustc-env=WORD=built"); }' >build.rs
echo 'pub fn twice(n: i32) -> i32 { 2 * n }' >src/lib.rs
echo 'fn main() { println!("{} {}", small::twice(21), env!("WORD")); }' >src/main.rs
cat >tests/small.rs <<'R'
use std::process::Command;
use std::thread;

#[test]
fn threads() {
    let all: Vec<_> = (0..8).map(|n| thread::spawn(move || small::twice(n))).collect();
    let total: i32 = all.into_iter().map(|one| one.join().unwrap()).sum();
    assert_eq!(total, 56);
}

#[test]
fn command() {
    assert_eq!(Command::new("echo").arg("out").output().unwrap().stdout, b"out\n");
}

#[test]
fn socket() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
}
R
cargo build -q
test "$(./target/debug/small)" = "42 built"
cargo test -q
