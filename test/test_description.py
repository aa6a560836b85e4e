"""Robot files: what is read from a good one, and what is said about a bad one."""

from pathlib import Path
import re

from conftest import ROOT
from hypothesis import given, settings, strategies as st
import numpy as np
from numpy.testing import assert_allclose
import pytest
from ruamel.yaml import YAML

from cosserat_ros.checks.errors import InvalidModel, UnknownName
from cosserat_ros.description import robot
from cosserat_ros.description.documents import InvalidDescription
from cosserat_ros.description.parts import Limits, Pose, Tendon, Tip
from cosserat_ros.description.robot import MountedRod, Robot
from cosserat_ros.description.rod import Material, RestShape, Segment
from cosserat_ros.description.section import Circular, Rectangular

SHIPPED = sorted((ROOT / 'config').glob('*.yaml'))

GOOD = """\
name: arm
base: {position: [0, 0, 0.5], roll_pitch_yaw: [0, 3.141592653589793, 0]}
rods:
  backbone:
    segments:
      - &lower
        length: 0.1
        section: {shape: circular, radius: 1e-3}
        material: {young_modulus: 207e9, shear_modulus: 79e9, density: 8000}
      - <<: *lower
        length: 0.2
        section: {shape: rectangular, width: 0.002, height: 0.001}
        rest: {curvature: [0, 5, 0]}
tip: {offset: {position: [0, 0, 0.008]}}
tendons:
  left:
    routing: {shape: parallel, offset: [0.01, 0]}
    ends_at: 0.15
    command: displacement
    limits: {lower: -0.01, upper: 0.02}
discs:
  guides: {radius: 0.012, thickness: 0.001, count: 5}
"""


@pytest.fixture
def read(tmp_path):
    """Return a function that loads a robot from text or bytes."""
    def load(content):
        path = tmp_path / 'arm.yaml'
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return robot.load(path)
    return load


def test_every_key_reaches_its_field(read):
    arm = read(GOOD)
    assert arm.name == 'arm'
    assert list(arm.rods) == ['backbone']
    first, second = arm.rods['backbone'].segments
    assert first == Segment(
        0.1, Circular(1e-3), Material(207e9, 8000.0, shear_modulus=79e9))
    assert second.section == Rectangular(0.002, 0.001)
    assert second.material == first.material
    assert second.rest.curvature == (0.0, 5.0, 0.0)
    assert arm.tendons['left'].ends_at == 0.15
    assert arm.tendons['left'].limits == Limits(-0.01, 0.02)
    assert arm.discs['guides'].count == 5
    assert_allclose(arm.base.matrix()[:3, 2], [0, 0, -1], atol=1e-15)


@pytest.mark.parametrize('path', SHIPPED, ids=lambda path: path.stem)
def test_shipped_robots_load(path):
    assert robot.load(path).name == path.stem


def test_names_of_the_paper_are_in_the_cantilever():
    """E = 207 GPa, G = 79 GPa, L = 0.4 m, r = 1 mm, rho = 8000 (Till 2019, section 3)."""
    rod = robot.load(ROOT / 'config' / 'cantilever.yaml').rods['backbone']
    EI = 207e9 * np.pi * 1e-12 / 4
    assert rod.length == 0.4
    assert_allclose(rod.stiffness(0.2)[3:], [EI, EI, 79e9 * np.pi * 1e-12 / 2], rtol=1e-14)
    assert_allclose(rod.mass, 8000 * np.pi * 1e-6 * 0.4, rtol=1e-14)


# --- Bad files: each is refused in one line that names the place and what is allowed -------------

def change(old, new, line=None):
    """Return the good file with one change, and the line of the change unless given."""
    assert old in GOOD
    return GOOD.replace(old, new, 1), line or GOOD[:GOOD.index(old)].count('\n') + 1


def touching(contact='stiffness: 1e5', obstacle='geometry: {shape: plane}', more=''):
    """Return the good file with contact, an obstacle, and more."""
    return GOOD.replace('tip:', f"""    contact:
      {contact}
obstacles:
  post:
    {obstacle}
{more}tip:""", 1)


