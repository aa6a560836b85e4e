"""Rods of one robot with modes, elements and actuators of their own."""

from dataclasses import replace

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest

from cosserat_ros.analysis.linearize import linearize
from cosserat_ros.analysis.sensitivity import command_jacobian, compliance
from cosserat_ros.analysis.stability import displacements, stability
from cosserat_ros.assembly.assembly import Assembly, Attachment, pose, RigidBody, RodPart
from cosserat_ros.checks.errors import InvalidModel
from cosserat_ros.description.documents import InvalidDescription
from cosserat_ros.description.modes import StrainModes
from cosserat_ros.description.robot import load
from cosserat_ros.inverse import InverseStatics, Target
from cosserat_ros.laws.actuators import given_efforts, Paths
from cosserat_ros.rod.discretisation import discretise
from cosserat_ros.simulation.simulator import Load, Simulator

SOFT = """
    segments:
      - length: 0.3
        section: {shape: circular, radius: 0.004}
        material: {young_modulus: 5e7, poisson_ratio: 0.45, density: 1100}
        damping: {relaxation_time: 0.02}"""
STIFF = """
    segments:
      - length: 0.06
        section: {shape: circular, radius: 0.003}
        material: {young_modulus: 2e9, poisson_ratio: 0.3, density: 1400}
        damping: {relaxation_time: 0.002}"""
MANY = StrainModes(0, 0, 2, 8, 8, 4, elements=3)
FEW = StrainModes(0, 0, 0, 1, 1, 0)
RIGID = StrainModes(0, 0, 0, 0, 0, 0)
HAND = {'mass': 0.004, 'inertia': 1e-7 * np.diag([2.0, 3.0, 4.0])}
ARM = f"""
name: arm
bodies:
  wrist: {{mass: 0.004, inertia: {{xx: 2e-7, yy: 3e-7, zz: 4e-7}}}}
rods:
  soft:{SOFT}
    tip: {{on: wrist}}
    modes: {{shear_x: 0, shear_y: 0, stretch: 2, bend_x: 8, bend_y: 8, twist: 4, elements: 3}}
  stiff:{STIFF}
    base: {{on: wrist, position: [0.01, 0, 0.005], roll_pitch_yaw: [0, 0.3, 0]}}
    modes: {{shear_x: 0, shear_y: 0, stretch: 0, bend_x: 1, bend_y: 1, twist: 0}}
tendons:
  east: {{rod: soft, routing: {{shape: parallel, offset: [0.008, 0]}}}}
  north: {{rod: soft, routing: {{shape: parallel, offset: [0, 0.008]}}, ends_at: 0.21}}
  flick: {{rod: stiff, routing: {{shape: parallel, offset: [-0.006, 0]}}}}
tip: {{rod: stiff}}
"""
PULLS = {'east': 2.0, 'north': 1.5, 'flick': 4.0}


@pytest.fixture
def read(tmp_path):
    """Return a function that loads a robot from text."""
    def from_text(text):
        path = tmp_path / 'robot.yaml'
        path.write_text(text)
        return load(path)
    return from_text


def exact(robot, modes=None):
    """Return a simulator that solves to rounding."""
    sim = Simulator(robot, modes)
    sim.solver.tolerance = 1e-12
    return sim


def with_modes(robot, **modes):
    """Return a robot whose rods have these modes."""
    return replace(robot, rods={
        name: replace(rod, modes=modes.get(name, rod.modes)) for name, rod in robot.rods.items()})


# --- In series: by hand, and in limits -----------------------------------------------------------

def parallel(d, offsets):
    """Return the paths of tendons beside a rod: (x, y) and where each ends."""
    m = len(offsets)
    r = np.zeros((m, d.s.size, 3))
    r[:, :, :2] = np.array([at for at, _ in offsets])[:, None]
    inside = d.s < np.array([[end] for _, end in offsets])
    return Paths(np.where(inside[:, :, None], r, 0.0), np.zeros_like(r), inside * d.w,
                 np.zeros(m, dtype=bool))


