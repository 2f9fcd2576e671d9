//! The numerical tests with every kind of vectors that this processor has, so that no machine is the first to try one.

use std::process::Command;

use ewca::{Error, Ewca, Simd};

/// The tests whose numbers depend on the vectors.
const NUMERICAL: [&str; 4] = ["fixtures::", "oracles::", "paper::", "many::"];

#[test]
fn every_kind_of_vectors_passes_the_numerical_tests() {
    let default = Simd::chosen().unwrap();
    for simd in Simd::available().into_iter().filter(|simd| *simd != default) {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(NUMERICAL)
            .arg("--quiet")
            .env("EWCA_SIMD", simd.name())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "EWCA_SIMD={}: {said}", simd.name());
        assert!(said.contains("test result: ok") && !said.contains(" 0 passed"), "{said}");
    }
}

#[test]
fn vectors_that_the_processor_lacks_are_refused() {
    if std::env::var("EWCA_SIMD").as_deref() == Ok("none") {
        let refused = Ewca::params(2).check().unwrap_err();
        assert!(matches!(refused, Error::Parameter { name: "EWCA_SIMD", .. }), "{refused}");
        return;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "vectors::vectors_that_the_processor_lacks_are_refused"])
        .env("EWCA_SIMD", "none")
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}
