//! Conventions of the code base: one direction of imports, a list of files with `unsafe`, short files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const MOST_LINES: usize = 400;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn is_rust(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rs")
}

/// The Rust files below a folder, as paths relative to it and their lines without comments.
fn files(folder: &Path) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if is_rust(&entry) {
                let name = entry.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/");
                let text = fs::read_to_string(&entry).unwrap();
                let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
                found.push((name, text.lines().map(code).collect()));
            }
        }
    }
    assert!(!found.is_empty());
    found
}

/// The words of a line that could be names.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).filter(|word| !word.is_empty())
}

/// The modules in the picture of `lib.rs`, from top to bottom.
fn layers() -> Vec<String> {
    let text = fs::read_to_string(root().join("rust/core/src/lib.rs")).unwrap();
    let lines = text.lines().skip_while(|line| *line != "//! ```text").skip(1);
    let picture = lines.take_while(|line| *line != "//! ```");
    picture.map(|line| words(line).next().unwrap().to_owned()).collect()
}

/// Return the lines that import a module above `module` in the picture, or one that is not in it.
fn crossings(module: &str, depth: usize, lines: &[String], layers: &[String]) -> Vec<String> {
    let place = |name: &str| layers.iter().position(|layer| layer == name);
    let own = place(module);
    let (mut found, mut depth) = (Vec::new(), depth);
    for line in lines {
        depth += usize::from(line.trim() == "mod tests {");
        let mut imported = line.split("crate::").skip(1).map(|rest| words(rest).next().unwrap_or_default());
        let below = |name: &str| place(name).is_some_and(|place| Some(place) >= own);
        // `crate::{…}` would hide all names but the first, and `super` must not reach the root of the crate.
        if own.is_none()
            || line.contains("crate::{")
            || line.contains(&"super::".repeat(depth))
            || imported.any(|name| !below(name))
        {
            found.push(line.trim().to_owned());
        }
    }
    found
}

#[test]
fn modules_import_only_from_below() {
    let layers = layers();
    let mut modules = BTreeSet::new();
    for (name, lines) in files(&root().join("rust/core/src")) {
        let parts: Vec<&str> = name.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect();
        if parts != ["lib"] {
            modules.insert(parts[0].to_owned());
            let found = crossings(parts[0], parts.len(), &lines, &layers);
            assert!(found.is_empty(), "{name} imports from above or around: {found:?}");
        }
    }
    assert_eq!(modules, layers.into_iter().collect(), "lib.rs shows all modules");
}

#[test]
fn a_crossing_is_found() {
    let found = |line: &str| !crossings("store", 2, &[line.to_owned()], &layers()).is_empty();
    assert!(!found("use crate::layout::Line;"));
    assert!(!found("use crate::store::Theta;"));
    assert!(found("use crate::statistics::Gram;"));
    assert!(found("let sum = crate::statistics::Gram::new(map);"));
    assert!(found("use crate::{layout, statistics};"));
    assert!(found("use super::super::statistics::Gram;"));
    assert!(!found("use super::layout;"));
}

/// The files that CONTRIBUTING lists, those of the core without their folder.
fn files_with_unsafe_by_the_rule() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let (_, rule) = text.split_once("- `unsafe` only in").expect("a rule about `unsafe`");
    let rule = rule.split("\n-").next().unwrap().split("\n\n").next().unwrap();
    let names = rule.split('`').skip(1).step_by(2).filter(|name| is_rust(Path::new(name)));
    let whole = |name: &str| {
        let elsewhere = name.starts_with("rust/") || name.starts_with("benches/");
        if elsewhere { name.to_owned() } else { format!("rust/core/src/{name}") }
    };
    names.map(whole).collect()
}

#[test]
fn contributing_names_every_file_with_unsafe() {
    let mut found = BTreeSet::new();
    for folder in ["rust", "benches/rust"] {
        for (name, lines) in files(&root().join(folder)) {
            if lines.iter().any(|line| words(line).any(|word| word == "unsafe")) {
                found.insert(format!("{folder}/{name}"));
            }
        }
    }
    // This file contains the word in strings.
    found.remove("rust/core/tests/conventions.rs");
    assert_eq!(found, files_with_unsafe_by_the_rule(), "left: in the code, right: in CONTRIBUTING.md");
}

#[test]
fn files_are_short() {
    for folder in ["rust", "benches/rust"] {
        for (name, lines) in files(&root().join(folder)) {
            assert!(lines.len() <= MOST_LINES, "{name} has {} lines", lines.len());
        }
    }
}