BAD = {
    # what is wrong: (content, line or None, words that the message must have)
    'points of contact too far apart': (
        touching('{stiffness: 1e5, spacing: 0.1}', 'geometry: {shape: sphere, radius: 0.001}'), 15,
        ['rods.backbone.contact.spacing', 'thinnest obstacle', '0.1']),
    'too many points of contact': (touching('{stiffness: 1e5, spacing: 1e-9}'), 15,
                                   ['rods.backbone.contact.spacing', 'at least 3e-05 [m]']),
    'points beyond the world': (touching('{stiffness: 1e5, spacing: 1e9}'), 15,
                                ['rods.backbone.contact.spacing', '1e+06 [m]']),
    'contact that ends before it starts': (
        touching('{stiffness: 1e5, starts_at: 0.2, ends_at: 0.1}'), 15,
        ['rods.backbone.contact.ends_at', 'more than starts_at, 0.2 [m]']),
    'contact beyond the rod': (touching('{stiffness: 1e5, starts_at: 0.4}'), 15,
                               ['rods.backbone.contact.starts_at', '0.3 [m]']),
    'contact on a point': (touching('{stiffness: 1e5, ends_at: 1e-9}'), 14,
                           ['rods.backbone.contact.starts_at', '1e-09 [m]']),
    'contact stiffer than diamond': (touching('stiffness: 1e20'), 15,
                                     ['rods.backbone.contact.stiffness', '<= 1e+12 [N/m^2]']),
    'contact stiffer than diamond by a load': (
        touching('{penetration: 1e-9, line_load: 1e5}'), 15,
        ['rods.backbone.contact.penetration', '<= 1e+12 [N/m^2]']),
    'less deep than an atom': (touching('{penetration: 1e-300, line_load: 1}'), 15,
                               ['rods.backbone.contact.penetration', '[m]']),
    'a load beyond all': (touching('{penetration: 1e-5, line_load: 1e300}'), 15,
                          ['rods.backbone.contact.line_load', '[N/m]']),
    'damping of contact': (touching('{stiffness: 1e5, damping: 1e300}'), 15,
                           ['rods.backbone.contact.damping', '<= 1e+06 [s/m]']),
    'an obstacle stiffer than diamond': (
        touching(obstacle='{geometry: {shape: plane}, stiffness: 1e13}'), 18,
        ['obstacles.post.stiffness', '<= 1e+12 [N/m^2]']),
    'mesh that is not there': (
        touching(obstacle='geometry: {shape: mesh, file: nowhere.stl}'), 18,
        ['obstacles.post.geometry.file', 'nowhere.stl', 'No such file']),
    'a body on a rod that touches': (
        touching(more='bodies: {b: {mass: 1, contact: {points: [[0, 0, 0]], radius: 0.1, '
                      'stiffness: 10}}}\n'), 19, ['bodies.b.contact', 'fixed to a rod']),
    'a body that touches without stiffness': (
        touching(more='bodies: {b: {pose: {}, contact: {points: [[0, 0, 0]], radius: 0.1}}}\n'),
        19, ['bodies.b.contact.stiffness', 'a penetration and a load']),
    'a body that touches stiffly': (
        touching(more='bodies: {b: {pose: {}, contact: {points: [[0, 0, 0]], radius: 0.1, '
                      'stiffness: 1e20}}}\n'), 19, ['bodies.b.contact.stiffness', '1e+12 [N/m]']),
    'misspelt key': (*change('length: 0.1', 'lenght: 0.1'),
                     ['rods.backbone.segments[0].lenght', "'length'"]),
    'key in the wrong place': (*change('name: arm', 'name: arm\nlength: 3', line=2),
                               ['length', 'rods']),
    'missing key': (*change('name: arm\n', ''), ['name is missing']),
    'missing key of a segment': (*change('        length: 0.1\n', '', line=6),
                                 ['rods.backbone.segments[0].length is missing']),
    'missing shape': (*change('shape: circular, ', ''), ['section.shape is missing']),
    'unknown shape': (*change('shape: circular', 'shape: circula'), ["'circular'"]),
    'shape that is no word': (*change('shape: circular', 'shape: [1, 2]'), ['shape', '[1, 2]']),
    'negative': (*change('radius: 1e-3', 'radius: -1e-3'),
                 ['rods.backbone.segments[0].section.radius', '> 0 [m]', '-0.001']),
    'not a number': (*change('density: 8000', 'density: .nan'), ['density', 'nan']),
    'infinite': (*change('density: 8000', 'density: .inf'), ['density', 'inf']),
    'beyond double': (*change('density: 8000', 'density: 1e999'), ['density']),
    'an integer beyond double': (*change('density: 8000', 'density: ' + '9' * 400), ['density']),
    'boolean': (*change('density: 8000', 'density: true'), ['density', 'True']),
    'unit after the number': (*change('length: 0.1', 'length: 0.1 m'), ['length', "'0.1 m'"]),
    'date': (*change('length: 0.1', 'length: 2020-01-01'), ['length']),
    'nothing': (*change('length: 0.1', 'length:'), ['length', 'None']),
    'list for a number': (*change('length: 0.1', 'length: [0.1]'), ['length', '[0.1]']),
    'mapping for a number': (*change('length: 0.1', 'length: {m: 1}'), ['length']),
    'number for a mapping': (*change('{shape: circular, radius: 1e-3}', '1e-3'), ['section']),
    'mapping for a list': (*change('[0, 5, 0]', '{x: 0}'), ['rest.curvature', '3']),
    'short vector': (*change('[0, 5, 0]', '[0, 5]'), ['rest.curvature', '3 finite numbers']),
    'text in a vector': (*change('[0, 5, 0]', '[0, 5, up]'), ['rest.curvature[2]', "'up'"]),
    'nested vector': (*change('[0, 5, 0]', '[0, [5], 0]'), ['rest.curvature[1]']),
    'empty list of segments': ('name: a\nrods: {b: {segments: []}}\n', 2, ['segments']),
    'no rods': ('name: a\nrods: {}\n', 2, ['rods']),
    'rods as a list': ('name: a\nrods: [1]\n', 2, ['rods', 'mapping']),
    'rods as nothing': ('name: a\nrods:\n', 2, ['rods']),
    'rod as nothing': ('name: a\nrods: {b: }\n', 2, ['rods.b', 'segments']),
    'rod named by a number': (*change('  backbone:', '  7:'), ['rods.7', 'letter']),
    'rod named by nothing': (*change('  backbone:', '  null:'), ['rods.None', 'letter']),
    'rod named with a slash': (*change('  backbone:', '  a/b:'), ['rods.a/b', 'letter']),
    'name that is no word': (*change('name: arm', 'name: 7'), ['name', '7']),
    'name with a space': (*change('name: arm', 'name: my arm'), ['name', "'my arm'"]),
    'both moduli': (*change('shear_modulus: 79e9', 'shear_modulus: 79e9, poisson_ratio: 0.3'),
                    ['poisson_ratio']),
    'tendon beyond the rod': (*change('ends_at: 0.15', 'ends_at: 0.35'),
                              ['tendons.left.ends_at', '0.3 [m]', '0.35']),
    'tendon on no rod': (*change('ends_at: 0.15', 'rod: bakcbone'),
                         ['tendons.left.rod', "'backbone'"]),
    'command of another kind': (*change('command: displacement', 'command: pressure'),
                                ['command', 'tension, displacement']),
    'limits the wrong way': (*change('lower: -0.01', 'lower: 0.03'), ['limits.lower', '0.02']),
    'tension that pushes': (*change('command: displacement', 'command: tension', line=20),
                            ['limits.lower', '>= 0']),
    'part of a disc': (*change('count: 5', 'count: 2.5'), ['count', '2.5']),
    'key twice': (*change('name: arm', 'name: arm\nname: leg', line=2), ['duplicate key', 'name']),
    'unclosed bracket': (*change('[0, 5, 0]', '[0, 5, 0'), ['not valid YAML']),
    'tab': (*change('  backbone:', '\tbackbone:'), ['not valid YAML']),
    'unknown alias': (*change('*lower', '*upper'), ['not valid YAML', 'upper']),
    'python object': (*change('0.1', '!!python/object/apply:os.getcwd []'), ['length']),
    'tag of its own': (*change('length: 0.1', 'length: !metre 0.1'), ['length']),
    'boolean of no sense': ('rods: !!bool abc\n', None, ['not valid YAML']),
    'merged into itself': ('a: &a\n  <<: *a\n', None, ['not valid YAML']),
    'old YAML': ('%YAML 1.1\n---\nname: a\n', 1, ['rods is missing']),
    'impossible date': (GOOD.replace('0.1', '2020-13-45', 1), None, ['not valid YAML']),
    'far too long': (*change('length: 0.1', 'length: 1e200'), ['length', '<= 1e+06 [m]']),
    'far too short': (*change('length: 0.1', 'length: 1e-200'), ['length', '>= 1e-09']),
    'far too stretched': (*change('rest: {', 'rest: {linear_strain: [0, 0, 1e300], '),
                          ['linear_strain[2]']),
    'far away': (*change('[0, 0, 0.5]', '[0, 0, 1e300]'), ['base.position[2]']),
    'tendon far away': (*change('[0.01, 0]', '[1e200, 0]'), ['routing.offset[0]']),
    'letters of another script': (change('name: arm', 'name: bras\u0663')[0], 1, ['name']),
    'two documents': (GOOD + '---\n' + GOOD, None, ['not valid YAML']),
    'a list': ('- 1\n', 1, ['mapping']),
    'a word': ('arm\n', 1, ['mapping']),
    'empty': ('', 1, ['mapping']),
    'only a comment': ('# arm\n', 1, ['mapping']),
    'binary': (bytes(range(256)), None, ['UTF-8']),
    'control characters': ('name: a\x07\n', None, ['not valid YAML']),
    'UTF-16': (GOOD.encode('utf-16'), None, ['UTF-8']),
    'too deep': ('name: ' + '[' * 2000 + ']' * 2000, None, ['nested']),
    'contains itself': (*change('[0, 5, 0]', '&a [0, 5, *a]'), ['rest.curvature']),
    'too large': ('#' * 300_000, None, ['larger']),
}