def by_hand(robot):
    """Return a solver of ARM as an assembly made without `Model`."""
    soft = discretise(robot.rods['soft'], MANY, [0.21])
    stiff = discretise(robot.rods['stiff'], FEW)
    turned = np.array([[np.cos(0.3), 0, np.sin(0.3)], [0, 1, 0], [-np.sin(0.3), 0, np.cos(0.3)]])
    assembly = Assembly(
        {'wrist': RigidBody(**HAND)}, {
            'soft': RodPart(soft, tip=Attachment('wrist'), paths=parallel(
                soft, [((0.008, 0.0), 1.0), ((0.0, 0.008), 0.21)])),
            'stiff': RodPart(stiff, base=Attachment('wrist', pose((0.01, 0.0, 0.005), turned)),
                             paths=parallel(stiff, [((-0.006, 0.0), 1.0)]))},
        gravity=robot.gravity)
    solver = assembly.solver()
    solver.tolerance = 1e-12
    return solver


def tell(solver, pulls):
    """Tell the tendons of an assembly their tensions."""
    for own, given in zip(solver.tree.drives, given_efforts(np.array(pulls))):
        own[:] = given


def end_of(solver, rod):
    """Return position and rotation of a rod's end."""
    link, end = solver.places.rods[rod][-1], solver.refresh().end
    return end.p[link], end.R[link]


def test_an_arm_of_different_rods_does_what_its_assembly_does(read):
    sim = exact(read(ARM))
    solver = by_hand(sim.robot)
    assert [d.component.size for d in sim.model.rods] == [4 * 22, 2]
    assert [a.flat.size for a in sim.model.paths] == [2, 1]
    sim.command(**PULLS)
    tell(solver, list(PULLS.values()))
    assert sim.statics().converged and solver.statics().converged
    sim.command(**dict.fromkeys(PULLS, 0.1))
    tell(solver, 3 * [0.1])
    for _ in range(20):
        assert sim.step(5e-3).converged and solver.step(5e-3).converged
        for rod in ('soft', 'stiff'):
            p, R = end_of(solver, rod)
            seen = sim.shape()[rod].poses[-1]
            assert_allclose(seen[:3, 3], p, rtol=0, atol=1e-9)
            assert_allclose(seen[:3, :3], R, rtol=0, atol=1e-9)
    assert_allclose(sim.solver.efforts, 3 * [0.1], rtol=1e-12)
    kinetic = solver.energy().kinetic
    assert kinetic > 1e-6
    assert_allclose(sim.solver.energy(), solver.energy(), rtol=0, atol=1e-7 * kinetic)


def test_few_modes_on_a_stiff_rod_are_enough_and_on_a_soft_one_are_not(read):
    """As with as many on all rods; and own modes that are those of the robot change nothing."""
    robot = read(ARM)

    def tip(robot, modes=None):
        sim = exact(robot, modes)
        sim.command(**PULLS)
        assert sim.statics().converged
        return sim.tip_pose()

    many = tip(robot, MANY)
    assert_allclose(tip(with_modes(robot, soft=MANY, stiff=MANY)), many, rtol=0, atol=0)
    assert_allclose(tip(replace(with_modes(robot, soft=None, stiff=None), modes=MANY)), many,
                    rtol=0, atol=0)
    length, gap = 0.36, {
        name: np.linalg.norm(tip(with_modes(robot, **modes))[:3, 3] - many[:3, 3])
        for name, modes in (('own', {}), ('soft', {'soft': FEW}))}
    assert gap['own'] < 1e-4 * length
    assert gap['soft'] > 1e-3 * length


def test_a_rod_that_is_rigid_in_all_strains_is_a_body_at_the_end_of_a_soft_one(read):
    flick = '  flick: {rod: stiff, routing: {shape: parallel, offset: [-0.006, 0]}}\n'
    assert flick in ARM
    text = ARM.replace(flick, '')
    robot = with_modes(read(text), stiff=RIGID)
    rod = robot.rods['stiff']
    L, line, turn = rod.length, *rod.inertia(0.0)[[0, 3]]
    across, along = line * L ** 3 / 12.0 + turn * L, rod.inertia(0.0)[5] * L
    body = read(with_bar(text, line * L, across, along))
    sims = [exact(each) for each in (robot, body)]
    assert sims[0].model.rods[1].component.size == 0
    for sim in sims:
        sim.command(east=2.0, north=1.5)
        assert sim.statics().converged
        sim.command(east=0.0)
    for _ in range(20):
        assert all(sim.step(5e-3).converged for sim in sims)
        assert_allclose(sims[0].tip_pose(), sims[1].tip_pose(), rtol=0, atol=1e-9)
    assert np.abs(sims[0].tip_twist()).max() > 1e-2
    assert_allclose(stability(sims[0]).margin, stability(sims[1]).margin, rtol=1e-6)


