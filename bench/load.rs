// SPDX-License-Identifier: BSD-2-Clause
// Work for a profiler: trait objects, closures, sorted strings, hashes.
use std::collections::HashMap;

trait Step {
    fn step(&self, x: u64) -> u64;
}

struct Double(Option<Box<dyn Step>>);

impl Step for Double {
    #[inline(never)]
    fn step(&self, x: u64) -> u64 {
        let y = x.wrapping_mul(0x9e3779b97f4a7c15).rotate_left(7);
        match &self.0 {
            Some(next) => next.step(y).wrapping_add(1),
            None => y,
        }
    }
}

#[inline(never)]
fn words(seed: u64, chain: &dyn Step) -> usize {
    let mut list: Vec<String> = (0..500)
        .map(|i| chain.step(seed + i).to_string())
        .collect();
    list.sort();
    let mut seen = HashMap::new();
    for word in &list {
        *seen.entry(word.len()).or_insert(0) += 1;
    }
    seen.len()
}

fn main() {
    let mut chain: Box<dyn Step> = Box::new(Double(None));
    for _ in 0..20 {
        chain = Box::new(Double(Some(chain)));
    }
    println!("ready");
    let mut sum = 0;
    for round in 0.. {
        sum += words(round, chain.as_ref());
        if sum == usize::MAX {
            return;
        }
    }
}
