"""Recordings: tables and bags, read by a map alone."""

import math
from pathlib import Path

from conftest import ROOT
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores

from cosserat_ros.checks.errors import CosseratError
from cosserat_ros.comparison.maps import load_map
from cosserat_ros.comparison.recordings import InvalidRecording, read
from cosserat_ros.description.documents import InvalidDescription
from cosserat_ros.description.robot import load

ARM = load(ROOT / 'config' / 'tendon_arm.yaml')
DATA = ROOT.parent / 'shared' / 'data' / 'opencr' / 'ftdcr_v4'
TENDONS = list(ARM.tendons)

TABLE_MAP = f"""
motion: static
time: {{column: t, scale: 0.001}}
group: what
commands:
  {TENDONS[0]}: {{column: motor a, scale: -2.0, offset: 1.0, mode: displacement}}
measured:
  tip: {{columns: [x, y, z], scale: 0.001}}
  middle: {{columns: [u, v, w], at: 0.1, offset: [0, 0, 0.01]}}
"""
TABLE = """t,what,motor a,x,y,z,u,v,w
1000,pull,0.5,1,2,3,0.1,0.2,0.3
1100,pull,nan,1,2,3,0.1,0.2,0.3
1200,pull,0.25,1,2,,0.1,0.2,0.3
1300,hold,0.75,4,5,6,0.4,0.5,0.6
"""


@pytest.fixture
def channels(tmp_path):
    """Return a function that makes a map of its text."""
    def make(text):
        path = tmp_path / 'map.yaml'
        path.write_text(text)
        return load_map(path)
    return make


@pytest.fixture
def table(tmp_path):
    path = tmp_path / 'table.csv'
    path.write_text(TABLE)
    return path


def test_a_table_is_read_with_units_signs_groups_and_gaps(channels, table):
    recording = read(table, channels(TABLE_MAP), ARM)
    assert_allclose(recording.times, [0.0, 0.2, 0.3])
    assert_allclose(recording.commands(), [[0.0], [0.5], [-0.5]])
    assert recording.channels.commands[TENDONS[0]].mode == 'displacement'
    assert recording.groups == ('pull', 'pull', 'hold')
    assert recording.seen.tolist() == [[True, True], [False, True], [True, True]]
    assert_allclose(recording.positions[0], [[1e-3, 2e-3, 3e-3], [0.1, 0.2, 0.3]])
    assert_allclose(recording.positions[1, 0], 0.0)
    assert recording.counts == (3, 1, 1, 0)
    assert not recording.has_rotations and not recording.turned.any()
    assert recording.tally == (
        '3 samples, 1 rows skipped (1 without a command for tendon_1, row 2), 1 points not seen')
    assert len(recording.digest) == 64


def test_settling_is_counted_from_the_zero_of_the_clock(channels, table):
    """Half of it is lost in 0.1 s; the table begins 0.2 s after the zero, or at it."""
    text = TABLE_MAP.replace('offset: 1.0', 'offset: 1.0, settling: 8.0')
    text += f'settling_time: {0.1 / math.log(2.0)}\n'
    made = read(table, channels(text), ARM)
    assert_allclose(made.commands(), [[8.0], [2.5], [0.5]])
    made = read(table, channels(text.replace('column: t,', 'column: t, zero: 800,')), ARM)
    assert_allclose(made.commands(), [[2.0], [1.0], [-0.25]])
    assert_allclose(made.part(slice(1, None)).commands(), [[1.0], [-0.25]])
    made = read(table, channels(text.replace('column: t,', 'column: t, zero: 2000,')), ARM)
    assert_allclose(made.commands(), [[8.0], [8.5], [7.5]])  # nothing is lost before


TURNED = """x,y,z,a,b,c,d
1,2,3,0,0,2,2
1,2,3,0,0,-1e-3,-1e-3
,2,3,0.5,0.5,0.5,0.5
1,2,3,0,0,0,0
1,2,3,,0,0,1
1,2,3,inf,0,0,1
1,2,3,0,0,1e300,1e300
"""