@pytest.mark.parametrize('what', BAD)
def test_a_bad_file_is_refused_in_one_line(what, read, tmp_path):
    content, line, words = BAD[what]
    with pytest.raises(InvalidDescription) as caught:
        read(content)
    message = str(caught.value)
    assert '\n' not in message and len(message) < 600
    where = re.match(re.escape(str(tmp_path / 'arm.yaml')) + r'(:(\d+))?: ', message)
    assert where, message
    if line is not None:
        assert where.group(2) == str(line), message
    for word in words:
        assert word in message


def test_a_bomb_of_aliases_is_refused_at_once(read):
    levels = '\n'.join(
        f'x{i}: &x{i} [{", ".join([f"*x{i - 1}"] * 9)}]' for i in range(1, 30))
    with pytest.raises(InvalidDescription, match='x0 is not a known key'):
        read(f'name: a\nx0: &x0 [lol]\n{levels}\n')
    inline = ', '.join(f'&x{i} [{", ".join([f"*x{i - 1}"] * 9)}]' for i in range(1, 30))
    with pytest.raises(InvalidDescription, match='name must be'):
        read(GOOD.replace('name: arm', f'name: [&x0 [lol], {inline}]'))


@pytest.mark.parametrize('make, reason', [
    (lambda path: None, 'No such file'),
    (lambda path: path.mkdir(), 'not a file'),
    (lambda path: path.symlink_to(path), 'symbolic links'),
])
def test_a_file_that_cannot_be_read_is_refused_in_one_line(tmp_path, make, reason):
    path = tmp_path / 'arm.yaml'
    make(path)
    with pytest.raises(InvalidDescription, match=reason):
        robot.load(path)


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.dates(),
    st.just([]), st.just({}))
