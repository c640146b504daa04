//! Builds libconcede from the sources two folders up, with the C compiler that is there and without any crate.
//! CONCEDE_LIB_DIR=folder links with the library in that folder instead.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|why| panic!("{command:?}: {why}"));
    assert!(status.success(), "{command:?}: {status}");
}

fn main() {
    println!("cargo:rerun-if-env-changed=CONCEDE_LIB_DIR");
    if let Ok(folder) = env::var("CONCEDE_LIB_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-lib=concede");
        return;
    }
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    let system = match env::var("CARGO_CFG_TARGET_OS").unwrap().as_str() {
        known @ ("linux" | "windows" | "macos" | "freebsd" | "openbsd") => format!("os_{known}"),
        _ => "os_posix".to_string(),
    };
    let mut objects = Vec::new();
    for entry in fs::read_dir(root.join("src")).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_string();
        if path.extension() != Some("c".as_ref()) || (stem.starts_with("os_") && stem != system) {
            continue;
        }
        let object = out.join(stem + ".o");
        run(Command::new(env::var("CC").unwrap_or("cc".into()))
            .args(["-std=gnu11", "-O2", "-fPIC", "-DCC_BUILDING", "-c"])
            .arg("-I")
            .arg(root.join("include"))
            .arg(&path)
            .arg("-o")
            .arg(&object));
        objects.push(object);
    }
    let archive = out.join("libconcede.a");
    let _ = fs::remove_file(&archive);
    run(Command::new("ar").arg("crs").arg(&archive).args(&objects));
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=concede");
    for folder in ["src", "include/concede"] {
        println!("cargo:rerun-if-changed={}", Path::new(&root).join(folder).display());
    }
}