def test_quaternions_of_a_table_are_rotations_whatever_their_length_and_sign(channels, tmp_path):
    path = tmp_path / 'turned.csv'
    path.write_text(TURNED)
    recording = read(path, channels("""
motion: static
measured:
  tip: {columns: [x, y, z], quaternion: [a, b, c, d], roll_pitch_yaw: [0, 0, 1.5]}
  other: {columns: [x, y, z]}
"""), ARM)
    about_z = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert recording.turned[:, 0].tolist() == [True, True, True, False, False, False, True]
    assert not recording.turned[:, 1].any()
    for k in (0, 1, 6):
        assert_allclose(recording.rotations[k, 0], about_z, atol=1e-15)
    assert_allclose(recording.rotations[2, 0], [[0, 0, 1], [1, 0, 0], [0, 1, 0]], atol=1e-15)
    assert recording.seen[:, 0].tolist() == [True, True, False, True, True, True, True]
    assert_allclose(recording.rotations[3:6, 0], np.broadcast_to(np.eye(3), (3, 3, 3)))
    assert recording.counts == (7, 0, 2, 3)
    assert recording.tally.endswith('2 points not seen, 3 rotations not seen')
    part = recording.part(slice(2, 5))
    assert part.counts == (3, 0, 2, 2)
    assert_allclose(part.rotations, recording.rotations[2:5])


def test_columns_by_number_between_blanks(channels, tmp_path):
    path = tmp_path / 'plain.txt'
    path.write_text('# two lines\n# of talk\n 0.0   1 2 3\n 0.5   4 5 6\n')
    recording = read(path, channels("""
motion: dynamic
time: {column: 0}
delimiter: space
header: false
skip: 2
measured: {tip: {columns: [1, 2, 3]}}
"""), ARM)
    assert recording.dynamic
    assert_allclose(recording.times, [0.0, 0.5])
    assert_allclose(recording.positions[:, 0], [[1, 2, 3], [4, 5, 6]])


def test_a_clock_that_goes_back_is_skipped_in_a_motion(channels, tmp_path):
    path = tmp_path / 'table.csv'
    path.write_text('t,x,y,z\n0,1,1,1\n2,1,1,1\n1,1,1,1\n3,1,1,1\n')
    text = 'motion: dynamic\ntime: {column: t}\nmeasured: {tip: {columns: [x, y, z]}}\n'
    recording = read(path, channels(text), ARM)
    assert_allclose(recording.times, [0.0, 2.0, 3.0])
    assert recording.counts.skipped == 1
    assert recording.skipped == (('not later than a row before', 1, 3),)


def test_the_reasons_for_skipped_rows_are_told(channels, tmp_path):
    path = tmp_path / 'table.csv'
    path.write_text('t,u,w,x,y,z\n,1,1,1,1,1\n0,1,1,1,1,1\n1,nan,1,1,1,1\n2,1,,1,1,1\n'
                    '2,,oh,1,1,1\n0,1,1,1,1,1\n3,1,1,1,1,1\ninf,1,1,1,1,1\n')
    chart = channels("""
motion: dynamic
time: {column: t}
commands: {tendon_1: {column: u}, tendon_2: {column: w}}
measured: {tip: {columns: [x, y, z]}}
""")
    recording = read(path, chart, ARM)
    assert recording.tally == (
        '2 samples, 6 rows skipped (2 without a time, the first is row 1; 2 without a command for '
        'tendon_1, the first is row 3; 1 without a command for tendon_2, row 4; 1 not later than '
        'a row before, row 6), 0 points not seen')
    path.write_text('t,u,w,x,y,z\n0,1,1,,1,1\n1,1,,1,1,1\n')
    with pytest.raises(InvalidRecording, match='point: 1 without a command for tendon_2, row 2; '
                       '1 without a measured point'):
        read(path, chart, ARM)