NODES = st.recursive(SCALARS, lambda node: st.one_of(
    st.lists(node, max_size=3), st.dictionaries(st.text(max_size=5), node, max_size=3)))


def nodes_of(node, path=()):
    """List the paths of all nodes of a document."""
    yield path
    if isinstance(node, (dict, list)):
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            yield from nodes_of(child, (*path, key))


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_whatever_is_put_in_place_of_a_node_is_read_or_refused(data, tmp_path_factory):
    """Only `InvalidDescription` ever comes out, and what is accepted has finite numbers."""
    document = YAML(typ='safe').load(GOOD)
    path = data.draw(st.sampled_from(list(nodes_of(document))))
    value = data.draw(NODES)
    if path:
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        parent[path[-1]] = value
    else:
        document = value
    file = tmp_path_factory.mktemp('fuzz') / 'arm.yaml'
    with file.open('w') as stream:
        YAML(typ='safe').dump(document, stream)
    try:
        arm = robot.load(file)
    except InvalidDescription as error:
        assert '\n' not in str(error)
        return
    for shape in arm.rest_shape(5).values():
        assert np.isfinite(shape.poses).all() and np.isfinite(shape.strains).all()


TOKENS = st.sampled_from([
    '&a ', '*a ', '!!bool ', '!!map ', '!x ', '<<: ', '? ', ': ', '- ', '[', ']', '{', '}', '|\n',
    '>-\n', '"', "'", '#', '\n', '  ', '%', '@', '`', '---\n', '...\n', '~', '1e5', '.nan', ','])


