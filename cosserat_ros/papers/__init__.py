"""
The papers' own methods and systems, to be read beside the papers, and as oracles for the engine.

Till 2019: `shooting` is its method, on `arc_equations`; `cantilever` is the problem of one clamped
rod. `collocation` solves the same equations in a way that has no smallest time step and is of
fourth order in arc length: what it and the engine do not agree on is the error of one of them.
`tendon_robot`, `fluidic_robot` and `parallel_robot` are the robots of its section 5, by shooting,
`shooting_robot` what they share; `described` makes them of a robot's description. None of them
shares code with the engine but the rod's properties.

Boyer 2020: `explicit_dynamics` integrates the Lagrangian form, `boyer2020` has the systems of its
section VIII, on the engine, and `flexion_torsion` that of test 3.

Boyer 2023: `acceleration_shooting` is its forward dynamics, `riccati` its inverse dynamics;
`boyer2023` has the systems of its sections VII-A to VII-C and `swimmer` that of VII-D, on the
engine.

Surmont: `mrp_shooting` is its method, on `mrp_equations`, `surmont_cases` has its nine cases.

Porez 2014: `hybrid_multibody` is its method; `flapping_vehicle` has its vehicle by that method,
`flapping_wing` on the engine, and `flapping_rods` with wings that are rods.
"""