@pytest.mark.parametrize('old, new, reason', [
    ('motion: static', 'motion: slow', "motion must be one of: static, dynamic, got 'slow'"),
    ('scale: -2.0', 'scale: fast', "commands.*scale must be a finite number.*got 'fast'"),
    ('column: motor a,', '', r'commands.*column\(s\), topic must be one given'),
    ('[x, y, z]', '[x, y]', 'measured.tip.columns must be a list of 3 columns'),
    ('mode: displacement', 'mode: pressure', 'mode must be one of: tension, displacement'),
    (f'{TENDONS[0]}:', 'cable:', "commands must be one of: .*got 'cable'"),
    ('at: 0.1', 'at: 10.0', r'measured.middle.at must be a finite number.*<= .*got 10.0'),
    ('at: 0.1', 'at: 0.1, rod: spine', 'measured.middle.rod must be one of'),
    ('columns: [u, v, w]', 'topic: /tf', 'measured.middle must be of a table'),
    ('[x, y, z]', '[x, y, z], quaternion: [u, v, w]', 'quaternion must be a list of 4 columns'),
    ('[x, y, z]', '[x, y, z], quaternion: [u, v, w, q]',
     "measured.tip.quaternion must be one of: t, what.*got 'q'"),
    ('[x, y, z]', '[x, y, z], rotation: true',
     r'measured.tip.rotation must be left out in a table.*\(quaternion\)'),
    ('[x, y, z]', '[x, y, z], roll_pitch_yaw: [0, 0, 1]',
     'measured.tip.roll_pitch_yaw must be left out where no rotation is measured'),
    ('column: t,', 'column: when,', "time.column must be one of: t, what.*got 'when'"),
    ('motor a', 'motor b', "commands.*column must be one of: t, what.*got 'motor b'"),
    ('[x, y, z]', '[x, y, 77]', 'measured.tip.columns must be a column from 0 to 8, got 77'),
])
def test_a_bad_map_is_refused_with_field_value_and_what_is_allowed(
    channels, table, old, new, reason,
):
    assert old in TABLE_MAP
    with pytest.raises((InvalidDescription, CosseratError), match=reason):
        read(table, channels(TABLE_MAP.replace(old, new)), ARM)


@pytest.mark.parametrize('content, reason', [
    (b'', 'no rows of data'), (b't,what\n', 'no rows of data'),
    (b'\xff\xfe\x00', 'not a text file in UTF-8'),
    (b't,what,motor a,x,y,z,u,v,w\n1,a,b,c,d,e,f,g,h\n', 'no sample has finite'),
    (b't,what,motor a,x,y,z,u,v,w\n1,' + b'a' * 131_073, 'bad.csv: not a table: field larger'),
    (b't,what,motor a,x,y,z,u,v,w\n1e300,a,1e308,1,2,3,4,5,6\n', 'no sample has finite'),
    (b't,what,motor a,x,y,z,u,v,w\n1,a,1,1e308,2,3,-1e7,5,6\n', 'no sample has finite'),
])
def test_a_bad_table_is_refused(channels, tmp_path, content, reason):
    path = tmp_path / 'bad.csv'
    path.write_bytes(content)
    with pytest.raises(InvalidRecording, match=reason):
        read(path, channels(TABLE_MAP), ARM)


def test_a_missing_table_is_refused(channels, tmp_path):
    with pytest.raises(InvalidRecording, match='No such file'):
        read(tmp_path / 'none.csv', channels(TABLE_MAP), ARM)


# --- Bags ----------------------------------------------------------------------------------------

STORE = get_typestore(Stores.ROS2_JAZZY)
BAG_MAP = f"""
motion: dynamic
commands:
  {TENDONS[0]}: {{topic: /arm/commands, element: 1, scale: 0.5}}
  {TENDONS[1]}: {{topic: /joint_commands, joint: motor_7, field: effort}}
measured:
  tip: {{topic: /mocap/tip}}
  first: {{topic: /mocap/markers, element: 1, at: 0.05}}
  second: {{topic: /tf, frame: marker_2, at: 0.1}}
"""


def message(kind, **fields):
    return STORE.types[kind](**fields)


def header(time):
    stamp = message('builtin_interfaces/msg/Time', sec=int(time),
                    nanosec=round((time - int(time)) * 1e9))
    return message('std_msgs/msg/Header', stamp=stamp, frame_id='world')


def quaternion(angle, length=1.0):
    """Return a turn about x."""
    return message('geometry_msgs/msg/Quaternion', x=length * math.sin(0.5 * angle), y=0.0, z=0.0,
                   w=length * math.cos(0.5 * angle))


def pose(x, angle=0.0, length=1.0):
    return message('geometry_msgs/msg/Pose',
                   position=message('geometry_msgs/msg/Point', x=x, y=2.0 * x, z=3.0 * x),
                   orientation=quaternion(angle, length))