def with_bar(text, mass, across, along):
    """Return the text of ARM with a body in place of its stiff rod."""
    before, after = text.split('  stiff:')
    bar = (f'  bar: {{mass: {float(mass)!r}, centre_of_mass: [0, 0, 0.03], inertia: '
           f'{{xx: {float(across)!r}, yy: {float(across)!r}, zz: {float(along)!r}}}}}\n')
    return (before.replace('rods:\n', bar + 'rods:\n')
            + 'joints:\n  held: {kind: clamped, parent: wrist, child: bar, pose: '
            '{position: [0.01, 0, 0.005], roll_pitch_yaw: [0, 0.3, 0]}}\n'
            + 'tendons:' + after.split('tendons:')[1].replace(
                'tip: {rod: stiff}', 'tip: {on: bar, offset: {position: [0, 0, 0.06]}}'))


def test_the_analyses_of_an_arm_of_different_rods(read):
    """Slopes by differences, and commands that are found again from where they lead."""
    sim = exact(read(ARM))
    sim.command(**PULLS)
    assert sim.statics().converged
    J, C, h = command_jacobian(sim, 'stiff'), compliance(sim, 'stiff'), 1e-4

    def moved(**change):
        ends = []
        for sign in (1.0, -1.0):
            other = exact(sim.robot)
            other.command(**PULLS)
            assert other.statics().converged
            other.command(**{name: PULLS[name] + sign * h for name in change.get('told', ())})
            if 'load' in change:
                other.set_wrench(sign * change['load'], 'stiff')
            assert other.statics().converged
            ends.append(other.tip_pose()[:3, 3])
        return (ends[0] - ends[1]) / (2.0 * h)

    for j, name in enumerate(PULLS):
        assert_allclose(J[:3, j], moved(told=[name]), atol=1e-5 * np.abs(J[:3]).max())
    for j, unit in enumerate(np.eye(6)[:3]):
        assert_allclose(C[:3, j], moved(load=h * unit), atol=1e-5 * np.abs(C[:3]).max())
    assert_allclose(linearize(sim, 'stiff').jacobian, J, rtol=1e-9, atol=1e-12)
    assert stability(sim).stable
    assert {rod: way.shape for rod, way in displacements(sim, stability(sim).mode).items()} == {
        'soft': (21, 3), 'stiff': (21, 3)}
    found = InverseStatics(sim).solve([Target(sim.tip_pose()[:3, 3])])
    assert found.met, found.message
    again = exact(sim.robot)
    again.command(**found.commands)
    assert again.statics().converged
    assert_allclose(again.tip_pose()[:3, 3], sim.tip_pose()[:3, 3], atol=1e-7)


# --- In parallel: each as if it were alone -------------------------------------------------------

SEVERAL = {  # rod, what else it has
    'plain': ('modes: {bend_x: 2, bend_y: 3}\n    drag: {square: [0.1, 0.1, 0.02]}', {}),
    'pulled': ('modes: {elements: 2, shear_x: 0, shear_y: 0, bend_x: 3, bend_y: 3}', {
        'tendons': """
  east: {rod: pulled, routing: {shape: parallel, offset: [0.008, 0]}}
  rubbing: {rod: pulled, coulomb_friction: 0.2, routing: {shape: parallel, offset: [0, 0.008]}}
  short: {rod: pulled, ends_at: 0.1, routing: {shape: parallel, offset: [-0.008, 0]}}""",
        'bodies': '\n  weight: {rod: pulled, at: 0.17, mass: 0.001}'}),
    'waving': ('modes: {shear_x: 0, shear_y: 0, stretch: 0, bend_y: 6, bend_x: 2, twist: 1}', {
        'gaits': """
  wave: {shape: wave, rod: waving, profile: [1, 3], wave_length: 0.2, ramp: 0.05,
         amplitude: {start: 1, lower: 0, upper: 2}, frequency: {start: 2, lower: 0, upper: 3},
         turn: {start: 1, lower: -3, upper: 3}}"""}),
    'strung': ('modes: {shear_x: 0, shear_y: 0, stretch: 0, bend_x: 4, bend_y: 4, twist: 2}', {
        'tendons': """
  string: {rod: strung, guided_by: guides, straight_in: space,
           routing: {shape: parallel, offset: [0.008, 0]}}""",
        'discs': '\n  guides: {rod: strung, radius: 0.01, thickness: 0.001, count: 4}'}),
    'blown': ('drag: {linear: [0.01, 0.01, 0.01]}', {'chambers': """
  bellows: {rod: blown, area: 2e-5, command: pressure,
            routing: {shape: parallel, offset: [0.005, 0]}}"""}),
}
TOLD = {'east': 1.0, 'rubbing': 0.8, 'short': 0.5, 'string': 1.0, 'bellows': 5e4}


