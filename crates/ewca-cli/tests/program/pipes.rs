//! Pipes give what they hold once: every command reads one as it would read the file.
#![cfg(unix)]

use std::process::{Child, Command, Stdio};

use crate::common::{Run, Workshop, gzipped, numbers};
use ewca_io::write_matrix_npy;

/// A named pipe that a file is written to.
struct Pipe {
    name: String,
    writer: Child,
}

impl Pipe {
    fn of(shop: &Workshop, file: &str) -> Pipe {
        let name = format!("pipe_{}", file.replace('/', "_"));
        let path = shop.path(&name);
        let _ = std::fs::remove_file(&path);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let writer = Command::new("sh")
            .args(["-c", &format!("exec cat '{}' > '{}'", shop.path(file).display(), path.display())])
            .spawn()
            .unwrap();
        Pipe { name, writer }
    }

    fn end(mut self) {
        // It has written everything, unless the program has not even opened the pipe.
        let _ = self.writer.kill();
        let _ = self.writer.wait();
    }
}

/// The program, with a file on its standard input.
fn run_with(shop: &Workshop, arguments: &[&str], file: &str) -> Run {
    let mut cat = Command::new("cat").arg(shop.path(file)).stdout(Stdio::piped()).spawn().unwrap();
    let output = shop.command(arguments).stdin(cat.stdout.take().unwrap()).output().unwrap();
    let _ = cat.wait();
    Run::from(output)
}

/// What a command prints about a file, about a named pipe, and about standard input by both of its names.
fn all_ways(shop: &Workshop, command: &[&str], file: &str, more: &[&str]) -> Vec<String> {
    let arguments =
        |input: &str| [command, &[input], more].concat().iter().map(|word| word.to_string()).collect::<Vec<_>>();
    let words = |arguments: &[String]| arguments.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    let run = |arguments: Vec<String>| {
        let arguments = words(&arguments);
        shop.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).succeeded().out
    };
    let mut said = vec![run(arguments(file))];
    let pipe = Pipe::of(shop, file);
    said.push(run(arguments(&pipe.name)).replace(&pipe.name, file));
    pipe.end();
    for name in ["-", "/dev/stdin"] {
        let arguments = arguments(name);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let out = run_with(shop, &arguments, file).succeeded().out;
        let shown = if name == "-" { "standard input" } else { name };
        said.push(out.replace(shown, file).replace(&format!("fit {name}"), &format!("fit {file}")));
    }
    said
}

#[track_caller]
fn all_alike(said: Vec<String>) -> String {
    for other in &said[1..] {
        assert_eq!(*other, said[0]);
    }
    said.into_iter().next().unwrap()
}

#[test]
fn inspect_sees_every_row_of_a_pipe() {
    let shop = Workshop::new();
    shop.write("r.csv", numbers(50, 3));
    shop.write("r.csv.gz", gzipped(&numbers(50, 3)));
    write_matrix_npy(&shop.path("r.npy"), 50, 3, &[1.5; 150]).unwrap();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../ewca-io/tests/golden/csr.h5ad");
    std::fs::copy(golden, shop.path("cells.h5ad")).unwrap();
    for file in ["r.csv", "r.csv.gz", "r.npy"] {
        let out = all_alike(all_ways(&shop, &["inspect"], file, &[]));
        assert!(out.contains("50 rows x 3 numeric columns"), "{out}");
    }
    let out = all_alike(all_ways(&shop, &["inspect"], "cells.h5ad", &[]));
    assert!(out.contains("6 rows x 4 numeric columns") && out.contains("double"), "{out}");
}

#[test]
fn fits_and_models_come_through_pipes() {
    let shop = Workshop::new();
    shop.write("r.csv", numbers(50, 4));
    let values: Vec<f64> = (0..200).map(|at| ((at * 37) % 101) as f64 / 7.0).collect();
    write_matrix_npy(&shop.path("x.npy"), 50, 4, &values).unwrap();
    for file in ["r.csv", "x.npy"] {
        shop.run(&["fit", file, "-o", "whole", "-q"]).succeeded();
        let pipe = Pipe::of(&shop, file);
        shop.run(&["fit", &pipe.name, "-o", "piped", "-q"]).succeeded();
        pipe.end();
        run_with(&shop, &["fit", "-", "-o", "standard", "-q"], file).succeeded();
        for folder in ["piped", "standard"] {
            assert_eq!(shop.read(&format!("{folder}/scores.csv")), shop.read("whole/scores.csv"), "{file}");
        }
        all_alike(all_ways(&shop, &["transform", "whole"], file, &[]));
        all_alike(all_ways(&shop, &["neighbours", "whole"], file, &[]));
        let scores = all_alike(all_ways(&shop, &["reconstruct", "whole"], "whole/scores.csv", &[]));
        assert_eq!(scores.lines().count(), 51);
        std::fs::copy(shop.path("whole/model.safetensors"), shop.path("model")).unwrap();
        let pipe = Pipe::of(&shop, "model");
        let expected = shop.run(&["transform", "whole", file]).succeeded().out;
        assert_eq!(shop.run(&["transform", &pipe.name, file]).succeeded().out, expected);
        pipe.end();
        all_alike(
            all_ways(&shop, &["inspect"], "model", &[])
                .into_iter()
                .map(|out| out.split("Next:").next().unwrap().into())
                .collect(),
        );
    }
}
