// SPDX-License-Identifier: BSD-2-Clause
// Rust: generics, a closure, a trait object, a panic on its way, a thread.
use std::io::Write;

#[inline(never)]
fn stay() -> usize {
    println!("ready");
    std::io::stdout().flush().unwrap();
    loop {
        std::thread::sleep(std::time::Duration::from_secs(1000));
    }
}

trait Shape {
    fn visit(&self, x: usize) -> usize;
}

struct Square(usize);

impl Shape for Square {
    #[inline(never)]
    fn visit(&self, x: usize) -> usize {
        stay() + self.0 + x
    }
}

#[inline(never)]
fn generic<T: Into<usize>>(x: T, shape: &dyn Shape) -> usize {
    shape.visit(x.into()) + 1
}

struct Guard;

impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        generic(3u8, &Square(2));
    }
}

#[inline(never)]
fn panics(x: usize) -> usize {
    let _guard = Guard;
    if x > 0 {
        panic!("on purpose");
    }
    x
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let scene = std::env::args().nth(1).unwrap_or_default();
    if scene == "panic" {
        std::process::exit(panics(1) as i32);
    }
    if scene == "thread" {
        let t = std::thread::Builder::new()
            .name("worker".into())
            .spawn(|| generic(7u8, &Square(1)))
            .unwrap();
        std::process::exit(t.join().unwrap() as i32);
    }
    std::process::exit(generic(5u8, &Square(1)) as i32);
}
