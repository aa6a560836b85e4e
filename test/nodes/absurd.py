"""Messages of any type that nobody would send in earnest, and bytes that are no messages."""

import array
from importlib import import_module
import re

import numpy as np
from rclpy.serialization import serialize_message

NUMBERS = (
    float('nan'), float('inf'), -float('inf'), 1.7e308, -1.7e308, 5e-324, 1e-163, 1e15, -1.0, 0.0,
    1.0, 0.5)
WORDS = (
    '', 'a', '/', '../..', '%s%n', '<script>', 'base_link', 'world', 'tip', 'tendon_1', 'N', 'm',
    'a\nb', '\x7f\x1b[2J', 'ü' * 50, 'x' * 5000)
SIZES = 0, 1, 2, 4, 4, 7
HUGE = {True: 300, False: 20_000}  # elements of a sequence: of messages, of numbers or words
BITS = {'int8': 8, 'int16': 16, 'int32': 32, 'int64': 64}
LENGTHS = 2 ** 32 - 1, 2 ** 31, 2 ** 28, 1000
SHORTEST, LONGEST = 1, 200  # random bytes


def message(kind, rng, huge=False):
    """Return a message of a type, filled with what fits into its fields, and with no sense."""
    made = kind()
    for field, said in kind.get_fields_and_field_types().items():
        setattr(made, field, _value(said, rng, huge))
    return made


def _value(said, rng, huge):
    sequence = re.fullmatch(r'sequence<([^,>]+)(?:, (\d+))?>', said)
    fixed = re.fullmatch(r'(.+)\[(\d+)\]', said)
    if sequence:
        nested = '/' in sequence[1]
        count = HUGE[nested] if huge else int(rng.choice(SIZES))
        count = min(count, int(sequence[2] or count))
        return _list(sequence[1], count, rng)
    if fixed:
        return _list(fixed[1], int(fixed[2]), rng)
    if '/' in said:
        package, name = said.split('/')
        return message(getattr(import_module(f'{package}.msg'), name), rng, huge)
    return _plain(said, rng)


def _list(said, count, rng):
    values = [_value(said, rng, False) for _ in range(count)]
    code = {'double': 'd', 'float': 'f', 'uint8': 'B'}.get(said)
    return array.array(code, values) if code else values


def _plain(said, rng):
    if said in ('double', 'float'):
        value = NUMBERS[rng.integers(len(NUMBERS))]
        return float(np.float32(np.clip(value, -3e38, 3e38))) if said == 'float' else value
    if said.startswith('string'):
        return WORDS[rng.integers(len(WORDS))]
    if said == 'boolean':
        return bool(rng.integers(2))
    if said in ('octet', 'byte'):
        return bytes([rng.integers(256)])
    bits, signed = BITS[said.removeprefix('u')], not said.startswith('u')
    least = -2 ** (bits - 1) if signed else 0
    most = least + 2 ** bits - 1
    return (least, most, 0, 1, 2, -1 if signed else 3)[rng.integers(6)]


def damaged(data, rng):
    """Return the bytes of a message cut, with flipped bits, another length within, or others."""
    raw, how = bytearray(data), int(rng.integers(5))
    if how == 0:
        return bytes(raw[:rng.integers(len(raw))])
    if how == 1:
        for at in rng.integers(len(raw), size=int(rng.integers(1, 9))):
            raw[at] ^= 1 << int(rng.integers(8))
        return bytes(raw)
    if how == 2:
        at = 4 * int(rng.integers(1, max(len(raw) // 4, 2)))
        raw[at:at + 4] = LENGTHS[rng.integers(len(LENGTHS))].to_bytes(4, 'little')
        return bytes(raw)
    body = rng.bytes(int(rng.integers(SHORTEST, LONGEST)))
    return body if how == 3 else bytes(raw[:4]) + body


def attacks(kind, rng, count):
    """Yield so many messages of a type: some that make no sense, most no messages at all."""
    yield message(kind, rng, huge=True)
    yield b''
    for k in range(count):
        made = message(kind, rng)
        yield made if k % 4 == 0 else damaged(serialize_message(made), rng)