def text_of(names):
    """Return the text of a robot that has these rods."""
    text = 'name: several\nmodes: {stretch: 1, bend_x: 4, bend_y: 4, twist: 2}\n'
    text += 'rods:' + ''.join(
        f'\n  {name}:{SOFT}\n    base: {{position: [{list(SEVERAL).index(name)}, 0, 0]}}\n'
        f'    {SEVERAL[name][0]}' for name in names)
    for key in ('tendons', 'chambers', 'gaits', 'discs', 'bodies'):
        parts = ''.join(SEVERAL[name][1].get(key, '') for name in names)
        text += f'\n{key}:{parts}' if parts else ''
    return f'{text}\ntip: {{rod: {next(iter(names))}}}\n'


def led(sim):
    """Yield after statics, and after each step of a motion under loads."""
    told = {name: value for name, value in TOLD.items() if name in sim.robot.actuators}
    sim.command(**told)
    assert sim.statics().converged
    yield
    sim.set_loads({
        f'{rod} {at}': Load(np.array([1.0, -2.0, 0.5, 0.01, 0.0, 0.02]) * 0.03, rod, at, extent)
        for rod in sim.robot.rods for at, extent in ((None, 0.0), (0.05, 0.1))})
    sim.command(**{name: 0.3 * value for name, value in told.items()})
    for _ in range(12):
        assert sim.step(5e-3).converged
        yield


def test_rods_that_share_nothing_do_what_each_does_alone(read):
    together = exact(read(text_of(SEVERAL)))
    alone = {name: exact(read(text_of([name]))) for name in SEVERAL}
    assert len({d.component.size for d in together.model.rods}) == len(SEVERAL)
    for _ in zip(led(together), *map(led, alone.values()), strict=True):
        look, states = together.look(), together.actuators()
        inner, twists = together.internal_wrenches(), together.twists(together.shape())
        for i, (name, sim) in enumerate(alone.items()):
            own, actuators = sim.look(), sim.actuators()
            assert_allclose(look.shape[name].poses, own.shape[name].poses, rtol=0, atol=1e-9)
            for part in ('stresses', 'twists'):
                mine, other = getattr(look.rods, part)[i], getattr(own.rods, part)[0]
                assert_allclose(mine, other, rtol=0, atol=1e-7 * max(1.0, np.abs(other).max()))
            assert_allclose(inner[name], look.rods.stresses[i], rtol=0, atol=1e-9)
            assert_allclose(twists[name], look.rods.twists[i], rtol=0, atol=1e-9)
            for actuator, state in actuators.items():
                assert_allclose(states[actuator], state, rtol=1e-7, atol=1e-9)
            for tendon in sim.robot.tendons:
                assert_allclose(together.tension(tendon), sim.tension(tendon), rtol=1e-7)
        assert_allclose(together.solver.lengths(), np.concatenate(
            [sim.solver.lengths() for sim in alone.values()]), rtol=1e-9)
        assert_allclose(together.solver.length_rates(), np.concatenate(
            [sim.solver.length_rates() for sim in alone.values()]), rtol=1e-6, atol=1e-9)
        assert_allclose(together.solver.energy(), np.sum(
            [sim.solver.energy() for sim in alone.values()], axis=0), rtol=1e-6, atol=1e-10)
    assert np.abs(look.rods.twists[:, -1]).max(axis=1).min() > 1e-3  # all of them move