@settings(deadline=None, max_examples=200)
@given(inserted=st.lists(st.tuples(st.integers(0, len(GOOD)), TOKENS), min_size=1, max_size=3))
def test_whatever_is_put_between_characters_is_read_or_refused(inserted, tmp_path_factory):
    text = GOOD
    for place, token in inserted:
        text = text[:place] + token + text[place:]
    file = tmp_path_factory.mktemp('fuzz') / 'arm.yaml'
    file.write_text(text)
    try:
        robot.load(file)
    except InvalidDescription as error:
        assert '\n' not in str(error)


# --- The same checks without a file --------------------------------------------------------------

ROD = MountedRod((Segment(1.0, Circular(0.01), Material(1e9, 1e3, poisson_ratio=0.3)),))


def test_a_robot_made_in_python_is_checked_as_well():
    with pytest.raises(UnknownName, match=r"tip.rod .* 'backbone'"):
        Robot('arm', {'backbone': ROD}, tip=Tip(rod='bone'))
    with pytest.raises(InvalidModel, match=r'tip.rod .* given where there are several: a, b'):
        Robot('arm', {'a': ROD, 'b': ROD})
    with pytest.raises(InvalidModel, match='rods.a must be'):
        Robot('arm', {'a': 'rod'})
    with pytest.raises(InvalidModel, match='base must be a pose'):
        MountedRod(ROD.segments, base=np.eye(4))
    with pytest.raises(InvalidModel, match='routing'):
        Tendon(routing=(0.1, 0.0))


def test_a_robot_cannot_be_changed():
    arm = Robot('arm', {'backbone': ROD})
    with pytest.raises(TypeError):
        arm.rods['other'] = ROD


# --- Its shape -----------------------------------------------------------------------------------

def test_the_rest_shape_starts_at_the_base_and_ends_at_the_length():
    base = Pose((1.0, 2.0, 3.0), (0.0, np.pi / 2, 0.0))
    arm = Robot('arm', {'backbone': MountedRod(ROD.segments, base)})
    shape = arm.rest_shape(11)['backbone']
    assert_allclose(shape.poses[0], base.matrix(), atol=1e-15)
    assert_allclose(shape.poses[-1][:3, 3], [2.0, 2.0, 3.0], atol=1e-14)
    assert_allclose(shape.arc_lengths, np.linspace(0, 1, 11))
    assert_allclose(shape.strains, np.tile([0, 0, 1, 0, 0, 0], (11, 1)))


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 0.3), min_size=1, max_size=5))
def test_poses_between_stations_are_exact_where_strain_is_constant(s):
    curved = MountedRod((Segment(
        0.3, Circular(1e-3), Material(207e9, 8e3, poisson_ratio=0.3),
        rest=RestShape(curvature=(1.0, -5.0, 2.0))),))
    shape = Robot('arm', {'b': curved}).rest_shape(4)['b']
    assert_allclose(shape.poses_at(np.array(s)), curved.rest_poses(np.array(s)), atol=1e-14)


def test_the_config_folder_has_nothing_else():
    assert [path.suffix for path in Path(ROOT / 'config').iterdir()] == ['.yaml'] * len(SHIPPED)
