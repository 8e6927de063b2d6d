//! Every way in which input can be wrong has a name, and the encodings do what they say.

use exactsvm::{
    BoundState, CmuSettings, DualProblem, DualProblemParts, Error, GramMatrix, Monitor, NoObserver,
    Threads, cmu,
};

const Z: [f64; 3] = [1.0, -1.0, 1.0];
const U: [f64; 3] = [1.0, 2.0, 3.0];

fn parts<'a>() -> DualProblemParts<'a> {
    DualProblemParts { signs: &Z, upper: &U, ..Default::default() }
}

/// The argument that an error blames.
fn blamed(parts: &DualProblemParts<'_>) -> &'static str {
    match DualProblem::new(parts) {
        Err(Error::Shape { argument, .. } | Error::Value { argument, .. }) => argument,
        Err(Error::InfeasibleStart { .. }) => "start",
        other => panic!("accepted: {other:?}"),
    }
}

#[test]
fn wrong_lengths_are_named() {
    let four = [1.0; 4];
    let empty = DualProblemParts { signs: &[], upper: &[], ..parts() };
    assert_eq!(blamed(&empty), "z");
    assert_eq!(blamed(&DualProblemParts { upper: &four, ..parts() }), "upper");
    assert_eq!(blamed(&DualProblemParts { linear: Some(&four), ..parts() }), "linear");
    assert_eq!(blamed(&DualProblemParts { groups: Some(&[0, 1]), ..parts() }), "groups");
    assert_eq!(blamed(&DualProblemParts { start: Some(&[0.0; 2]), ..parts() }), "start");
}

#[test]
fn wrong_values_are_named() {
    for z in [0.0, 2.0, -0.5, f64::NAN, f64::INFINITY] {
        assert_eq!(blamed(&DualProblemParts { signs: &[1.0, z, -1.0], ..parts() }), "z");
    }
    for u in [0.0, -1.0, 2e100, f64::MAX, f64::NAN, f64::NEG_INFINITY] {
        assert_eq!(blamed(&DualProblemParts { upper: &[1.0, u, 1.0], ..parts() }), "upper");
    }
    for c in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(blamed(&DualProblemParts { linear: Some(&[1.0, 1.0, c]), ..parts() }), "linear");
    }
    for group in [-1, 2, i64::MAX] {
        assert_eq!(blamed(&DualProblemParts { groups: Some(&[0, 0, group]), ..parts() }), "groups");
    }
    for x in [-1e-300, 2.1, f64::NAN, f64::INFINITY] {
        assert_eq!(blamed(&DualProblemParts { start: Some(&[0.0, x, 0.0]), ..parts() }), "start");
    }
    // An infinite bound admits every start that can be computed with.
    let upper = [f64::INFINITY; 3];
    let start = |x| {
        DualProblem::new(&DualProblemParts {
            upper: &upper,
            start: Some(&[0.0, x, 0.0]),
            ..parts()
        })
    };
    assert!(start(1e90).is_ok());
    for x in [1e300, f64::INFINITY] {
        assert!(matches!(start(x), Err(Error::InfeasibleStart { index: 1, .. })));
    }
}