def test_jacobians_of_rods_that_share_nothing_are_those_of_each_alone(read):
    together = exact(read(text_of(SEVERAL)))
    together.command(**TOLD)
    assert together.statics().converged
    names = list(together.robot.actuators)
    for name in SEVERAL:
        sim = exact(read(text_of([name])))
        sim.command(**{key: value for key, value in TOLD.items() if key in sim.robot.actuators})
        assert sim.statics().converged
        J, own = command_jacobian(together, name), command_jacobian(sim, name)
        for j, actuator in enumerate(names):
            mine = list(sim.robot.actuators).index(actuator) if actuator in (
                sim.robot.actuators) else None
            assert_allclose(J[:, j], 0.0 if mine is None else own[:, mine],
                            rtol=0, atol=1e-6 * max(1e-9, np.abs(own).max(initial=0.0)))


# --- Legs ----------------------------------------------------------------------------------------

def test_legs_of_different_elements_carry_a_platform_as_equal_ones():
    """Two elements of as many modes hold all shapes of one, so that finer legs change little."""
    robot = replace(load(ROOT / 'config' / 'stewart_gough.yaml'),
                    modes=StrainModes(0, 0, 1, 6, 6, 2))
    finer = replace(robot.modes, elements=2, bend_x=7)
    mixed = with_modes(robot, leg_2=finer, leg_5=replace(robot.modes, elements=3))
    sims = [exact(each) for each in (robot, mixed, with_modes(
        robot, **dict.fromkeys(robot.rods, robot.modes)))]
    assert len({d.component.size for d in sims[1].model.rods}) == 3
    lengths = {name: 0.5 + 0.01 * i for i, name in enumerate(robot.legs)}
    for sim in sims:
        sim.command(**lengths)
        assert sim.statics().converged
    assert_allclose(sims[2].tip_pose(), sims[0].tip_pose(), rtol=0, atol=0)
    assert_allclose(sims[1].tip_pose(), sims[0].tip_pose(), rtol=0, atol=1e-5)
    assert np.abs(sims[1].tip_pose() - sims[0].tip_pose()).max() > 0.0
    J, own = (command_jacobian(sim) for sim in sims[:2])
    assert_allclose(own, J, rtol=0, atol=1e-3 * np.abs(J).max())
    h = 1e-5
    for name, column in zip(robot.legs, own.T):
        ends = []
        for sign in (1.0, -1.0):
            sims[1].command(**{**lengths, name: lengths[name] + sign * h})
            assert sims[1].statics().converged
            ends.append(sims[1].tip_pose()[:3, 3])
        assert_allclose(column[:3], (ends[0] - ends[1]) / (2.0 * h), atol=1e-6)
    goal = sims[1].tip_pose()
    found = InverseStatics(sims[1]).solve([Target(goal[:3, 3], goal[:3, :3])])
    assert found.met, found.message


# --- What is refused -----------------------------------------------------------------------------

@pytest.mark.parametrize(('bad', 'key'), [
    ('bend_x: -1', 'bend_x'), ('bends: 3', 'bends'), ('elements: 0', 'elements'),
    ('family: hermite', 'family')])
def test_bad_modes_of_a_rod_are_refused_by_line(read, bad, key):
    good = 'bend_x: 1, bend_y: 1, twist: 0}'
    assert ARM.count(good) == 1
    text = ARM.replace(good, f'bend_y: 1, {bad}}}')
    with pytest.raises(InvalidDescription) as error:
        read(text)
    line = 1 + text[:text.index(bad)].count('\n')
    assert f':{line}:' in str(error.value) or f'line {line}' in str(error.value)
    assert 'rods.stiff.modes' in str(error.value) and key in str(error.value)


def test_modes_that_a_rod_cannot_have_are_refused_by_name(read):
    robot = read(ARM)
    with pytest.raises(InvalidModel, match=r'rods\.stiff\.modes.*flick'):
        Simulator(with_modes(robot, stiff=RIGID))
    huge = replace(MANY, elements=900)
    with pytest.raises(InvalidModel, match=r'rods\.soft\.modes.*of 2 rods'):
        Simulator(with_modes(robot, soft=huge))
    stewart = load(ROOT / 'config' / 'stewart_gough.yaml')
    with pytest.raises(InvalidModel, match=r'rods\.leg_3\.modes\.stretch'):
        Simulator(with_modes(stewart, leg_3=replace(stewart.modes, stretch=0)))
