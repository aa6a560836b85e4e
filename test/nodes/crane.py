"""A robot with a joint of each drive, a passive one, and a rod with a tendon at its end."""

CRANE = """\
name: crane

bodies:
  cart: {mass: 1}
  turret: {mass: 0.2, inertia: {xx: 1e-4, yy: 1e-4, zz: 1e-4}}
  boom: {mass: 0.1, centre_of_mass: [0, 0, -0.05], inertia: {xx: 1e-4, yy: 1e-4, zz: 1e-5}}
  bob: {mass: 0.1, centre_of_mass: [0, 0, -0.1], inertia: {xx: 1e-4, yy: 1e-4, zz: 1e-5}}

joints:
  rail: {kind: prismatic, child: cart, axis: [1, 0, 0], drive: position,
         limits: {lower: -0.5, upper: 0.5, velocity: 0.5}}
  wheel: {kind: revolute, parent: cart, child: turret, axis: [0, 0, 1], drive: velocity,
          limits: {velocity: 2}}
  elbow: {kind: revolute, parent: turret, child: boom, axis: [0, 1, 0], drive: effort,
          stiffness: 1, damping: 0.05, limits: {effort: 3}}
  hinge: {kind: revolute, parent: cart, child: bob, axis: [0, 1, 0], pose: {position: [0.2, 0, 0]},
          position: 0.1, damping: 2e-3}

rods:
  finger:
    base: {on: turret}
    segments:
      - length: 0.1
        section: {shape: circular, radius: 0.001}
        material: {young_modulus: 10e9, poisson_ratio: 0.3, density: 2000}
        damping: {relaxation_time: 0.01}

tendons:
  pull: {routing: {shape: parallel, offset: [0.005, 0]}, limits: {lower: 0, upper: 5}}

time: {step: 0.005}
"""