#[test]
fn settings_out_of_range_are_named() {
    let good = CmuSettings::default();
    assert_eq!(good.validate(), Ok(()));
    let mut bad: Vec<(CmuSettings, &str)> = Vec::new();
    for tol in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        bad.push((CmuSettings { tol, ..good.clone() }, "tol"));
    }
    for growth in [0.0, -1.0, f64::NAN] {
        bad.push((CmuSettings { growth, ..good.clone() }, "growth"));
    }
    for rank_tol in [-1e-12, 0.5, f64::NAN] {
        bad.push((CmuSettings { rank_tol, ..good.clone() }, "rank_tol"));
    }
    bad.push((CmuSettings { max_iter: Some(0), ..good.clone() }, "max_iter"));
    bad.push((CmuSettings { least_growth: 0, ..good.clone() }, "least_growth"));
    bad.push((CmuSettings { patience: 0, ..good.clone() }, "patience"));
    let gram = GramMatrix::new((&[1.0][..]).into(), 1).unwrap();
    let problem = DualProblem::classification(&[1.0], &[1.0], None).unwrap();
    for (settings, name) in bad {
        // The solver must refuse before it does anything.
        let mut observer = NoObserver;
        let mut monitor = Monitor::new(&mut observer, None);
        match cmu::solve(&gram, &problem, &settings, true, &Threads::new(1), &mut monitor) {
            Err(Error::Value { argument, .. }) => assert_eq!(argument, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_matrix_of_another_size_is_refused() {
    let gram = GramMatrix::new((&[1.0, 0.0, 0.0, 1.0][..]).into(), 2).unwrap();
    let problem = DualProblem::new(&parts()).unwrap();
    let mut observer = NoObserver;
    let mut monitor = Monitor::new(&mut observer, None);
    let result =
        cmu::solve(&gram, &problem, &CmuSettings::default(), true, &Threads::new(1), &mut monitor);
    assert!(matches!(result, Err(Error::Shape { argument: "matrix", .. })));
}

#[test]
fn messages_say_what_was_expected_and_what_came() {
    let text = |parts: DualProblemParts<'_>| DualProblem::new(&parts).unwrap_err().to_string();
    let message = text(DualProblemParts { signs: &[1.0, 3.0, 1.0], ..parts() });
    assert!(
        message.contains('z') && message.contains("-1 or +1") && message.contains('3'),
        "{message}"
    );
    let message = text(DualProblemParts { start: Some(&[0.0, 2.5, 0.0]), ..parts() });
    assert!(
        message.contains("variable 1") && message.contains("2.5") && message.contains("[0, 2]"),
        "{message}"
    );
}

#[test]
fn signs_go_into_the_box_and_the_linear_term() {
    let problem = DualProblem::new(&DualProblemParts {
        linear: Some(&[4.0, 6.0, 8.0]),
        start: Some(&[1.0, 0.5, 0.0]),
        ..parts()
    })
    .unwrap();
    assert_eq!((problem.len(), problem.n_groups(), problem.is_empty()), (3, 1, false));
    assert_eq!(problem.lower(), [0.0, -2.0, 0.0]);
    assert_eq!(problem.upper(), [1.0, 0.0, 3.0]);
    assert_eq!(problem.start(), [1.0, -0.5, 0.0]);
    assert_eq!(problem.signs(), Z);
    // p = z o c = (4, -6, 8), less the middle of its range.
    assert_eq!(problem.offsets(), [1.0]);
    assert_eq!(problem.linear(), [3.0, -7.0, 7.0]);
    assert_eq!(problem.totals(), [0.5]);
    assert_eq!(problem.residuals(&[1.0, -0.5, 0.25]), [0.25]);
    let x = problem.unsigned(&[1.0, -0.5, 0.0]);
    assert_eq!(x, [1.0, 0.5, 0.0]);
    let zeros = problem.unsigned(&[0.0; 3]);
    assert!(zeros.iter().all(|x| x.is_sign_positive()), "no negative zeros");
}

#[test]
fn states_and_bounds() {
    let problem = DualProblem::new(&parts()).unwrap();
    assert_eq!(problem.bound_state(0, 0.0), BoundState::AtLower);
    assert_eq!(problem.bound_state(0, 0.5), BoundState::Free);
    assert_eq!(problem.bound_state(0, 1.0), BoundState::AtUpper);
    // A negative variable runs from -u to 0: its bound away from zero is the lower one.
    assert_eq!(problem.bound_state(1, 0.0), BoundState::AtUpper);
    assert_eq!(problem.bound_state(1, -2.0), BoundState::AtLower);
    assert!(problem.is_bounded(0, 1.0) && problem.is_bounded(1, -2.0));
    assert!(
        !problem.is_bounded(0, 0.0) && !problem.is_bounded(1, 0.0) && !problem.is_bounded(1, -1.0)
    );
}

#[test]
fn groups_have_their_own_sums_and_offsets() {
    let problem = DualProblem::new(&DualProblemParts {
        linear: Some(&[5.0, 7.0, 9.0]),
        groups: Some(&[0, 1, 0]),
        start: Some(&[1.0, 2.0, 3.0]),
        ..parts()
    })
    .unwrap();
    assert_eq!(problem.n_groups(), 2);
    assert_eq!((problem.group(0), problem.group(1), problem.group(2)), (0, 1, 0));
    assert_eq!(problem.totals(), [4.0, -2.0]);
    assert_eq!(problem.offsets(), [7.0, -7.0]);
    assert_eq!(problem.linear(), [-2.0, 0.0, 2.0]);

    let free = DualProblem::new(&DualProblemParts {
        without_equality: true,
        groups: Some(&[0, 1, 0]),
        linear: Some(&[5.0, 7.0, 9.0]),
        ..parts()
    })
    .unwrap();
    assert_eq!(free.n_groups(), 0);
    assert_eq!(free.linear(), [5.0, -7.0, 9.0], "without an equality nothing may be subtracted");
    assert!(free.residuals(&[1.0, 0.0, 0.0]).is_empty());
    assert_eq!(free.group(1), 0);
}

#[test]
fn classification_is_the_default() {
    let problem = DualProblem::classification(&Z, &U, None).unwrap();
    let same = DualProblem::new(&DualProblemParts { linear: Some(&[1.0; 3]), ..parts() }).unwrap();
    assert_eq!(problem.linear(), same.linear());
    assert_eq!(problem.offsets(), [0.0], "classes are symmetric: nothing to subtract");
    assert_eq!(problem.start(), [0.0; 3]);
}

#[test]
fn large_opposite_terms_do_not_overflow_their_middle() {
    let large = f64::MAX;
    let problem =
        DualProblem::new(&DualProblemParts { linear: Some(&[large, -large, large]), ..parts() })
            .unwrap();
    assert!(problem.linear().iter().chain(problem.offsets()).all(|v| v.is_finite()));
}
