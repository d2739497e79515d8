//! Measures a get, for bench/clients: of a row at a socket, so many times, in a runtime of one thread or of many.

use std::time::{Duration, Instant};

use stoadb::{Client, messages as m};
use tokio::runtime::Builder;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [threads, socket, key, calls] = arguments.as_slice() else {
        return println!("get one|many SOCKET KEY CALLS"); // as cargo bench runs it
    };
    let runtime = if threads == "one" { Builder::new_current_thread() } else { Builder::new_multi_thread() }.enable_all().build().unwrap();
    let measured = measure(Client::new(socket), hex::decode(key).unwrap(), calls.parse().unwrap());
    // On a thread of the runtime, as the tasks of a program are.
    let (p50, cpu) = runtime.block_on(async { tokio::spawn(measured).await.unwrap() });
    println!("{{\"p50_us\":{},\"cpu_us\":{}}}", p50.as_secs_f64() * 1e6, cpu.as_secs_f64() * 1e6);
}

async fn measure(client: Client, key: Vec<u8>, calls: u32) -> (Duration, Duration) {
    let request = m::GetRequest { column: m::Column::Alias.into(), key, ..Default::default() };
    for _ in 0..calls / 10 {
        client.store().get(request.clone()).await.unwrap();
    }
    let (mut times, before) = (Vec::new(), cpu());
    for _ in 0..calls {
        let begun = Instant::now();
        let answer = client.store().get(request.clone()).await.unwrap();
        times.push(begun.elapsed());
        assert!(answer.value.is_some());
    }
    let used = cpu() - before;
    times.sort();
    (times[times.len() / 2], used / calls)
}

/// What the process has used: /proc/self/stat counts it in ticks of 10 ms.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 2..].split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(10 * ticks)
}
