"""Our messages and services as they are built, and the page that is written from the nodes."""

import re

from conftest import is_current, ROOT

import cosserat_ros.msg
import cosserat_ros.srv

INTERFACES = sorted([*(ROOT / 'msg').glob('*.msg'), *(ROOT / 'srv').glob('*.srv')])


def test_the_page_of_the_nodes_is_as_they_are():
    is_current('make_nodes.py')


def test_the_built_interfaces_are_those_of_the_source():
    """Every file is generated, with the constants it declares."""
    for path in INTERFACES:
        module = cosserat_ros.msg if path.suffix == '.msg' else cosserat_ros.srv
        built = getattr(module, path.stem)
        requests = built if path.suffix == '.msg' else built.Request
        text = path.read_text().split('---')[0]
        for name, value in re.findall(r'^uint8 ([A-Z_]+)=(\d+)', text, re.M):
            assert getattr(requests, name) == int(value)
        fields = re.findall(r'^[\w/]+(?:\[\])? ([a-z_]+)\b', text, re.M)
        assert list(requests.get_fields_and_field_types()) == fields