def transform(time, child, x, angle):
    return message(
        'geometry_msgs/msg/TransformStamped', header=header(time), child_frame_id=child,
        transform=message(
            'geometry_msgs/msg/Transform',
            translation=message('geometry_msgs/msg/Vector3', x=x, y=2.0 * x, z=3.0 * x),
            rotation=quaternion(angle)))


def array(values):
    return message('std_msgs/msg/Float64MultiArray', data=np.array(values), layout=message(
        'std_msgs/msg/MultiArrayLayout', dim=[], data_offset=0))


def joints(names, efforts, time):
    return message('sensor_msgs/msg/JointState', header=header(time), name=names,
                   position=np.zeros(0), velocity=np.zeros(0), effort=np.array(efforts))


def write_bag(path, plugin):
    """
    Write two seconds at 20 Hz: points move as x = t / 10, one of them is lost for a while.

    They turn about x at 4 rad/s; quaternions change their sign, and some of the tip are zero.
    """
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        kinds = {'/arm/commands': 'std_msgs/msg/Float64MultiArray',
                 '/joint_commands': 'sensor_msgs/msg/JointState',
                 '/mocap/tip': 'geometry_msgs/msg/PoseStamped',
                 '/mocap/markers': 'geometry_msgs/msg/PoseArray',
                 '/point': 'geometry_msgs/msg/PointStamped',
                 '/tf': 'tf2_msgs/msg/TFMessage'}
        open_topics = {topic: writer.add_connection(topic, kind, typestore=STORE)
                       for topic, kind in kinds.items()}

        def write(topic, time, content):
            data = STORE.serialize_cdr(content, kinds[topic])
            writer.write(open_topics[topic], round(time * 1e9), data)

        for k in range(41):
            t = 100.0 + 0.05 * k
            x = 0.1 * (t - 100.0)
            if k % 10 == 0:
                write('/arm/commands', t - 0.01, array([7.0, float(k)]))
                write('/joint_commands', t - 0.01, joints(['other', 'motor_7'], [1.0, x], t))
            seen = math.nan if k == 5 else x
            angle = 40.0 * x
            write('/mocap/tip', t + 0.002, message(
                'geometry_msgs/msg/PoseStamped', header=header(t),
                pose=pose(seen, angle, 0.0 if 20 <= k < 30 else 2.0)))
            write('/point', t + 0.002, message(
                'geometry_msgs/msg/PointStamped', header=header(t), point=pose(x).position))
            write('/mocap/markers', t + 0.003, message(
                'geometry_msgs/msg/PoseArray', header=header(t - 0.02),
                poses=[pose(9.0), pose(x - 0.002, angle - 0.08, (-1.0) ** k)]))
            if not 15 < k < 30:
                write('/tf', t + 0.004, message('tf2_msgs/msg/TFMessage', transforms=[
                    transform(t, 'elsewhere', 5.0, 0.0), transform(t, 'marker_2', x, angle)]))


@pytest.mark.parametrize('plugin', list(StoragePlugin), ids=lambda plugin: plugin.value)
def test_a_bag_is_read_by_topics(channels, tmp_path, plugin):
    write_bag(tmp_path / 'bag', plugin)
    recording = read(tmp_path / 'bag', channels(BAG_MAP), ARM)
    assert len(recording) == 40  # without the one that is NaN
    x = 0.1 * recording.times
    expected = np.stack([x, 2.0 * x, 3.0 * x], axis=1)
    assert_allclose(recording.positions[:, 0], expected, atol=1e-9)
    between = recording.seen[:, 1]
    assert between.sum() == 39  # the last is after the marker's last stamp
    assert_allclose(recording.positions[between, 1], expected[between], atol=1e-9)
    assert (~recording.seen[:, 2]).sum() == 14  # lost for a while
    late = recording.times > 1.51
    assert_allclose(recording.commands()[late & (recording.times < 1.99), 0], 15.0)
    assert_allclose(recording.commands()[recording.times < 0.4, 1], 0.0)
    assert_allclose(recording.commands()[-1], [20.0, 0.2])


