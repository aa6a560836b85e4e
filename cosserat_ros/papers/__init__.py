"""
The papers' own methods, to be read beside the papers, and as oracles for the engine.

`shooting` is the method of Till 2019. `collocation` solves the same equations in a way that has no
smallest time step and is of fourth order in arc length: what it and the engine do not agree on is
the error of one of them. `tendon_robot`, `fluidic_robot` and `parallel_robot` are the robots of
Till's section 5, by shooting; none of them shares code with the engine but the rod's properties.
`mrp_shooting` is the method of Surmont, `surmont_cases` has its nine cases; `hybrid_multibody` is
that of Porez 2014, `flapping_wing` its vehicle, on the engine too.
"""
