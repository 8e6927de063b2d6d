//! Who may depend on whom, read from the sources.

use std::fs;
use std::path::{Path, PathBuf};

/// The solvers; none may use another.
const SOLVERS: [&str; 4] = ["cmu", "smo", "gd", "sgd"];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every source file, with its path below src and its text without comments.
fn files() -> Vec<(String, String)> {
    fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    walk(&source(), &mut paths);
    assert!(paths.len() > 20, "the sources were not found");
    let name = |path: &Path| -> String {
        let parts: Vec<_> = path
            .strip_prefix(source())
            .unwrap()
            .iter()
            .map(|p| p.to_string_lossy().into_owned())
            .collect();
        parts.join("/")
    };
    let code = |path: &Path| -> String {
        let text = fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| line.split("//").next().unwrap_or_default())
            .collect::<Vec<_>>()
            .join("\n")
    };
    paths.iter().map(|path| (name(path), code(path))).collect()
}

/// Whether `code` names `word`, not as a part of a longer name.
fn names(code: &str, word: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    code.match_indices(word).any(|(at, _)| {
        !part(code[..at].chars().next_back()) && !part(code[at + word.len()..].chars().next())
    })
}

/// The module of a file: its folder, or its name.
fn module(file: &str) -> &str {
    file.split('/').next().unwrap_or(file).trim_end_matches(".rs")
}

#[test]
fn words_are_whole_words() {
    assert!(names("use crate::cmu;", "cmu") && names("cmu", "cmu"));
    assert!(!names("use crate::cmu_settings;", "cmu") && !names("acmu", "cmu"));
}

#[test]
fn solvers_do_not_know_one_another() {
    for (file, code) in files() {
        for other in
            SOLVERS.iter().filter(|s| SOLVERS.contains(&module(&file)) && **s != module(&file))
        {
            assert!(!names(&code, &format!("crate::{other}")), "{file} uses the solver {other}");
            assert!(
                !names(&code, &format!("super::super::{other}")),
                "{file} uses the solver {other}"
            );
        }
    }
}

#[test]
fn only_the_binding_knows_python() {
    for (file, code) in files() {
        for word in ["pyo3", "numpy"] {
            assert!(module(&file) == "python" || !names(&code, word), "{file} names {word}");
        }
        if module(&file) != "python" && file != "lib.rs" {
            assert!(!names(&code, "crate::python"), "{file} uses the binding");
        }
    }
}

#[test]
fn array_views_stay_in_the_kernel_and_the_binding() {
    for (file, code) in files() {
        assert!(
            ["kernel", "python"].contains(&module(&file)) || !names(&code, "ndarray"),
            "{file} names ndarray"
        );
    }
}

#[test]
fn the_certificate_shares_nothing_with_a_solver() {
    for (file, code) in files()
        .into_iter()
        .filter(|(file, _)| ["certificate", "kkt", "problem"].contains(&module(file)))
    {
        for word in SOLVERS.iter().chain(&["cholesky"]) {
            assert!(!names(&code, &format!("crate::{word}")), "{file} uses {word}");
        }
    }
}

#[test]
fn lower_layers_do_not_look_up() {
    // What each may use of the crate, itself included.
    let allowed: [(&str, &[&str]); 6] = [
        ("linalg", &["linalg"]),
        ("error", &["error"]),
        ("status", &["status"]),
        ("info", &["info", "status"]),
        ("cholesky", &["cholesky", "linalg", "error"]),
        ("kernel", &["kernel", "linalg", "error", "threads"]),
    ];
    for (file, code) in files() {
        let Some((_, allowed)) = allowed.iter().find(|(name, _)| *name == module(&file)) else {
            continue;
        };
        for (at, _) in code.match_indices("crate::") {
            let rest = &code[at + "crate::".len()..];
            let used: String =
                rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            assert!(allowed.contains(&used.as_str()), "{file} uses {used}");
        }
    }
}

#[test]
fn unsafe_code_is_in_one_place() {
    for (file, code) in files() {
        let named = names(&code, "unsafe") || names(&code, "allow(unsafe_code)");
        assert!(
            !named || module(&file) == "linalg" || module(&file) == "python",
            "{file} has unsafe code"
        );
    }
}