def test_rotations_of_a_bag_are_interpolated_by_the_shortest_turn(channels, tmp_path):
    write_bag(tmp_path / 'bag', StoragePlugin.MCAP)
    text = BAG_MAP.replace('topic: /mocap', 'rotation: true, topic: /mocap').replace(
        'topic: /tf', 'rotation: true, topic: /tf')
    assert text.count('rotation: true') == 3
    plain, recording = (read(tmp_path / 'bag', channels(x), ARM) for x in (BAG_MAP, text))
    assert not plain.turned.any() and plain.counts.unturned == 0
    assert_allclose(recording.positions, plain.positions)
    assert (recording.seen == plain.seen).all()
    angle = 4.0 * recording.times
    c, s, o, e = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    expected = np.array([[e, o, o], [o, c, -s], [o, s, c]]).transpose(2, 0, 1)
    for m, missing in enumerate((10, 1, 14)):
        known = recording.turned[:, m]
        assert (~known).sum() == missing
        assert_allclose(recording.rotations[known, m], expected[known], atol=1e-8)
    assert recording.counts.unturned == 25


@pytest.mark.parametrize('old, new, reason', [
    ('topic: /mocap/tip', 'topic: /mocap/tip, quaternion: [0, 1, 2, 3]',
     'quaternion must be left out with a topic.*rotation: true'),
    ('topic: /mocap/tip', 'topic: /mocap/tip, rotation: 1', 'rotation must be true or false'),
])
def test_a_map_that_mixes_bags_and_tables_is_refused(channels, old, new, reason):
    with pytest.raises(InvalidDescription, match=reason):
        channels(BAG_MAP.replace(old, new))


@pytest.mark.parametrize('old, new, reason', [
    ('topic: /mocap/tip', 'topic: /point, rotation: true',
     'measured.tip.rotation must be left out: /point is geometry_msgs/msg/PointStamped'),
    ('/mocap/tip', '/mocap/top', 'measured.tip.topic must be one of: .*got /mocap/top'),
    ('topic: /mocap/tip', 'topic: /arm/commands', 'measured.tip.topic must be of a type among'),
    ('element: 1, at', 'at', 'measured.first.element must be given'),
    (', frame: marker_2', '', 'measured.second.frame must be given'),
])
def test_a_map_that_does_not_fit_the_bag_is_refused(channels, tmp_path, old, new, reason):
    assert old in BAG_MAP
    write_bag(tmp_path / 'bag', StoragePlugin.MCAP)
    with pytest.raises(InvalidRecording, match=reason):
        read(tmp_path / 'bag', channels(BAG_MAP.replace(old, new)), ARM)


@pytest.mark.parametrize('lost', ['metadata', 'end', 'half'])
def test_what_is_whole_of_a_bag_that_was_cut_off_is_read(channels, tmp_path, lost):
    folder = tmp_path / 'bag'
    write_bag(folder, StoragePlugin.MCAP)
    whole = read(folder, channels(BAG_MAP), ARM)
    (folder / 'metadata.yaml').unlink()
    file = folder / 'bag.mcap'
    data = file.read_bytes()
    # One chunk, closed by the reader's own end; records of the index come after it.
    file.write_bytes({'metadata': data, 'end': data[:-20], 'half': data[:len(data) // 2]}[lost])
    kept = file.read_bytes()
    if lost == 'half':
        with pytest.raises(InvalidRecording, match='none there'):  # its only chunk is not whole
            read(folder, channels(BAG_MAP), ARM)
    else:
        again = read(folder, channels(BAG_MAP), ARM)
        assert again.name == 'bag (recovered)'
        assert_allclose(again.positions, whole.positions)
        assert len(read(file, channels(BAG_MAP), ARM)) == len(whole)
    assert file.read_bytes() == kept


def test_what_is_no_bag_is_refused(channels, tmp_path):
    (tmp_path / 'empty').mkdir()
    with pytest.raises(InvalidRecording, match='empty'):
        read(tmp_path / 'empty', channels(BAG_MAP), ARM)
    with pytest.raises(InvalidRecording, match='no such file'):
        read(Path('none'), channels(BAG_MAP), ARM)


@pytest.mark.skipif(not DATA.is_dir(), reason=f'the recordings of opencr are not in {DATA}')
def test_the_real_recordings_are_mapped_by_the_file_in_examples():
    channels = load_map(ROOT / 'examples' / 'three_segment_arm' / 'map.yaml')
    robot = load(ROOT / 'config' / 'three_segment_arm.yaml')
    counts = [len(read(DATA / f'{name}.csv', channels, robot))
              for name in ('tendon_pull', 'train', 'val')]
    assert counts == [134, 1620, 443]
